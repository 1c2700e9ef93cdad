"""Forward mode and full derivatives against jax: jvp, jacobian, jacfwd, hessian, check_grads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import adjit as aj
import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    """jax computes in float64 during these tests only."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
V = np.array([[1.0, 2.0, -0.5], [0.125, -1.0, 3.0]])
W = np.array([[0.3, -0.2], [1.1, 0.4], [-0.6, 0.9]])

# One function of a (2, 3) and a (3, 2) array for both libraries: (name, f(module, x, w)).
FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "elementwise": lambda m, x, w: m.tanh(x) * m.exp(x) + m.sin(x) / (1.0 + x * x),
    "matmul": lambda m, x, w: m.matmul(x, w),
    "softmax_loss": lambda m, x, w: m.sum(
        m.log(m.sum(m.exp(m.matmul(x, w)), axis=1)) - m.matmul(x, w)[:, 0]
    ),
    "max": lambda m, x, w: m.max(m.matmul(x, w), axis=1) + m.min(x, axis=1),
    "prod": lambda m, x, w: m.prod(x, axis=1),
    "where": lambda m, x, w: m.where(x > 0, x * x, m.exp(x)),
    "views": lambda m, x, w: m.reshape(x, (3, 2)) * w + m.reshape(x.T, (3, 2))[::-1],
    "slices": lambda m, x, w: x[:, 1:] * x[:, :-1] + w[1:, :],
}


