"""``out=``: results taken into given arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import adjit as aj
import numpy as np
import pytest

X = np.arange(12, dtype=np.float32).reshape(3, 4)
Y = np.linspace(1, 2, 12, dtype=np.float32).reshape(3, 4)


def both(x: Any, y: Any) -> Any:
    return x * y + 1, x - y


EXPECTED = (X * Y + 1, X - Y)
KINDS = pytest.mark.parametrize(
    "make", [lambda: aj.jit(both), lambda: aj.lower(both, X, Y).compile()]
)


def fresh() -> tuple[Any, Any]:
    return np.full_like(X, np.nan), np.full_like(X, np.nan)


@KINDS
def test_results_are_written_where_they_are_wanted(make: Callable[[], Any]) -> None:
    call = make()
    for k in range(4):
        out = fresh()
        assert call(X, k * Y, out=out) is out
        np.testing.assert_allclose(out[0], X * (k * Y) + 1, rtol=1e-6)
        np.testing.assert_allclose(out[1], X - k * Y, rtol=1e-6)
    for found, wanted in zip(call(X, Y, out=None), EXPECTED, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@KINDS
@pytest.mark.parametrize(
    "like",
    [
        lambda a: np.full(a.shape[::-1], np.nan, a.dtype).T,
        lambda a: np.full((6, 8), np.nan, a.dtype)[::2, ::2],
        lambda a: np.full(a.shape, np.nan, a.dtype)[::-1, ::-1],
        lambda a: np.full(a.shape, np.nan, ">f4"),
        lambda a: np.full(a.nbytes + 1, 0, np.uint8)[1:].view(a.dtype).reshape(a.shape),
        lambda a: np.full(a.shape, np.nan, a.dtype).view(type("Mine", (np.ndarray,), {})),
    ],
    ids=["transposed", "strided", "reversed", "byte-swapped", "misaligned", "subclass"],
)
def test_arrays_that_lie_otherwise(make: Callable[[], Any], like: Callable[[Any], Any]) -> None:
    call = make()
    for _ in range(3):
        out = (like(X), like(Y))
        assert call(X, Y, out=out) is out
        for found, wanted in zip(out, EXPECTED, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


@KINDS
def test_an_input_as_its_own_result(make: Callable[[], Any]) -> None:
    call = make()
    for _ in range(3):
        x, y = X.copy(), Y.copy()
        call(x, y, out=(y, x))
        np.testing.assert_allclose(y, EXPECTED[0], rtol=1e-6)
        np.testing.assert_allclose(x, EXPECTED[1], rtol=1e-6)


def test_memory_that_is_partly_an_input() -> None:
    call = aj.jit(lambda x: aj.cumulative_sum(x[::-1]))
    memory = np.arange(20, dtype=np.float32)
    for shift in (1, -1, 5, 0):
        memory[:] = np.arange(20)
        wanted = np.cumsum(memory[5:15][::-1])
        call(memory[5:15], out=memory[5 + shift : 15 + shift])
        np.testing.assert_array_equal(memory[5 + shift : 15 + shift], wanted)


def test_a_captured_array_as_the_result() -> None:
    weights = np.ones(5, np.float32)
    gradient = np.arange(5, dtype=np.float32)
    step = aj.jit(lambda g: aj.reshape(weights, (5,)) - 0.5 * g[::-1])
    for k in range(1, 5):
        step(gradient, out=weights)
        np.testing.assert_allclose(weights, 1 - 0.5 * k * gradient[::-1])


def test_containers() -> None:
    def f(p: Any, scale: float = 1.0) -> Any:
        return {"a": [p["w"] * scale, None], "b": (p["w"] + 1,)}

    call = aj.jit(f)
    out = {"a": [np.empty_like(X), None], "b": (np.empty_like(X),)}
    for scale in (2.0, 3.0):
        assert call({"w": X}, scale=scale, out=out) is out
        np.testing.assert_array_equal(out["a"][0], X * scale)
        np.testing.assert_array_equal(out["b"][0], X + 1)


class Sized:
    """A container that looks at its array, and one that makes its own."""

    def __init__(self, values: Any, own: bool = False) -> None:
        self.length = values.shape[0]
        self.values = values + 0 if own and isinstance(values, np.ndarray) else values


def test_registered_containers() -> None:
    aj.register_pytree(Sized, lambda s: ((s.values,), None), lambda _, c: Sized(c[0]))
    call = aj.jit(lambda s: Sized(2.0 * s.values))
    for k in range(3):
        out = Sized(np.empty(3))
        assert call(Sized(np.full(3, float(k))), out=out) is out
        np.testing.assert_array_equal(out.values, 2.0 * k)
    aj.register_pytree(Sized, lambda s: ((s.values,), None), lambda _, c: Sized(c[0], own=True))
    with pytest.raises(aj.Error, match=r"out\[0\] is made by a container of the result"):
        aj.jit(lambda s: Sized(3.0 * s.values))(Sized(np.ones(3)), out=Sized(np.empty(3)))


def test_other_transformations() -> None:
    def loss(x: Any, y: Any) -> Any:
        return aj.sum(x * x * y)

    value, dx = np.empty((), np.float32), np.empty_like(X)
    for _ in range(3):
        aj.value_and_grad(loss)(X, Y, out=(value, dx))
        np.testing.assert_allclose(value, np.sum(X * X * Y), rtol=1e-6)
        np.testing.assert_allclose(dx, 2 * X * Y, rtol=1e-6)
    table = np.empty((3, 4, 4), np.float32)
    aj.vmap(aj.jacobian(lambda r: r * r))(X, out=table)
    np.testing.assert_allclose(table, [np.diag(2 * row) for row in X], rtol=1e-6)


def test_results_that_the_caller_does_not_get() -> None:
    """The loss is an output of the computation, and not a result."""
    call = aj.grad(lambda x: (aj.sum(x * x), x + 1), has_aux=True)
    for _ in range(3):
        out = fresh()
        call(X, out=out)
        np.testing.assert_allclose(out[0], 2 * X, rtol=1e-6)
        np.testing.assert_array_equal(out[1], X + 1)


def test_no_elements() -> None:
    call = aj.jit(lambda x: (x + 1, aj.sum(x)))
    for _ in range(3):
        out = (np.empty((0, 3), np.float32), np.full((), np.nan, np.float32))
        call(np.empty((0, 3), np.float32), out=out)
        assert out[1] == 0


def test_a_function_with_such_a_parameter() -> None:
    call = aj.jit(lambda x, out: x + out)
    np.testing.assert_array_equal(call(X, out=Y), X + Y)


def test_functions_in_text_notation() -> None:
    double = aj.define("def twice(float(N) x) -> (y) { y(i) = x(i) * 2.0 }").twice
    x = np.arange(5, dtype=np.float32)
    for _ in range(3):
        out = np.empty(5, np.float32)
        assert double(x, out=out) is out
        np.testing.assert_array_equal(out, 2 * x)
    with pytest.raises(aj.Error, match="out= inside a trace"):
        aj.jit(lambda x: double(x, out=x))(x)


def test_inside_a_trace() -> None:
    inner = aj.jit(both)
    with pytest.raises(aj.Error, match=r"'jit\(both\)' is called with out= while"):
        aj.jit(lambda x, y: inner(x, y, out=fresh()))(X, Y)


def read_only() -> Any:
    array = np.empty_like(X)
    array.flags.writeable = False
    return array


@KINDS
@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (lambda: np.empty((4, 3), np.float32), aj.ShapeError, r"out\[1\] has shape \(4, 3\)"),
        (lambda: np.empty((3, 4)), aj.DTypeError, r"out\[1\] is float64, but .* float32"),
        (lambda: 1.5, aj.DTypeError, r"out\[1\] is a float; NumPy arrays"),
        (lambda: memoryview(b"12"), aj.DTypeError, r"out\[1\] is a memoryview; NumPy"),
        (
            lambda: np.lib.stride_tricks.as_strided(X.copy(), (3, 4), (0, 4)),
            aj.Error,
            r"out\[1\] has several elements in one place",
        ),
        (read_only, aj.Error, r"out\[1\] is read-only"),
        (lambda: None, aj.ShapeError, r"whose arrays are out\[0\], out\[1\]"),
        (lambda: [np.empty_like(X)], aj.ShapeError, "another structure"),
    ],
    ids=["shape", "dtype", "number", "buffer", "in one place", "read-only", "none", "structure"],
)
def test_what_cannot_take_results(
    make: Callable[[], Any], bad: Callable[[], Any], error: type[Exception], message: str
) -> None:
    call = make()
    for _ in range(3):
        out = (np.full_like(X, 7), bad())
        with pytest.raises(error, match=message):
            call(X, Y, out=out)
        assert (out[0] == 7).all()
        call(X, Y)


@KINDS
def test_results_that_overlap(make: Callable[[], Any]) -> None:
    call = make()
    memory = np.zeros(20, np.float32)
    for _ in range(3):
        with pytest.raises(aj.Error, match=r"out\[0\] and out\[1\] overlap"):
            call(X, Y, out=(memory[:12].reshape(3, 4), memory[8:].reshape(3, 4)))
        call(X, Y)
    wide = np.zeros((4, 8), np.float32)
    for pair in (
        (wide[:3, ::2], wide[:3, ::2]),
        (wide[:3, ::2], wide[1:, ::2]),
        (wide.reshape(-1)[:12].reshape(3, 4), wide[:3, ::2]),
    ):
        with pytest.raises(aj.Error, match="overlap"):
            call(X, Y, out=pair)
    square = aj.jit(lambda x: (x + 1, x + 2))
    eye = np.eye(3, dtype=np.float32)
    with pytest.raises(aj.Error, match="overlap"):
        square(eye + 0, out=(eye, eye.T))
    apart = np.zeros((3, 8), np.float32)
    call(X, Y, out=(apart[:, ::2], apart[:, 1::2]))
    np.testing.assert_allclose(apart[:, 1::2], EXPECTED[1], rtol=1e-6)


def test_an_error_of_the_call_itself() -> None:
    """Bounds are found while running: the message is that error's, on every call."""
    call = aj.jit(lambda x, k: aj.take(x, k, axis=0))
    out = np.empty((2, 4), np.float32)
    good, bad = np.array([0, 2]), np.array([0, 3])
    for _ in range(3):
        call(X, good, out=out)
        np.testing.assert_array_equal(out, X[good])
        with pytest.raises(aj.BoundsError):
            call(X, bad, out=out)


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    call = aj.jit(both)
    x, y = torch.from_numpy(X.copy()), torch.from_numpy(Y.copy())
    for like in (torch.empty_like, lambda a: torch.empty(4, 3).T):
        out = (like(x), like(x))
        assert call(x, y, out=out) is out
        for found, wanted in zip(out, EXPECTED, strict=True):
            np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6)
    call(x, y, out=(x, y))
    np.testing.assert_allclose(x.numpy(), EXPECTED[0], rtol=1e-6)
    half = torch.ones(3, 4, dtype=torch.bfloat16)
    aj.jit(lambda x: x + 1)(half, out=half)
    assert (half == 2).all()


