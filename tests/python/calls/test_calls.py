"""Calls with arrays of layouts seen before: NumPy's are passed as objects, tensors by address."""

from __future__ import annotations

import gc
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import adjit as aj
import numpy as np
import pytest
from adjit._arrays import numpy_abi
from adjit._run import compiled

X, Y = np.arange(16, dtype=np.float32), np.linspace(1, 2, 16, dtype=np.float32)


def loss(x: Any, y: Any) -> Any:
    return aj.sum(x * x * y)


def gradient() -> Any:
    return aj.grad(loss)


def in_threads(work: Callable[[int], None], numbers: Iterable[int]) -> None:
    """``work`` of each number at once, with threads that take turns as often as can be."""
    threads = [threading.Thread(target=work, args=(number,)) for number in numbers]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)


def executable() -> Any:
    return aj.lower(aj.grad(loss), X, Y).compile()


KINDS = pytest.mark.parametrize("make", [gradient, executable])


@KINDS
def test_results_are_fresh(make: Callable[[], Any]) -> None:
    call = make()
    found = [call(X, k * Y) for k in range(4)]
    for k, array in enumerate(found):
        np.testing.assert_allclose(array, 2 * X * k * Y, rtol=1e-6)
    assert len({a.__array_interface__["data"] for a in found}) == 4


@KINDS
def test_arrays_may_move(make: Callable[[], Any]) -> None:
    call = make()
    x = X.copy()
    for _ in range(3):
        np.testing.assert_allclose(call(x, Y), 2 * X * Y, rtol=1e-6)
        x.resize(1 << 20, refcheck=False)
        x.resize(16, refcheck=False)


@KINDS
def test_threads(make: Callable[[], Any]) -> None:
    call = make()
    wrong: list[int] = []

    def work(value: int) -> None:
        x = np.full(16, value, np.float32)
        for _ in range(2000):
            if not (call(x, Y) == 2 * x * Y).all():
                wrong.append(value)

    in_threads(work, range(4))
    assert not wrong


def test_threads_with_small_stacks() -> None:
    """Rows of 120 kB are a kernel's local buffers, on a stack that the caller's thread lacks."""
    x = np.random.default_rng(0).standard_normal((4, 30000)).astype(np.float32)
    softmax = aj.jit(aj.nn.softmax)
    expected = softmax(x)
    results: list[Any] = []
    before = threading.stack_size(64 << 10)
    try:
        thread = threading.Thread(target=lambda: results.append(softmax(x)))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    np.testing.assert_array_equal(results[0], expected)


def test_an_executable_refuses_other_layouts_after_a_call() -> None:
    call = executable()
    call(X, Y)
    for wrong in (X[:8], X.astype(np.float64), np.repeat(X, 2)[::2], X.reshape(4, 4)):
        with pytest.raises(aj.Error, match="argument 0 has .* compiled for"):
            call(wrong, Y)
    with pytest.raises(aj.Error, match="takes 2 arguments, not 1"):
        call(X)
    with pytest.raises(aj.Error, match="takes 2 arguments, not 3"):
        call(X, Y, Y)
    np.testing.assert_allclose(call(X, Y), 2 * X * Y)


def test_a_function_compiles_again_for_other_layouts() -> None:
    call = gradient()
    for x in (X, X[:8], np.repeat(X, 2)[::2], X.astype(np.float64), X):
        for _ in range(2):
            y = Y[: x.size].astype(x.dtype)
            found = call(x, y)
            assert found.dtype == x.dtype
            np.testing.assert_allclose(found, 2 * x * y, rtol=1e-6)


def test_captured_arrays_of_an_executable() -> None:
    captured = X.reshape(4, 4).copy()
    call = aj.lower(lambda x: x + captured, np.ones((4, 4), np.float32)).compile()
    for k in range(3):
        captured[:] = k
        np.testing.assert_array_equal(call(np.ones((4, 4), np.float32)), k + 1)
    captured.resize((2, 8), refcheck=False)
    with pytest.raises(aj.Error, match="captured array 0"):
        call(np.ones((4, 4), np.float32))


def test_containers_of_results() -> None:
    both = aj.grad(loss, argnums=(0, 1))
    one = aj.jit(lambda x: (x + 1,))
    pair = aj.jit(lambda x: [x + 1, x + 2])
    nested = aj.value_and_grad(loss, argnums=(0, 1))
    for _ in range(3):
        dx, dy = both(X, Y)
        np.testing.assert_allclose(dx, 2 * X * Y, rtol=1e-6)
        np.testing.assert_allclose(dy, X * X, rtol=1e-6)
        (only,) = one(X)
        np.testing.assert_array_equal(only, X + 1)
        found = pair(X)
        assert isinstance(found, list) and len(found) == 2
        _, (dx, dy) = nested(X, Y)
        np.testing.assert_allclose(dy, X * X, rtol=1e-6)


