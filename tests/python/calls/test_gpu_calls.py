"""Calls with target="cuda", which a driver without a GPU runs (tests/fake_cuda).

tools/gpu-check runs them on a GPU: ADJIT_GPU_TESTS says that the driver that is there shows one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ON_GPU = bool(os.environ.get("ADJIT_GPU_TESTS"))
FAKE = Path(os.environ.get("ADJIT_LIBRARY", "")).parent / "libadjit_fake_cuda.so"

COMPILER = shutil.which(os.environ.get("CC") or "cc")

#: Of tests that take the CPU's memory for a GPU's, or show two GPUs.
EMULATED = pytest.mark.skipif(ON_GPU, reason="only a driver without a GPU can do this")

#: Names for the scripts below; `on_gpu` puts an array into the memory of a GPU.
PRELUDE = """
import ctypes, os
import numpy as np
import adjit as aj

driver = ctypes.CDLL(os.environ.get("ADJIT_CUDA_LIBRARY") or "libcuda.so.1")
driver.cuInit(0)
context = ctypes.c_void_p()
driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)

def calls(name):
    counted = getattr(driver, "fake_cuda_calls", None)
    return 1 if counted is None else counted(name.encode())

def two_gpus():  # that the driver shows from now on; the second one's context
    driver.fake_cuda_devices(2, 90)
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(second := ctypes.c_void_p()), 1)
    return second

class OnGpu:
    # `shift`: elements behind the beginning of a block.
    def __init__(self, array, stream=None, read_only=False, shift=0, context=context):
        array = np.array(array, order="C")
        at = ctypes.c_uint64()
        driver.cuCtxSetCurrent(context)
        size = ctypes.c_size_t(array.nbytes)
        shift *= array.itemsize
        room = ctypes.c_size_t(array.nbytes + shift)
        assert driver.cuMemAlloc_v2(ctypes.byref(at), room) == 0
        at = ctypes.c_uint64(at.value + shift)
        assert driver.cuMemcpyHtoDAsync_v2(at, ctypes.c_void_p(array.ctypes.data), size, None) == 0
        assert driver.cuStreamSynchronize(None) == 0
        self.__cuda_array_interface__ = {
            "shape": array.shape, "typestr": array.dtype.str, "data": (at.value, read_only),
            "version": 3, "stream": stream,
        }

    def numbers(self):
        described = self.__cuda_array_interface__
        there = np.empty(described["shape"], described["typestr"])
        driver.cuCtxSetCurrent(context)
        at, size = ctypes.c_uint64(described["data"][0]), ctypes.c_size_t(there.nbytes)
        assert driver.cuMemcpyDtoHAsync_v2(ctypes.c_void_p(there.ctypes.data), at, size, None) == 0
        assert driver.cuStreamSynchronize(None) == 0
        return there

def error_of(call):
    try:
        call()
    except aj.Error as error:
        return f"{type(error).__name__}: {error}"
    return ""

x = np.arange(12, dtype=np.float32).reshape(3, 4)
w = np.linspace(-1, 1, 8, dtype=np.float32).reshape(4, 2)
"""


def run(script: str, library: Path = FAKE, **environment: str) -> str:
    """What the script prints in a process of its own, which may use GPUs by a driver's library."""
    if not ON_GPU and not library.exists():
        pytest.skip("the library was built without its tests")
    environment = {**os.environ, "ADJIT_CACHE": "off", **environment}
    if not ON_GPU:
        environment["ADJIT_CUDA_LIBRARY"] = str(library)
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + script], env=environment,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_arrays_of_numpy_go_there_and_back() -> None:
    run("""
f = lambda x, w: aj.sum(aj.tanh(x @ w) * 0.5)
on_cpu, on_gpu = (aj.jit(aj.grad(f, (0, 1)), target=t)(x, w) for t in ("cpu", "cuda"))
for a, b in zip(on_cpu, on_gpu):
    assert type(b) is np.ndarray
    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
""")


