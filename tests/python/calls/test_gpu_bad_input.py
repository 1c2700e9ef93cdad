"""What a GPU cannot do: each error names what, where and the way out, and processors go on."""

from __future__ import annotations

from test_gpu_calls import EMULATED, run


@EMULATED
def test_what_a_caller_gives_wrongly_is_named_with_a_way_out() -> None:
    run("""
other = two_gpus()
driver.cuCtxSetCurrent(other)
stream = ctypes.c_void_p()
assert driver.cuStreamCreate(ctypes.byref(stream), 1) == 0
f = aj.jit(lambda x: x + 1)
said = error_of(lambda: f(OnGpu(x, stream=stream.value)))
assert said.startswith("DeviceError: ") and "give a stream of the GPU" in said, said
np.testing.assert_array_equal(f(OnGpu(x)), x + 1)  # nothing is lost

odd = OnGpu(x)
del odd.__cuda_array_interface__["data"], odd.__cuda_array_interface__["shape"]
said = error_of(lambda: f(odd))
assert "argument 0" in said and "does not say its shape and data" in said, said
""")


@EMULATED
def test_a_context_that_others_destroyed_is_named_and_processors_go_on() -> None:
    run("""
f = aj.jit(lambda x: x + 1, target="cuda")
f(x)
driver.fake_cuda_fail(b"cuLaunchKernel", 709, 1)
for _ in range(2):
    said = error_of(lambda: f(x))
    assert said.startswith("DeviceError: "), said
    assert "destroyed by other code" in said and "start a new process" in said, said
np.testing.assert_array_equal(aj.jit(lambda x: x + 1, target="cpu")(x), x + 1)
""")


@EMULATED
def test_a_card_that_is_too_old_is_named_with_a_way_out() -> None:
    run("""
driver.fake_cuda_devices(1, 75)
said = error_of(lambda: aj.jit(lambda x: x + 1, target="cuda")(x))
assert "compute capability 7.5" in said and 'the target "cpu"' in said, said
np.testing.assert_array_equal(aj.jit(lambda x: x + 1)(x), x + 1)
""")


@EMULATED
def test_arrays_of_the_gpu_that_cannot_take_their_result_are_named() -> None:
    run("""
two_gpus()
f = aj.jit(lambda x: (x + 1, x * 2))
there = OnGpu(x)
fits = lambda: OnGpu(np.zeros((3, 4), np.float32))
def refused(first, second):
    return error_of(lambda: f(there, out=(first, second)))
assert "ShapeError: " in refused(fits(), OnGpu(np.zeros((4, 3), np.float32)))
assert "out[1] has shape (4, 3), but the result has (3, 4)" in refused(fits(), OnGpu(x.T.copy()))
wide = OnGpu(x.astype(np.float64))
assert "out[0] is float64, but the result is float32" in refused(wide, fits())
assert "out[0] is read-only" in refused(OnGpu(x, read_only=True), fits())
same = fits()
assert "out[0] and out[1] overlap" in refused(same, same)
assert "out[1] is a OnGpu on a GPU that is not row-major or overlaps an input" in refused(
    fits(), there)
far = fits()
far.__dlpack_device__ = lambda: (2, 1)
assert "out[1] lies on cuda:1, but the function runs on cuda:0" in refused(fits(), far)
out = fits(), fits()
assert f(there, out=out) is out
np.testing.assert_array_equal(out[1].numbers(), 2 * x)
""")
