"""jvp and vmap through scans, loops, branches, checkpoints, gradients by hand, scatters."""

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


W = np.array([[0.3, -0.2], [0.1, 0.4]])
XS = np.random.default_rng(1).standard_normal((3, 5, 2))  # a batch of three sequences
V = np.random.default_rng(2).standard_normal((3, 5, 2))


def close(found: Any, wanted: Any) -> None:
    """Equal structures of arrays, to rounding."""
    mine, theirs = jax.tree_util.tree_flatten(found), jax.tree_util.tree_flatten(wanted)
    assert mine[1] == theirs[1]
    for a, b in zip(mine[0], theirs[0], strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-9, atol=1e-11)


def recurrent(m: Any, scan: Any) -> Callable[..., Any]:
    def run(w: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = m.tanh(m.matmul(w, h) + x)
            return h, m.sum(h * h)

        return scan(step, xs[0] * 0.0 + 0.5, xs)

    return run


def test_scans() -> None:
    f, g = recurrent(aj, aj.scan), recurrent(jnp, jax.lax.scan)
    x, v = XS[0], V[0]
    close(aj.jvp(f, (W, x), (2 * W, v)), jax.jvp(g, (W, x), (2 * W, v)))
    close(aj.vmap(f, (None, 0))(W, XS), jax.vmap(g, (None, 0))(W, XS))
    close(aj.jacobian(lambda w: f(w, x)[1])(W), jax.jacrev(lambda w: g(w, x)[1])(W))

    def loss(h: Callable[..., Any], m: Any) -> Callable[..., Any]:
        return lambda w, xs: m.sum(h(w, xs)[1])

    close(
        aj.vmap(aj.grad(loss(f, aj)), (None, 0))(W, XS),
        jax.vmap(jax.grad(loss(g, jnp)), (None, 0))(W, XS),
    )
    close(aj.hessian(loss(f, aj))(W, x), jax.hessian(loss(g, jnp))(W, x))


def root(m: Any, loop: Any) -> Callable[..., Any]:
    """Newton's iteration until it moves less than a tolerance."""

    def run(a: Any) -> Any:
        def going(s: Any) -> Any:
            return m.abs(s[0] * s[0] - a) > 1e-9

        def step(s: Any) -> Any:
            return 0.5 * (s[0] + a / s[0]), s[1] + 1

        return loop(going, step, (a * 0.0 + 1.0, 0))

    return run


def test_loops_of_as_many_steps_as_data_says() -> None:
    f, g = root(aj, aj.while_loop), root(jnp, jax.lax.while_loop)
    a = np.array([2.0, 400.0, 0.01])
    found, steps = aj.vmap(f)(a)
    wanted, theirs = jax.vmap(g)(a)
    close(found, wanted)
    np.testing.assert_array_equal(steps, theirs)
    assert len(set(np.asarray(steps).tolist())) > 1
    out, tangent = aj.jvp(lambda x: f(x)[0], (np.float64(2.0),), (np.float64(1.0),))
    np.testing.assert_allclose([out, tangent], [2**0.5, 0.5 * 2**-0.5], rtol=1e-6)
    close(
        aj.vmap(lambda x: aj.jvp(lambda y: f(y)[0], (x,), (1.0,))[1])(a),
        jax.vmap(lambda x: jax.jvp(lambda y: g(y)[0], (x,), (1.0,))[1])(a),
    )


def test_branches() -> None:
    def f(m: Any, cond: Any) -> Callable[..., Any]:
        return lambda x: cond(m.sum(x) > 0, lambda y: m.sin(y), lambda y: y * y, x)

    x, v = XS[:, 0], V[:, 0]
    mine, theirs = f(aj, aj.cond), f(jnp, jax.lax.cond)
    close(aj.vmap(mine)(x), jax.vmap(theirs)(x))
    close(aj.jvp(mine, (x[0],), (v[0],)), jax.jvp(theirs, (x[0],), (v[0],)))


def test_checkpoints() -> None:
    def f(m: Any, checkpoint: Any) -> Callable[..., Any]:
        return checkpoint(lambda w, x: m.sum(m.tanh(m.matmul(w, m.sin(x)))))

    mine, theirs = f(aj, aj.checkpoint), f(jnp, jax.checkpoint)
    x = XS[0]
    close(aj.jvp(mine, (W, x[0]), (W, V[0, 0])), jax.jvp(theirs, (W, x[0]), (W, V[0, 0])))
    per_example = aj.vmap(aj.grad(mine), (None, 0))
    close(per_example(W, x), jax.vmap(jax.grad(theirs), (None, 0))(W, x))
    close(aj.hessian(mine)(W, x[0]), jax.hessian(theirs)(W, x[0]))


def clipped(library: Any, m: Any) -> Callable[..., Any]:
    """x * w, whose gradients are clipped to 1."""
    f = library.custom_vjp(lambda x, w: x * w)
    f.defvjp(
        lambda x, w: (x * w, (x, w)),
        lambda kept, d: (m.clip(d * kept[1], -1.0, 1.0), m.clip(d * kept[0], -1.0, 1.0)),
    )
    return f  # type: ignore[no-any-return]


def test_gradients_by_hand() -> None:
    mine, theirs = clipped(aj, aj), clipped(jax, jnp)
    x, w = 3 * XS[0], 2 * V[0, 0]

    def loss(f: Any, library: Any, m: Any) -> Callable[..., Any]:
        return lambda a, b: m.sum(library.vmap(f, (0, None))(a, b) ** 2)

    close(
        aj.grad(loss(mine, aj, aj), (0, 1))(x, w),
        jax.grad(loss(theirs, jax, jnp), (0, 1))(x, w),
    )
    with pytest.raises(aj.NotDifferentiableError, match="by hand"):
        aj.jvp(mine, (x, x), (x, x))


def test_scatters() -> None:
    index = np.array([[0, 2, 0], [1, 1, 1], [3, 0, 3]])
    weight = XS[:, :3, 0]

    def histogram(i: Any, w: Any) -> Any:
        r = aj.reduce_axis(3)
        return aj.scatter((4,), r, lambda r: (aj.at(i, r), aj.at(w, r) * aj.at(w, r)))

    def wanted(i: Any, w: Any) -> Any:
        return jnp.zeros(4).at[i].add(w * w)

    close(aj.vmap(histogram)(index, weight), jax.vmap(wanted)(index, weight))
    close(
        aj.jvp(lambda w: histogram(index[0], w), (weight[0],), (V[0, :3, 0],)),
        jax.jvp(lambda w: wanted(index[0], w), (weight[0],), (V[0, :3, 0],)),
    )
    close(
        aj.jacobian(lambda w: histogram(index[0], w))(weight[0]),
        jax.jacrev(lambda w: wanted(index[0], w))(weight[0]),
    )