def test_kernels_of_a_call_are_one_launch() -> None:
    run("""
f = lambda x: (aj.sum(x, 0), aj.max(x, 1), aj.sum(x), aj.cumsum(x, 1), x.T + 1.0)
on_cpu, on_gpu = (aj.jit(f, target=t)(x) for t in ("cpu", "cuda"))
for a, b in zip(on_cpu, on_gpu):
    np.testing.assert_allclose(a, b, rtol=1e-5)
assert calls("cuGraphLaunch") == 1
""")


def test_the_first_of_equal_values_wins() -> None:
    run("""
x = np.random.default_rng(2).integers(0, 9, (40, 700)).astype(np.float32)
x[3, 50] = x[3, 60] = np.nan
x[4] = -np.inf
for f in (lambda x: aj.argmax(x, 1), lambda x: aj.argmin(x, 1), lambda x: aj.argmax(x, 0),
          lambda x: aj.argmax(x), lambda x: aj.argmin(x[5:])):
    on_cpu, on_gpu = (aj.jit(f, target=t)(x) for t in ("cpu", "cuda"))
    np.testing.assert_array_equal(on_gpu, on_cpu)
assert "threads" in aj.lower(lambda x: aj.argmax(x, 1), x, target="cuda").schedule
""")


def test_terms_that_a_condition_excludes_are_none() -> None:
    """Zeros in their place would be, where the other factor is no number."""
    run("""
n = 20
rng = np.random.default_rng(3)
a, b = (rng.normal(size=(n, n)).astype(np.float32) for _ in range(2))
b[n - 1] = np.nan

def lower_triangle(a, b):
    r = aj.reduce_axis(n)
    return aj.compute((n, n), lambda i, j: aj.sum(
        aj.at(a, i, r) * aj.at(b, r, j), axis=r, where=r <= i))

q, k, v = (rng.normal(size=(1, 1, 17, 16)).astype(np.float32) for _ in range(3))
v[0, 0, 16] = np.nan
attention = lambda q, k, v: aj.nn.scaled_dot_product_attention(q, k, v, is_causal=True)
for f, arrays in ((lower_triangle, (a, b)), (attention, (q, k, v))):
    on_cpu, on_gpu = (aj.jit(f, target=t)(*arrays) for t in ("cpu", "cuda"))
    np.testing.assert_array_equal(np.isnan(on_gpu), np.isnan(on_cpu))
    assert 0 < np.isnan(on_gpu).sum() <= 20
""")


def test_products_of_one_array_with_itself_have_tiles() -> None:
    run("""
x = np.random.default_rng(4).normal(size=(32, 48)).astype(np.float32)
for f in (lambda x: x @ x.T, lambda x: x.T @ x):
    on_cpu, on_gpu = (aj.jit(f, target=t)(x) for t in ("cpu", "cuda"))
    np.testing.assert_allclose(on_gpu, on_cpu, rtol=1e-5, atol=1e-5)
    assert "2 buffers" in (s := aj.lower(f, x, target="cuda").schedule) or "3 buffers" in s
""")


def test_long_prefixes_run_in_chunks() -> None:
    run("""
r = np.random.default_rng(1).uniform(0.9, 1.1, (3, 1030)).astype(np.float32)
c = r[:, :960].T.copy()
weights = np.linspace(-1, 1, r.size, dtype=np.float32).reshape(r.shape)
for op in (aj.cumsum, aj.cumprod, aj.cummax, aj.cummin):
    for reverse in (False, True):
        rows = lambda x: aj.sum(op(x, 1, reverse=reverse) * weights)
        columns = lambda x: aj.sum(op(x, 0, reverse=reverse) * weights[:, :960].T)
        for f, x in ((rows, r), (columns, c)):
            on_cpu, on_gpu = (aj.jit(aj.grad(f), target=t)(x) for t in ("cpu", "cuda"))
            scale = np.abs(on_cpu).max()
            np.testing.assert_allclose(on_gpu, on_cpu, rtol=1e-4, atol=1e-5 * scale)
    f = aj.jit(lambda x: op(x, 1), target="cuda")
    np.testing.assert_allclose(f(r), aj.jit(lambda x: op(x, 1))(r), rtol=1e-5)
    np.testing.assert_array_equal(f(r), f(r))
assert "chunks" in aj.lower(lambda x: aj.cumsum(x, 0), c, target="cuda").schedule
assert "chunks" not in aj.lower(lambda x: aj.cumsum(x, 1), r, target="cuda").schedule
""")