def test_jvp_arranges_its_inputs() -> None:
    def tangent(x: Any, v: Any) -> Any:
        return aj.jvp(lambda x: x * x * Y, (x,), (v,))[1]

    call = aj.jit(tangent)
    low = aj.lower(tangent, X, Y).compile()
    for _ in range(3):
        np.testing.assert_allclose(call(X, Y), 2 * X * Y * Y, rtol=1e-6)
        np.testing.assert_allclose(low(X, Y), 2 * X * Y * Y, rtol=1e-6)
        np.testing.assert_allclose(
            aj.jvp(lambda x: x * x * Y, (X,), (Y,))[1], 2 * X * Y * Y, rtol=1e-6
        )


def test_addresses() -> None:
    values = (X, X[::-1], X[3:], np.zeros(()), np.empty((0, 2)))
    wanted = [v.__array_interface__["data"][0] for v in values]
    assert [numpy_abi.address_of(v) for v in values] == wanted
    assert [numpy_abi._address_by_interface(v) for v in values] == wanted


def test_objects_are_known_here() -> None:
    assert numpy_abi._KNOWN


def test_where_objects_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_abi, "_KNOWN", False)
    for call in (gradient(), executable()):
        out = np.empty_like(X)
        for _ in range(3):
            np.testing.assert_allclose(call(X, Y), 2 * X * Y, rtol=1e-6)
            assert call(X, Y, out=out) is out
            np.testing.assert_allclose(out, 2 * X * Y, rtol=1e-6)


def test_the_usual_call_passes_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    call, low = gradient(), executable()
    for _ in range(3):
        call(X, Y), low(X, Y)
    monkeypatch.setattr(compiled.Compiled, "run", None)
    out = np.empty_like(X)
    for run in (call, low):
        np.testing.assert_allclose(run(X, Y), 2 * X * Y, rtol=1e-6)
        assert run(X, 3 * Y, out=out) is out
        np.testing.assert_allclose(out, 6 * X * Y, rtol=1e-6)


def unusual() -> list[Any]:
    """X as arrays that may not be passed as they lie."""
    bytes_ = np.zeros(X.nbytes + 1, np.uint8)
    shifted = bytes_[1:].view(np.float32)
    shifted[:] = X
    return [
        shifted,
        X.astype(">f4"),
        X.view(np.matrix).A1,
        np.ma.masked_array(X),  # nothing is masked
        X.view(type("Mine", (np.ndarray,), {})),
        np.broadcast_to(X, (1, 16))[0],
    ]


@pytest.mark.parametrize("number", range(6))
def test_unusual_arrays_after_usual_ones(number: int) -> None:
    call = gradient()
    for _ in range(3):
        call(X, Y)
    for _ in range(2):
        np.testing.assert_allclose(call(unusual()[number], Y), 2 * X * Y, rtol=1e-6)
        np.testing.assert_allclose(call(X, Y), 2 * X * Y, rtol=1e-6)


def tensor_calls() -> Any:
    """The gradient, and as an executable, each called until it takes tensors as they are."""
    torch = pytest.importorskip("torch")
    x, y = torch.from_numpy(X.copy()), torch.nn.Parameter(torch.from_numpy(Y.copy()), False)
    calls = gradient(), executable()
    for call in calls:
        for _ in range(3):
            torch.testing.assert_close(call(x, y), (2 * x * y).detach())
    return torch, x, y, calls


def test_the_usual_call_passes_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    torch, x, y, calls = tensor_calls()
    monkeypatch.setattr(compiled.Compiled, "run", None)
    for call in calls:
        found = call(x, y)
        assert type(found) is torch.Tensor and found.is_contiguous() and not found.requires_grad
        torch.testing.assert_close(found, (2 * x * y).detach())
        assert call(x, y).data_ptr() != found.data_ptr()


def test_unusual_tensors_after_usual_ones() -> None:
    torch, x, y, (call, _) = tensor_calls()
    mine = type("Mine", (torch.Tensor,), {})
    for other in (
        x.repeat_interleave(2)[::2], x.expand(2, 16)[1], x.as_subclass(mine), x.numpy(),
        torch.complex(x, -x).conj().imag, x.to(torch.float64), x[:1].expand(16), x[:7],
    ):  # fmt: skip
        weight = y[: len(other)].detach().to(torch.as_tensor(other).dtype)
        for _ in range(2):
            wanted = 2 * torch.as_tensor(other) * weight
            torch.testing.assert_close(torch.as_tensor(call(other, weight)), wanted)
            torch.testing.assert_close(call(x, y), (2 * x * y).detach())
    for bad, error in (
        (x.to_sparse(), aj.errors.DTypeError), (x.to("meta"), aj.errors.DeviceError),
        (torch.complex(x, x), aj.errors.DTypeError),
    ):  # fmt: skip
        with pytest.raises(error):
            call(bad, y)
    torch.testing.assert_close(call(x, y), (2 * x * y).detach())


