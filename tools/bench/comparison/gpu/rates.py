"""What a GPU can do at most: a copy in its memory, and multiply-adds of float32."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from .driver import Driver

_COPIED = 1 << 30  # bytes
_CHAINS, _STEPS, _TURNS = 8, 16, 2000  # independent multiply-adds, those of a turn, turns
_THREADS, _BLOCKS = 256, 8  # of a block, of a multiprocessor


@dataclass(frozen=True)
class Rates:
    """A second. A multiply-add is two operations, a copied byte is read and written."""

    flops: float
    bandwidth: float


#: Of an H100 80GB, measured (docs/performance/gpu.md).
H100 = Rates(flops=63.3e12, bandwidth=3.01e12)


def measured(driver: Driver) -> Rates:
    """The best of a few runs; takes a second."""
    return Rates(_flops(driver), _bandwidth(driver))


def _bandwidth(driver: Driver) -> float:
    places = [driver.allocate(_COPIED) for _ in range(2)]
    source, target = (ctypes.c_uint64(at) for at in places)

    def copy() -> None:
        driver.call("cuMemcpyDtoDAsync_v2", target, source, ctypes.c_size_t(_COPIED), None)

    copy()
    best = min(driver.milliseconds(copy) for _ in range(5))
    for at in places:
        driver.free(at)
    return 2 * _COPIED / (1e-3 * best)


def _flops(driver: Driver) -> float:
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    driver.call(
        "cuModuleLoadDataEx", ctypes.byref(module), ctypes.c_char_p(_ptx().encode()), 0, None, None
    )
    driver.call("cuModuleGetFunction", ctypes.byref(function), module, b"fma")
    at = driver.allocate(4)
    where = ctypes.c_uint64(at)
    parameters = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(where), ctypes.c_void_p))
    blocks = driver.attribute(16) * _BLOCKS

    def run() -> None:
        driver.call(
            "cuLaunchKernel", function, blocks, 1, 1, _THREADS, 1, 1, 0, None, parameters, None
        )

    run()
    best = min(driver.milliseconds(run) for _ in range(5))
    driver.free(at)
    driver.call("cuModuleUnload", module)
    return 2.0 * blocks * _THREADS * _CHAINS * _STEPS * _TURNS / (1e-3 * best)


def _ptx() -> str:
    """Chains of multiply-adds that do not wait for each other; the result is stored by nobody."""
    chains = range(_CHAINS)
    step = "\n".join(f"  fma.rn.f32 %f{k}, %f{k}, %f30, %f31;" for k in chains)
    first = "\n".join(f"  add.f32 %f{k}, %f30, 0f3f80000{k:x};" for k in chains)
    last = "\n".join(f"  add.f32 %f0, %f0, %f{k};" for k in chains if k)
    return f"""
.version 7.0
.target sm_80
.address_size 64
.visible .entry fma(.param .u64 result)
{{
  .reg .pred %p<2>;
  .reg .f32 %f<32>;
  .reg .b32 %r<3>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [result];
  mov.u32 %r2, %tid.x;
  cvt.rn.f32.u32 %f30, %r2;
  mul.f32 %f31, %f30, 0f3a83126f;
{first}
  mov.u32 %r1, 0;
again:
{chr(10).join([step] * _STEPS)}
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, {_TURNS};
  @%p1 bra again;
{last}
  setp.neu.f32 %p1, %f0, %f0;
  @!%p1 bra done;
  cvta.to.global.u64 %rd2, %rd1;
  st.global.f32 [%rd2], %f0;
done:
  ret;
}}
"""