def test_arrays_of_the_gpu_are_used_in_place_beside_numbers() -> None:
    run("""
f = aj.jit(lambda x, w, s: (x @ w) * s)
for s in (2.0, 3.0):
    np.testing.assert_allclose(f(OnGpu(x), OnGpu(w), s), (x @ w) * s, rtol=1e-5)
""")


def test_arrays_of_the_gpu_may_lie_at_any_address() -> None:
    run("""
emulated = hasattr(driver, "fake_cuda_multiprocessors")
rows = 64 if emulated else 8192  # with vectors
if emulated:
    driver.fake_cuda_multiprocessors(1)
    driver.fake_cuda_faults.restype = ctypes.c_char_p
f = aj.jit(lambda x, z: aj.tanh(x) * z)
for dtype in (np.float32, np.float16, np.float64):
    a, b = (np.linspace(-2, 3, 128 * rows).reshape(rows, 128).astype(dtype) * k for k in (1, 2))
    expected = f(OnGpu(a), OnGpu(b))
    np.testing.assert_allclose(expected, np.tanh(a) * b, rtol=4e-3, atol=1e-6)
    for one, other in ((1, 0), (0, 1), (3, 2), (8, 16), (1, 0)):
        given = OnGpu(a, shift=one), OnGpu(b, shift=other)
        np.testing.assert_array_equal(f(*given), expected)
        out = OnGpu(np.zeros_like(a), shift=other)
        assert f(*given, out=out) is out
        np.testing.assert_array_equal(out.numbers(), expected)
        assert not emulated or driver.fake_cuda_faults() == b""
""")


