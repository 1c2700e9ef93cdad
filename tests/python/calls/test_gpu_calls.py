"""Calls with target="cuda", which a driver without a GPU runs (tests/fake_cuda)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FAKE = Path(os.environ.get("ADJIT_LIBRARY", "")).parent / "libadjit_fake_cuda.so"

#: Names for the scripts below; `on_gpu` puts an array into the memory of a GPU.
PRELUDE = """
import ctypes, os
import numpy as np
import adjit as aj

fake = ctypes.CDLL(os.environ["ADJIT_CUDA_LIBRARY"])
calls = lambda name: fake.fake_cuda_calls(name.encode())
fake.cuInit(0)
context = ctypes.c_void_p()
fake.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)

class OnGpu:
    def __init__(self, array, stream=None):
        array = np.ascontiguousarray(array)
        at = ctypes.c_uint64()
        fake.cuCtxSetCurrent(context)
        assert fake.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(array.nbytes)) == 0
        ctypes.memmove(at.value, array.ctypes.data, array.nbytes)
        self.__cuda_array_interface__ = {
            "shape": array.shape, "typestr": array.dtype.str, "data": (at.value, False),
            "version": 3, "stream": stream,
        }

x = np.arange(12, dtype=np.float32).reshape(3, 4)
w = np.linspace(-1, 1, 8, dtype=np.float32).reshape(4, 2)
"""


def run(script: str) -> None:
    """The script in a process of its own, which may use GPUs."""
    if not FAKE.exists():
        pytest.skip("the library was built without its tests")
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + script],
        env={**os.environ, "ADJIT_CUDA_LIBRARY": str(FAKE), "ADJIT_CACHE": "off"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_arrays_of_numpy_go_there_and_back() -> None:
    run("""
f = lambda x, w: aj.sum(aj.tanh(x @ w) * 0.5)
on_cpu, on_gpu = (aj.jit(aj.grad(f, (0, 1)), target=t)(x, w) for t in ("cpu", "cuda"))
for a, b in zip(on_cpu, on_gpu):
    assert type(b) is np.ndarray
    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
assert calls("cuGraphLaunch") == 1
""")


def test_arrays_of_the_gpu_are_used_in_place_beside_numbers() -> None:
    run("""
f = aj.jit(lambda x, w, s: (x @ w) * s)
for s in (2.0, 3.0):
    np.testing.assert_allclose(f(OnGpu(x), OnGpu(w), s), (x @ w) * s, rtol=1e-5)
""")


def test_executables_have_ptx_and_times_and_say_what_they_are() -> None:
    run("""
low = aj.lower(lambda x, w: x @ w, x, w, target="cuda")
exe = low.compile()
assert exe.report["target"] == "cuda"
assert ".entry" in exe.ptx and exe.asm == exe.ptx
np.testing.assert_allclose(exe(x, w), x @ w, rtol=1e-5)
np.testing.assert_allclose(exe(OnGpu(x), w), x @ w, rtol=1e-5)
assert exe.profile(x, w, repeats=2)[0].calls == 1
exe.synchronize()
assert aj.lower(lambda x: x, x).compile().ptx == ""
""")


def test_an_index_out_of_range_is_told() -> None:
    run("""
f = aj.jit(lambda x, i: aj.take(x, i, axis=0))
i = np.array([2, 7])
try:
    f(OnGpu(x), i)
except aj.BoundsError as error:
    assert "7" in str(error), error
else:
    raise AssertionError
np.testing.assert_array_equal(f(OnGpu(x), np.array([2, 0])), x[[2, 0]])
""")


def test_a_forked_child_is_refused() -> None:
    run("""
f = aj.jit(lambda x: x + 1, target="cuda")
f(x)
child = os.fork()
if child == 0:
    try:
        f(x)
    except aj.DeviceError as error:
        os._exit(0 if "spawn" in str(error) else 1)
    os._exit(2)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
from adjit.info import info
assert info()["gpus"][0]["target"] == "cuda:0"
""")


def test_results_in_given_arrays_are_refused() -> None:
    run("""
try:
    aj.jit(lambda x: x + 1)(OnGpu(x), out=np.empty_like(x))
except aj.DeviceError as error:
    assert "out=" in str(error)
else:
    raise AssertionError
""")


def test_costs_are_predicted_and_budgets_kept() -> None:
    run("""
f = aj.grad(lambda x, w: aj.sum(aj.nn.softmax(aj.tanh(x @ w)) ** 2), (0, 1))
low = aj.lower(f, x, w, target="cuda")
kernels = low.cost["kernels"]
assert "launch" in low.explain() and low.cost["terms"][0] == "launch"
assert sum(k["microseconds"] for k in kernels) > 0
profile = low.compile().profile(x, w)
assert [k.predicted for k in profile] == [k["microseconds"] for k in kernels]
needs = low.compile().report["workspace_bytes"]
try:
    aj.lower(f, x, w, target="cuda", memory_budget=1).compile()
except aj.ScheduleError as error:
    assert "a memory budget of 1 bytes is not enough" in str(error)
else:
    raise AssertionError
within = aj.lower(f, x, w, target="cuda", memory_budget=needs).compile()
for a, b in zip(within(x, w), aj.jit(f, target="cpu")(x, w)):
    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
""")
