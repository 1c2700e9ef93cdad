"""Transformations: gradients, pullbacks, structures of arguments, closures, nesting."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import adjit as aj
import numpy as np
import pytest

X = np.array([0.5, -1.0, 2.0])


def cube(x: Any) -> Any:
    return aj.sum(x * x * x)


@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any


class Pair(NamedTuple):
    first: Any
    second: Any


class Box:
    def __init__(self, content: Any, label: str) -> None:
        self.content, self.label = content, label


aj.register_pytree(Box, lambda b: ((b.content,), b.label), lambda label, c: Box(c[0], label))


def test_grad_and_value() -> None:
    np.testing.assert_allclose(aj.grad(cube)(X), 3 * X**2)
    value, gradient = aj.value_and_grad(cube)(X)
    np.testing.assert_allclose(value, np.sum(X**3))
    np.testing.assert_allclose(gradient, 3 * X**2)


def test_argnums_and_has_aux() -> None:
    def f(x: Any, n: Any, y: Any) -> Any:
        return aj.sum(x * x * y), {"n": n, "y": y * 2}

    (value, aux), (gy, gx) = aj.value_and_grad(f, argnums=(2, 0), has_aux=True)(X, np.arange(2), X)
    np.testing.assert_allclose(value, np.sum(X**3))
    np.testing.assert_array_equal(aux["n"], [0, 1])
    np.testing.assert_allclose(aux["y"], 2 * X)
    np.testing.assert_allclose(gy, X**2)
    np.testing.assert_allclose(gx, 2 * X * X)
    gradient, _ = aj.grad(f, argnums=-1, has_aux=True)(X, np.arange(2), X)
    np.testing.assert_allclose(gradient, X**2)


def test_vjp_pullback_is_called_many_times() -> None:
    out, pullback = aj.vjp(lambda x, y: {"a": x * y, "b": aj.sin(x)}, X, 2 * X)
    np.testing.assert_allclose(out["a"], 2 * X * X)
    for scale in (1.0, -3.0):
        gx, gy = pullback({"a": scale * np.ones(3), "b": np.zeros(3)})
        np.testing.assert_allclose(gx, scale * 2 * X)
        np.testing.assert_allclose(gy, scale * X)
    out, pullback, aux = aj.vjp(lambda x: (x * x, x + 1), X, has_aux=True)
    np.testing.assert_allclose(aux, X + 1)
    np.testing.assert_allclose(pullback(np.ones(3))[0], 2 * X)


def test_pullback_inside_a_trace() -> None:
    _, pullback = aj.vjp(lambda x: x * x, X)
    np.testing.assert_allclose(aj.jit(lambda c: pullback(c)[0] + 1)(np.ones(3)), 2 * X + 1)

    def inside(x: Any) -> Any:
        out, pull = aj.vjp(aj.sin, x)
        return out + pull(x)[0]

    np.testing.assert_allclose(aj.jit(inside)(X), np.sin(X) + X * np.cos(X))


def test_structures_of_arguments_and_gradients() -> None:
    def f(p: Any) -> Any:
        layer, pair, (last, nothing) = p["layer"], p["pair"], p["rest"]
        assert nothing is None
        return aj.sum(layer.weight * pair.first + layer.bias * pair.second * last.content)

    p = {
        "layer": Layer(X, X + 1),
        "pair": Pair(X + 2, X + 3),
        "rest": [Box(X + 4, "label"), None],
    }
    g = aj.grad(f)(p)
    assert isinstance(g["layer"], Layer) and isinstance(g["pair"], Pair)
    assert g["rest"][0].label == "label" and g["rest"][1] is None
    np.testing.assert_allclose(g["layer"].weight, X + 2)
    np.testing.assert_allclose(g["pair"].second, (X + 1) * (X + 4))
    np.testing.assert_allclose(g["rest"][0].content, (X + 1) * (X + 3))


def test_static_arguments() -> None:
    traced = []

    def f(x: Any, n: int, scale: str = "one") -> Any:
        traced.append(n)
        return x * n if scale == "one" else x

    for jitted in (aj.jit(f, static_argnums=(1, 2)), aj.jit(f, static_argnames=("n", "scale"))):
        traced.clear()
        np.testing.assert_allclose(jitted(X, 2), 2 * X)
        np.testing.assert_allclose(jitted(X, 2), 2 * X)
        np.testing.assert_allclose(jitted(X, n=3), 3 * X)
        np.testing.assert_allclose(jitted(X, 2, scale="none"), X)
        assert traced == [2, 3, 2]
    with pytest.raises(aj.Error, match="hashable"):
        aj.jit(lambda x, n: x, static_argnums=1)(X, [])


def test_weak_scalars_compile_nothing_new() -> None:
    step = aj.jit(lambda x, rate: x - rate * x)
    x32 = X.astype(np.float32)
    assert step(x32, 0.1).dtype == np.float32
    latest = list(aj.compilations)[-1:]  # only the last so many are kept: their number says nothing
    for rate in (0.2, 0.3, -1.0):
        np.testing.assert_allclose(step(x32, rate), x32 - rate * x32, rtol=1e-6)
    assert list(aj.compilations)[-1:] == latest


def test_arrays_in_closures_are_read_at_each_call() -> None:
    captured = X.copy()
    f = aj.jit(lambda x: x + captured)
    np.testing.assert_allclose(f(X), 2 * X)
    captured[:] = 10
    np.testing.assert_allclose(f(X), X + 10)
    np.testing.assert_allclose(aj.grad(lambda x: aj.sum(x * captured))(X), captured)


def test_captured_tensors_may_get_other_memory() -> None:
    torch = pytest.importorskip("torch")
    w = torch.ones(4)
    f = aj.jit(lambda x: x * w)
    x = torch.ones(4)
    f(x)
    w.data = torch.full((4,), 3.0)
    torch.testing.assert_close(f(x), 3 * x)
    w.data = torch.arange(8.0)[::2]  # other strides
    torch.testing.assert_close(f(x), torch.tensor([0.0, 2.0, 4.0, 6.0]))
    lowered = aj.lower(lambda x: x * w, x)
    executable = lowered.compile()
    w.data = torch.full((4,), 5.0)
    with pytest.raises(aj.Error, match="captured array 0"):
        executable(x)


def test_captured_arrays_of_other_byte_order_are_read_at_each_call() -> None:
    w = np.ones(4, ">f8")
    f = aj.jit(lambda x: x * w)
    x = np.ones(4)
    f(x)
    w[:] = 5.0
    np.testing.assert_array_equal(f(x), 5.0)


def test_methods() -> None:
    class Scaled:
        def __init__(self, factor: float) -> None:
            self.factor = factor

        @functools.partial(aj.jit, static_argnums=0)
        def apply(self, x: Any) -> Any:
            return self.factor * x

    np.testing.assert_array_equal(Scaled(3.0).apply(np.ones(2)), 3.0)
    np.testing.assert_array_equal(Scaled(4.0).apply(np.ones(2)), 4.0)


def test_containers_are_rebuilt_around_arrays_only() -> None:
    class Sized:
        def __init__(self, values: Any) -> None:
            self.length = values.shape[0]
            self.values = values

    aj.register_pytree(Sized, lambda s: ((s.values,), None), lambda _, c: Sized(c[0]))
    double = aj.jit(lambda s: Sized(2.0 * s.values))
    for _ in range(2):
        assert double(Sized(np.ones(3))).length == 3


def test_many_results() -> None:
    ones = [np.ones(1)] * 12
    assert len(aj.broadcast_arrays(*ones)) == 12
    assert len(aj.meshgrid(*ones)) == 12
    assert len(aj.split(np.ones(5000), 5000)) == 5000


def test_numpy_scalars_as_results_keep_their_dtype() -> None:
    made = aj.jit(lambda x: (np.int8(4), np.float16(2.0)))(np.ones(1))
    assert [m.dtype for m in made] == [np.int8, np.float16]


def test_tracers_in_closures() -> None:
    def f(x: Any) -> Any:
        return aj.grad(lambda y: aj.sum(y * y * x))(x) + x

    np.testing.assert_allclose(aj.jit(f)(X), 2 * X * X + X)
    np.testing.assert_allclose(aj.grad(lambda x: aj.sum(f(x)))(X), 4 * X + 1)


def test_higher_orders() -> None:
    third = aj.grad(aj.grad(aj.grad(lambda x: x * x * x * x)))
    np.testing.assert_allclose(third(2.0), 48)
    np.testing.assert_allclose(aj.grad(lambda x: aj.sum(aj.grad(cube)(x)))(X), 6 * X)


def test_jit_and_grad_nest_in_both_orders() -> None:
    inner = aj.jit(lambda x: aj.sin(x) * 2)
    np.testing.assert_allclose(aj.grad(lambda x: aj.sum(inner(x)))(X), 2 * np.cos(X))
    np.testing.assert_allclose(aj.jit(aj.grad(cube))(X), 3 * X**2)
    np.testing.assert_allclose(aj.grad(aj.jit(cube))(X), 3 * X**2)


def test_stop_gradient() -> None:
    np.testing.assert_allclose(aj.grad(lambda x: aj.sum(x * aj.stop_gradient(x)))(X), X)


def test_results_keep_their_structure() -> None:
    f = aj.jit(lambda x: {"a": (x, 1.5), "b": [Pair(x + 1, None)]})
    out = f(X)
    assert out["b"][0].second is None
    np.testing.assert_allclose(out["a"][1], 1.5)
    np.testing.assert_allclose(out["b"][0].first, X + 1)


def test_check_grads_finds_a_wrong_gradient() -> None:
    with pytest.raises(AssertionError, match="central difference"):
        aj.check_grads(lambda x: x * aj.stop_gradient(x), (X,), order=1)


def test_float16_and_bfloat16_accumulate_in_float32() -> None:
    x = np.full(4096, 1.0, np.float16)
    total = aj.sum(x)
    assert total.dtype == np.float16 and float(total) == 4096


def test_numbers_inside_traces_adapt() -> None:
    for dtype in (np.float32, np.float64):
        x = np.arange(3, dtype=dtype)
        scaled = aj.jit(lambda x: aj.grad(lambda y, s: aj.sum(y * s))(x, 2.5))(x)
        assert scaled.dtype == dtype
        np.testing.assert_array_equal(scaled, [2.5, 2.5, 2.5])
        batched = aj.jit(lambda x: aj.vmap(lambda y, s: y * s, in_axes=(0, None))(x, 0.5))(x)
        np.testing.assert_array_equal(batched, x / 2)
        value, pull = aj.vjp(lambda y, s: aj.sum(y * y * s), x, 3.0)
        assert value.dtype == dtype
        np.testing.assert_allclose(pull(1.0)[0], 6 * x)
        np.testing.assert_allclose(pull(1.0)[1], 5)
        inside = aj.jit(lambda x: aj.vjp(lambda y, s: aj.sum(y * y * s), x, 3.0)[1](1.0)[0])(x)
        np.testing.assert_allclose(inside, 6 * x)


def test_cotangents_of_zero_are_no_terms() -> None:
    def f(x: Any) -> Any:
        return aj.sin(x), aj.exp(x) * 2.0

    def rows(x: Any) -> Any:
        (a, b), pullback = aj.vjp(f, x)
        one, zero = aj.ones_like(a), aj.zeros_like(b)
        return pullback((one, zero))[0], pullback((zero, one))[0]

    np.testing.assert_allclose(aj.jit(rows)(X), [np.cos(X), 2 * np.exp(X)])
    # What they would weigh may be infinite.
    assert np.isfinite(np.asarray(aj.jit(rows)(np.array([1000.0, 0.0, 1.0]))[0])).all()
    text = aj.lower(rows, X).text
    assert text.count("cos(x0") == 1 and text.count("exp(x0") == 1, text

    def nothing(x: Any) -> Any:
        return aj.vjp(f, x)[1]((aj.zeros_like(x), aj.zeros_like(x)))[0]

    np.testing.assert_array_equal(aj.jit(nothing)(X), np.zeros(3))


def test_jit_of_a_transformation_is_that_transformation(rng: np.random.Generator) -> None:
    def loss(w: Any, x: Any) -> Any:
        return aj.sum(aj.tanh(x @ w) ** 2)

    w, x = rng.standard_normal((4, 3)), rng.standard_normal((5, 4))

    def key(f: Any) -> Any:
        report = aj.lower(f, w, x).compile().report
        return {part["name"]: part["value"] for part in report["key"]}

    plain = key(aj.grad(loss))
    assert "grad" in plain["transformations"]  # so a hit in a cache derives nothing
    assert key(aj.jit(aj.grad(loss))) == key(aj.jit(aj.jit(aj.grad(loss)))) == plain
    value, slope = aj.jit(aj.value_and_grad(loss, argnums=1))(w, x)
    np.testing.assert_allclose(value, (np.tanh(x @ w) ** 2).sum())
    np.testing.assert_allclose(slope, aj.grad(loss, argnums=1)(w, x))
    assert aj.lower(aj.jit(aj.grad(loss)), w, x).compile().report["title"] == "jit(grad(loss))"


def test_jit_of_a_function_with_static_arguments_follows_their_values() -> None:
    inner = aj.jit(lambda x, n: x * n, static_argnums=1)
    outer = aj.jit(aj.jit(lambda x, n: inner(x, n), static_argnums=1), static_argnums=1)
    for n in (2, 3, 4):
        assert outer(np.float64(1.5), n) == 1.5 * n
    traced = aj.jit(inner)
    assert [float(traced(np.float64(1.5), n)) for n in (2, 3)] == [3, 4.5]
    # A list is no static argument, in a program around it either.
    first = aj.jit(lambda x, n: x * n[0], static_argnums=1)
    for f in (first, aj.jit(first)):
        with pytest.raises(aj.Error, match="hashable"):
            f(np.float64(1.5), [2.0])


def test_jit_of_a_gradient_with_static_arguments_of_its_own() -> None:
    step = aj.jit(aj.grad(lambda x, n: aj.sum(x**n)), static_argnums=1)
    x = np.array([1.0, 2.0])
    for n in (2, 3):
        np.testing.assert_allclose(step(x, n), n * x ** (n - 1))