@EMULATED
def test_the_driver_knows_the_device_of_arrays_that_do_not_say_it() -> None:
    run("""
other = two_gpus()
f = aj.jit(lambda x: x + 1)
for array in (OnGpu(x), OnGpu(x, context=other), OnGpu(x, shift=3, context=other)):
    np.testing.assert_array_equal(f(array), x + 1)
try:
    aj.jit(lambda x, z: x + z)(OnGpu(x), OnGpu(x, context=other))
except aj.DeviceError as error:
    assert "cuda:0 and on cuda:1" in str(error), error
else:
    raise AssertionError
nowhere = OnGpu(x)
nowhere.__cuda_array_interface__["data"] = (x.ctypes.data, False)
try:
    f(nowhere)
except aj.DeviceError as error:
    assert "has given out no memory" in str(error), error
else:
    raise AssertionError
nothing = OnGpu(x)
nothing.__cuda_array_interface__.update(data=(0, False), shape=(0, 4))
assert f(nothing).shape == (0, 4)
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


def test_a_call_may_wait_for_its_checks() -> None:
    run("""
f = lambda x, i: aj.take(x, i, axis=0)
there, good, bad = OnGpu(x), OnGpu(np.array([2, 0])), OnGpu(np.array([2, 7]))
out = OnGpu(np.zeros((2, 4), np.float32))
later = aj.jit(f)
later(there, bad, out=out)
said = error_of(lambda: later(there, good, out=out))
assert "BoundsError: an earlier call" in said and 'check="sync"' in said, said
for now in (aj.jit(f, check="sync"), aj.lower(f, there, good, check="sync").compile(),
            aj.lower(aj.jit(f, check="sync"), there, good).compile()):
    said = error_of(lambda: now(there, bad, out=out))
    assert said.startswith("BoundsError: ") and "earlier" not in said and "7" in said, said
    assert now(there, good, out=out) is out
    np.testing.assert_array_equal(out.numbers(), x[[2, 0]])
plain, into = aj.jit(lambda x: x + 1, check="sync"), OnGpu(x)
plain(there, out=into)
waits = calls("cuStreamSynchronize")
plain(there, out=into)
assert calls("cuStreamSynchronize") == waits, "nothing is checked"
assert "check is 'async'" in error_of(lambda: aj.jit(f, check="async"))
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


def test_results_are_written_into_given_arrays_of_the_gpu() -> None:
    run("""
f = lambda x, w: {"product": x @ w, "sum": aj.sum(x)}
compiled = aj.lower(f, x, w, target="cuda").compile()
for g in (aj.jit(f), compiled):
    for args in ((OnGpu(x), OnGpu(w)), (OnGpu(x), w), (x, w)):
        if args[0] is x and g is not compiled:
            continue  # the CPU's
        out = {"product": OnGpu(np.full((3, 2), np.nan, np.float32)),
               "sum": OnGpu(np.full((), np.nan, np.float32))}
        assert g(*args, out=out) is out
        np.testing.assert_allclose(out["product"].numbers(), x @ w, rtol=1e-5)
        assert out["sum"].numbers() == x.sum()
# Some in CPU memory, which is waited for.
out = {"product": np.empty((2, 3), np.float32).T, "sum": OnGpu(np.zeros((), np.float32))}
aj.jit(f)(OnGpu(x), OnGpu(w), out=out)
np.testing.assert_allclose(out["product"], x @ w, rtol=1e-5)
assert out["sum"].numbers() == x.sum()
""")


@EMULATED
def test_a_tensor_of_pytorch_on_the_gpu_takes_its_result() -> None:
    pytest.importorskip("torch")
    run("""
import types, torch

class Tensor(torch.Tensor):
    device = torch.device("cuda", 0)
    is_cuda = True

def tensor(array):
    there = OnGpu(array)
    seen = np.ctypeslib.as_array((ctypes.c_float * array.size).from_address(
        there.__cuda_array_interface__["data"][0])).reshape(array.shape)
    return torch.from_numpy(seen).as_subclass(Tensor), seen

torch.cuda.current_stream = lambda device: types.SimpleNamespace(cuda_stream=0)
given, _ = tensor(x)
out, numbers = tensor(np.zeros((3, 2), np.float32))
before = out._version
assert aj.jit(lambda x, w: x @ w)(given, w, out=out) is out
np.testing.assert_allclose(numbers, x @ w, rtol=1e-5)
assert out._version == before + 1
out.requires_grad_()
assert "requires a gradient" in error_of(lambda: aj.jit(lambda x: x @ w)(given, out=out))
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


def test_memory_that_is_not_there_names_a_budget() -> None:
    run("""
import re
f = aj.grad(lambda x, w: aj.sum(aj.nn.softmax(aj.tanh(x @ w)) ** 2), (0, 1))
if hasattr(driver, "fake_cuda_memory"):
    wanted = aj.jit(f, target="cpu")(x, w)
    usual = aj.lower(f, x, w, target="cuda").compile()
    driver.fake_cuda_taken.restype = ctypes.c_size_t
    room = driver.fake_cuda_taken() + usual.report["workspace_bytes"] // 2
    driver.fake_cuda_memory(ctypes.c_size_t(room))
    try:
        usual(x, w)
    except aj.OutOfMemoryError as error:
        budget = int(re.search("memory_budget=([0-9]+)", str(error))[1])
        assert f"workspace is {usual.report['workspace_bytes']} bytes" in str(error), error
        assert budget == usual.report["workspace_bytes"] // 2, error
    else:
        raise AssertionError
    driver.fake_cuda_memory(ctypes.c_size_t(1 << 40))
    for a, b in zip(usual(x, w), wanted):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
""")


def test_the_processors_code_is_the_same_beside_a_gpu() -> None:
    on_gpu = "assert aj.lower(f, x, w, target='cuda').compile().ptx\n"
    here = "print(aj.lower(f, x, w, target='cpu').compile().asm)\n"
    f = "f = aj.value_and_grad(lambda x, w: aj.sum(aj.tanh(x @ w)), (0, 1))\n"
    assert run(f + on_gpu + here) == run(f + here)


@pytest.mark.skipif(not COMPILER, reason="export runs a C compiler, and there is none")
def test_exported_functions_need_the_driver_alone() -> None:
    run("""
import tempfile
from pathlib import Path

def exported(function, *arrays, **options):
    # What its functions do, by their names: results for arrays, or what a status means.
    folder = Path(tempfile.mkdtemp())
    library = ctypes.CDLL(str(aj.export(function, *arrays, dir=folder, name="f", **options)))
    def call(name, inputs, outputs):
        there = [OnGpu(a) for a in (*inputs, *map(np.zeros_like, outputs))]
        at = [ctypes.c_uint64(a.__cuda_array_interface__["data"][0]) for a in there]
        driver.cuCtxSetCurrent(context)
        status = getattr(library, name)(*at, None)
        message = getattr(library, name + "_message")
        message.restype = ctypes.c_char_p
        results = [a.numbers() for a in there[len(inputs):]]
        getattr(library, name + "_unload")()
        return message(status).decode() or results
    return call

def layer(x, w):
    y = aj.nn.softmax(aj.tanh(x @ w))
    return y, aj.concat([x, x * 2.0], axis=1)

call = exported(layer, x, w, target="cuda")
in_process = aj.jit(layer, target="cuda")(x, w)
for mine, ours in zip(call("f", [x, w], in_process), in_process, strict=True):
    np.testing.assert_array_equal(mine, ours)
seeds = [np.ones_like(a) for a in in_process]
wanted = aj.vjp(layer, x, w)[1](tuple(seeds))
for mine, ours in zip(call("f_backward", [x, w, *seeds], [x, w]), wanted, strict=True):
    np.testing.assert_allclose(mine, ours, rtol=1e-4, atol=1e-6)

# Where an argument lies says the target.
i = np.array([2, 0])
take = lambda x, i: aj.take(x, i, axis=0)
call = exported(take, OnGpu(x), OnGpu(i))
np.testing.assert_array_equal(call("f", [x, i], [x[i]])[0], x[i])
assert "index out of range" in call("f", [x, i + 1], [x[i]])

def halvings(n):
    return aj.while_loop(lambda s: s[0] > 1, lambda s: (s[0] // 2, s[1] + 1), (n, 0 * n))[1]

n = np.array(1000)
assert exported(halvings, n, target="cuda", backward=False)("f", [n], [n])[0] == 9
""")


@EMULATED
def test_exported_code_is_a_cubin_and_behind_it_ptx() -> None:
    # A driver that takes no bitcode, as one of NVIDIA, and whose kernels do nothing.
    card = FAKE.parent / "libadjit_card_cuda.so"
    script = """
import tempfile
from pathlib import Path
folder = Path(tempfile.mkdtemp())
f = ctypes.CDLL(str(aj.export(lambda x: x + 1, x, dir=folder, name="f", target="cuda"))).f
arrays = [ctypes.c_uint64(OnGpu(x).__cuda_array_interface__["data"][0]) for _ in range(2)]
driver.cuCtxSetCurrent(context)
loaded = calls("cuModuleLoadDataEx")
assert f(*arrays, None) == 0 and calls("cuModuleLoadDataEx") == loaded + 1
source = (folder / "f.c").read_text()
def image(name):
    numbers = source.split(f"{name}[")[1].split("{")[1].split("}")[0]
    return bytes(int(n) for n in numbers.split(","))
assert b"adjit fake cubin" in image("f_image_0") and b".visible .entry" in image("f_image_1")
assert "f_images[] = {f_image_0, f_image_1, 0};" in source
"""
    run(script, card, ADJIT_PTXAS="off")