def test_torch_arrays_that_overlap_or_are_of_a_class_of_the_user() -> None:
    torch = pytest.importorskip("torch")
    call = aj.jit(lambda x: (x + 1, x + 2))
    x, both_ = np.zeros((2, 2), np.float32), torch.zeros(2, 2)
    for pair in ((both_, both_), (both_, both_.T), (both_, both_.numpy()[:, ::-1])):
        with pytest.raises(aj.Error, match=r"out\[0\] and out\[1\] overlap"):
            call(x, out=pair)
    assert (both_ == 0).all()
    with pytest.raises(aj.Error, match="several elements in one place"):
        call(x, out=(both_, torch.zeros(1, 2).expand(2, 2)))
    mine = type("Mine", (torch.Tensor,), {})(torch.zeros(2, 2))
    version = mine._version
    call(x, out=(both_, mine))
    assert (mine == 2).all() and mine._version > version


def test_torch_autograd_notices() -> None:
    torch = pytest.importorskip("torch")
    call = aj.jit(lambda x: x + 1)
    w = torch.ones(3, requires_grad=True)
    with pytest.raises(aj.Error, match="out is a torch tensor that requires a gradient"):
        call(np.ones(3, np.float32), out=w)
    with torch.no_grad():
        call(np.ones(3, np.float32), out=w)
    assert w.tolist() == [2, 2, 2]
    kept = torch.ones(3)
    total = (w * kept).sum()  # keeps `kept` for the gradient
    call(np.ones(3, np.float32), out=kept)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()


def test_jax_arrays_are_not_written() -> None:
    jnp = pytest.importorskip("jax.numpy")
    with pytest.raises(aj.Error, match="out is a JAX array, which cannot be written"):
        aj.jit(lambda x: x + 1)(X, out=jnp.zeros((3, 4)))
    out = np.empty_like(X)
    aj.jit(lambda x: x + 1)(jnp.asarray(X), out=out)
    np.testing.assert_array_equal(out, X + 1)