@pytest.mark.parametrize("captured", [Y, None], ids=["NumPy", "torch"])
def test_tensors_beside_captured_arrays(captured: Any) -> None:
    """Also when ``.data`` gets memory of another layout."""
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(X.copy())
    if captured is None:
        captured = torch.nn.Parameter(torch.from_numpy(Y.copy()), False)
    call = aj.jit(lambda x: x * captured)
    for k in range(4):
        if k > 1 and isinstance(captured, torch.Tensor):
            captured.data = torch.rand(32)[:: k - 1][:16]
        torch.testing.assert_close(call(x), x * torch.as_tensor(captured).detach())


def test_tensors_without_memory() -> None:
    torch, x, y, calls = tensor_calls()
    zeros = torch._efficientzerotensor((16,))
    emptied = torch.ones(16)
    emptied.untyped_storage().resize_(0)
    for call in (*calls, gradient()):
        for _ in range(2):
            with pytest.raises(aj.errors.DTypeError, match="has no memory"):
                torch.func.functionalize(lambda a, call=call: call(a, y))(x)
            with pytest.raises(aj.errors.DTypeError, match="has no memory"):
                torch.func.vmap(lambda a, call=call: call(a, y))(x[None])
            with pytest.raises(aj.errors.DTypeError, match="nested"):
                call(torch.nested.nested_tensor([x, x]), y)
            with pytest.raises(aj.errors.DTypeError, match="has no memory"):
                call(emptied, y)
            torch.testing.assert_close(call(zeros, y), torch.zeros(16))
            torch.testing.assert_close(call(x, y), (2 * x * y).detach())


def test_threads_that_pass_other_arrays() -> None:
    """One executable, on tensors and on arrays that need a copy."""
    _, x, y, (_, call) = tensor_calls()
    wanted, failures = 2 * X * Y, []
    shifted = np.zeros(X.nbytes + 1, np.uint8)[1:].view(np.float32)
    shifted[:] = X

    def work(kind: int) -> None:
        try:
            for _ in range(300):
                found = call(x, y) if kind else call(shifted, Y)
                np.testing.assert_allclose(found, wanted, rtol=1e-6)
        except Exception as error:  # shown below
            failures.append(error)

    in_threads(work, (0, 1, 0, 1))
    assert not failures


def test_while_torch_is_being_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    call = aj.jit(lambda x, y: x * y)
    for y in (2.0, Y, 2.0):
        np.testing.assert_allclose(call(X, y), X * y, rtol=1e-6)


def test_code_lives_as_long_as_calls_of_it() -> None:
    """A captured tensor changes its layout, and back: the code of the first one may be gone."""
    torch = pytest.importorskip("torch")
    first = torch.arange(16.0).reshape(4, 4)
    captured = first.clone()
    call = aj.jit(lambda x: x @ captured)
    x = torch.ones(4, 4)
    for _ in range(3):
        call(x)
    captured.data = first.t()
    call(x.numpy())
    captured.data = first.clone()
    others = [aj.lower(lambda x, k=k: aj.sum(x * k), np.ones(5 + k)).compile() for k in range(20)]
    torch.testing.assert_close(call(x), x @ first)
    assert len(others) == 20


def test_large_and_empty_results_as_tensors() -> None:
    torch = pytest.importorskip("torch")
    call = aj.jit(lambda x: (x + 1, x.T * 2.0))
    for shape in ((300, 400), (0, 3), (2, 3)):
        x = torch.rand(shape)
        for _ in range(3):
            torch.testing.assert_close(call(x), (x + 1, x.T * 2))


def test_layouts_that_change_every_call() -> None:
    call = gradient()
    for k in range(6):
        x, y = (X, Y) if k % 2 else (X[:5], Y[:5])
        np.testing.assert_allclose(call(x, y), 2 * x * y, rtol=1e-6)
    assert call._calls.hot is None
    for _ in range(3):
        call(X, Y)
    assert call._calls.hot is not None


@pytest.mark.parametrize("kind", ["jit", "captured", "eager"])
def test_arrays_of_a_call_are_not_kept(kind: str) -> None:
    """Not even until cycles are collected."""
    kept = np.ones(16, np.float32)
    call = {"jit": lambda x: x + 1, "captured": lambda x: x + kept, "eager": aj.sum}[kind]
    call = call if kind == "eager" else aj.jit(call)
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(3):
            x = np.ones(16, np.float32)
            alive = weakref.ref(x)
            call(x)
            del x
            assert alive() is None
    finally:
        if enabled:
            gc.enable()


def test_a_captured_array_that_moves() -> None:
    captured = Y.copy()
    call = aj.jit(lambda x: x * captured)
    for _ in range(3):
        np.testing.assert_array_equal(call(X), X * Y)
        captured.resize(1 << 20, refcheck=False)
        captured.resize(16, refcheck=False)


def test_small_and_large_results_of_functions_in_turn() -> None:
    """What is left over from a call with other layouts is not given to the next."""
    call = aj.jit(lambda x: (x + 1, aj.sum(x)))
    for size in (4, 300_000, 300_000, 4, 4, 300_000):
        x = np.full(size, 2, np.float32)
        plus, total = call(x)
        np.testing.assert_array_equal(plus, x + 1)
        assert total == 2 * size