def both(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    f = FUNCTIONS[name]
    return (lambda x, w: f(aj, x, w)), (lambda x, w: f(jnp, x, w))


def close(found: Any, wanted: Any) -> None:
    """Equal structures of arrays, to rounding."""
    mine = jax.tree_util.tree_flatten(found, is_leaf=lambda v: v is None)
    theirs = jax.tree_util.tree_flatten(wanted, is_leaf=lambda v: v is None)
    assert mine[1] == theirs[1]
    for a, b in zip(mine[0], theirs[0], strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_jvp(name: str) -> None:
    f, g = both(name)
    tangents = (V, W * 2 - 1)
    close(aj.jvp(f, (X, W), tangents), jax.jvp(g, (X, W), tangents))
    close(
        aj.jit(lambda x, w, v: aj.jvp(lambda y: f(y, w), (x,), (v,)))(X, W, V),
        jax.jvp(lambda y: g(y, W), (X,), (V,)),
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_jvp_composes(name: str) -> None:
    f, g = both(name)

    def loss(h: Callable[..., Any], m: Any) -> Callable[..., Any]:
        return lambda x: m.sum(m.sin(h(x, m.asarray(W) if m is jnp else W)))

    mine, theirs = loss(f, aj), loss(g, jnp)
    # Forward over reverse, reverse over forward, forward over forward.
    close(aj.jvp(aj.grad(mine), (X,), (V,)), jax.jvp(jax.grad(theirs), (X,), (V,)))
    close(
        aj.grad(lambda x: aj.jvp(mine, (x,), (V,))[1])(X),
        jax.grad(lambda x: jax.jvp(theirs, (x,), (V,))[1])(X),
    )
    close(
        aj.jvp(lambda x: aj.jvp(mine, (x,), (V,))[1], (X,), (V,)),
        jax.jvp(lambda x: jax.jvp(theirs, (x,), (V,))[1], (X,), (V,)),
    )


def test_jvp_of_trees_integers_and_numbers() -> None:
    def f(p: Any, n: Any, s: Any) -> Any:
        return {"y": p["a"] * s + p["b"][0] * aj.astype(n, "float64"), "n": n + 1}

    primals = ({"a": X, "b": [2 * X]}, np.arange(3), 0.5)
    out, tangent = aj.jvp(f, primals, ({"a": V, "b": [None]}, None, 1.0))
    np.testing.assert_allclose(out["y"], X * 0.5 + 2 * X * np.arange(3))
    np.testing.assert_array_equal(out["n"], [1, 2, 3])
    np.testing.assert_allclose(tangent["y"], V * 0.5 + X)
    assert tangent["n"] is None
    float0 = np.zeros(3, jax.dtypes.float0)
    again = aj.jvp(f, primals, ({"a": V, "b": [0 * X]}, float0, 1.0))[1]
    np.testing.assert_allclose(again["y"], tangent["y"])
    out, tangent, aux = aj.jvp(lambda x: (x * x, x + 1), (X,), (V,), has_aux=True)
    close((out, tangent, aux), (X * X, 2 * X * V, X + 1))


def test_jvp_of_a_closure_sees_outer_tangents() -> None:
    def outer(s: Any) -> Any:
        return aj.jvp(lambda x: x * s * s, (X,), (V,))[1]

    close(aj.jvp(outer, (np.float64(3.0),), (np.float64(1.0),)), (9 * V, 6 * V))


def test_jvp_float16_and_stop_gradient() -> None:
    x, v = X.astype(np.float16), V.astype(np.float16)
    _, tangent = aj.jvp(lambda a: aj.exp(a) * aj.stop_gradient(a), (x,), (v,))
    assert tangent.dtype == np.float16
    np.testing.assert_allclose(tangent, np.exp(X) * X * V, rtol=5e-3)
    np.testing.assert_array_equal(aj.jvp(aj.stop_gradient, (X,), (V,))[1], 0 * X)


def test_jvp_keeps_the_framework() -> None:
    torch = pytest.importorskip("torch")
    out, tangent = aj.jvp(aj.sin, (torch.tensor(X),), (torch.tensor(V),))
    assert isinstance(out, torch.Tensor)
    wanted = torch.func.jvp(torch.sin, (torch.tensor(X),), (torch.tensor(V),))[1]
    torch.testing.assert_close(tangent, wanted)


def test_jvp_through_custom_reducers() -> None:
    # (largest, sum of exponentials): a reducer that reverse mode refuses.
    def combine(a: Any, b: Any) -> Any:
        m = aj.maximum(a[0], b[0])
        return m, a[1] * aj.exp(a[0] - m) + b[1] * aj.exp(b[0] - m)

    reduce = aj.reducer(combine, (-1e30, 0.0))

    def logsumexp(x: Any) -> Any:
        k = aj.reduce_axis(3)
        m, s = aj.compute((2,), lambda i: reduce((x[i, k], 0.0 * x[i, k] + 1.0), axis=k))
        return m + aj.log(s)

    def wanted(x: Any) -> Any:
        return jax.scipy.special.logsumexp(x, axis=1)

    close(aj.jvp(logsumexp, (X,), (V,)), jax.jvp(wanted, (X,), (V,)))
    close(aj.jacfwd(aj.jacfwd(logsumexp))(X), jax.jacfwd(jax.jacfwd(wanted))(X))


def test_jvp_refuses() -> None:
    with pytest.raises(aj.NotDifferentiableError, match="int64"):
        aj.jvp(lambda n: n, (np.arange(3),), (np.ones(3),))
    with pytest.raises(aj.ShapeError, match="shape"):
        aj.jvp(aj.sin, (X,), (V[0],))
    with pytest.raises(aj.DTypeError, match="float32"):
        aj.jvp(aj.sin, (X,), (V.astype(np.float32),))
    with pytest.raises(aj.Error, match="tangents"):
        aj.jvp(aj.multiply, (X, X), (V,))
    with pytest.raises(aj.Error, match="tuple or list"):
        aj.jvp(aj.sin, X, V)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("mode", ["jacobian", "jacfwd"])
def test_full_jacobians(name: str, mode: str) -> None:
    f, g = both(name)
    theirs = jax.jacrev(g, argnums=(0, 1))(X, W)
    close(getattr(aj, mode)(f, argnums=(0, 1))(X, W), theirs)


def test_jacobians_of_trees() -> None:
    def f(m: Any) -> Callable[..., Any]:
        return lambda p, s: {"y": m.matmul(p["w"], p["x"]) * s, "z": [m.sum(p["x"] * p["x"])]}

    p = {"w": W, "x": np.array([0.5, -2.0])}
    s = np.array(1.5)
    for argnums in (0, 1, (1, 0)):
        wanted = jax.jacrev(f(jnp), argnums=argnums)(p, s)
        close(aj.jacobian(f(aj), argnums)(p, s), wanted)
        close(aj.jacfwd(f(aj), argnums)(p, s), wanted)
        close(aj.jit(aj.jacfwd(f(aj), argnums))(p, s), wanted)
    found, aux = aj.jacobian(lambda x: (x * x, {"n": x + 1}), has_aux=True)(p["x"])
    close((found, aux), (np.diag(2 * p["x"]), {"n": p["x"] + 1}))
    close(aj.jacfwd(lambda x: (x * x, x + 1), has_aux=True)(p["x"])[0], np.diag(2 * p["x"]))


def test_hessians() -> None:
    def f(m: Any) -> Callable[..., Any]:
        return lambda p: m.sum(m.tanh(m.matmul(p["w"], p["x"])) ** 2) + m.prod(p["x"])

    p = {"w": W, "x": np.array([0.5, -2.0])}
    close(aj.hessian(f(aj))(p), jax.hessian(f(jnp))(p))
    close(aj.jit(aj.hessian(f(aj)))(p), jax.hessian(f(jnp))(p))

    def g(m: Any) -> Callable[..., Any]:
        return lambda x, y: (m.sin(x) * m.sum(y), m.matmul(x, y))

    for argnums in (0, (0, 1)):
        close(aj.hessian(g(aj), argnums)(X, W), jax.hessian(g(jnp), argnums=argnums)(X, W))
    # Third derivatives.
    third = aj.jacfwd(aj.hessian(lambda x: aj.sum(aj.exp(x) * x)))(p["x"])
    close(third, jax.jacfwd(jax.hessian(lambda x: jnp.sum(jnp.exp(x) * x)))(p["x"]))


def test_an_elementwise_jacobian_costs_its_diagonal() -> None:
    n = 40
    x = np.linspace(-1, 1, n)
    for whole in (aj.jacobian(aj.tanh), aj.jacfwd(aj.tanh)):
        stages = aj.lower(whole, x).stages
        assert max(s.iterations or 0 for s in stages) <= n * n, stages  # no sum over a basis
    hessian = aj.lower(aj.hessian(lambda a: aj.sum(a**3)), x)
    assert max(s.iterations or 0 for s in hessian.stages) <= n * n, hessian.text


def test_jacobians_refuse_integers() -> None:
    for whole in (aj.jacobian, aj.jacfwd, aj.hessian):
        with pytest.raises(aj.NotDifferentiableError, match="int64"):
            whole(lambda n: n * 1.0)(np.arange(3))
        with pytest.raises(aj.NotDifferentiableError, match="result leaf 1"):
            whole(lambda x: (x, aj.astype(x, "int32")))(X)


def test_check_grads_by_both_modes() -> None:
    def f(x: Any, w: Any) -> Any:
        return aj.tanh(aj.matmul(x, w)), aj.sum(x * x * x)

    aj.check_grads(f, (X, W), order=3, rtol=1e-5, atol=1e-5)
    aj.check_grads(f, (X, W), order=2, modes=("fwd",))
    for modes, message in ((("fwd",), "derived by fwd"), (("rev",), "derived by rev")):
        with pytest.raises(AssertionError, match=message):
            aj.check_grads(lambda x: x * aj.stop_gradient(x), (X,), order=1, modes=modes)
    # At 0 the first derivative is right and the second is not.
    wrong = (lambda x: x * aj.stop_gradient(x)), (np.zeros(2),)
    aj.check_grads(*wrong, order=1)
    with pytest.raises(AssertionError, match="fwd, fwd"):
        aj.check_grads(*wrong, order=2)
    with pytest.raises(aj.Error, match="modes"):
        aj.check_grads(f, (X, W), modes=("both",))
