"""Batching against jax.vmap and loops: axes, trees, nesting with every other transformation."""

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


def close(found: Any, wanted: Any) -> None:
    """Equal structures of arrays, to rounding."""
    mine, theirs = jax.tree_util.tree_flatten(found), jax.tree_util.tree_flatten(wanted)
    assert mine[1] == theirs[1]
    for a, b in zip(mine[0], theirs[0], strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-9, atol=1e-11)


A = np.random.default_rng(1).standard_normal((4, 3, 5))
B = np.random.default_rng(2).standard_normal((5, 4, 2))
W = np.random.default_rng(3).standard_normal((3, 5))


def layer(m: Any) -> Callable[..., Any]:
    return lambda x, w: m.tanh(m.matmul(x, w)) + m.max(x, axis=-1, keepdims=True)


@pytest.mark.parametrize(
    ("in_axes", "out_axes"),
    [((0, 1), 0), ((0, 1), 1), ((0, 1), -1), ((0, None), 0), ((-3, -2), -2), ([0, 1], 2)],
)
def test_axes(in_axes: Any, out_axes: Any) -> None:
    b = B[:, 0] if in_axes[1] is None else B
    close(
        aj.vmap(layer(aj), in_axes, out_axes)(A, b),
        jax.vmap(layer(jnp), in_axes, out_axes)(A, b),
    )


def test_trees_of_axes() -> None:
    def f(m: Any) -> Callable[..., Any]:
        return lambda p, x, scale: {
            "y": m.matmul(p["w"], x) * scale, "z": (p["b"][0] + 1, m.sum(p["w"]))
        }  # fmt: skip

    p = {"w": W, "b": [A[:, 0], A[:, 1]]}
    x = np.moveaxis(A[:, 0], 0, 1)  # (5, 4): batched along axis 1
    in_axes = ({"w": None, "b": 0}, 1, None)
    out_axes = {"y": 1, "z": (0, None)}
    close(
        aj.vmap(f(aj), in_axes, out_axes)(p, x, 2.0),
        jax.vmap(f(jnp), in_axes, out_axes)(p, x, 2.0),
    )
    close(aj.vmap(lambda x, *, k: x * k)(A, k=A + 1), jax.vmap(lambda x, *, k: x * k)(A, k=A + 1))


def test_results_that_do_not_depend_are_repeated() -> None:
    found = aj.vmap(lambda x: (x, W, 3.0))(A)
    close(found, (A, np.broadcast_to(W, (4, 3, 5)), np.full(4, 3.0)))
    with pytest.raises(aj.Error, match="depends on the batch"):
        aj.vmap(lambda x: x, out_axes=None)(A)


def test_nesting() -> None:
    def dot(m: Any) -> Callable[..., Any]:
        return lambda a, b: m.sum(a * b) + m.sin(a[0])

    u, v = A[0], W
    pairs = aj.vmap(aj.vmap(dot(aj), (None, 0)), (0, None))
    close(pairs(u, v), jax.vmap(jax.vmap(dot(jnp), (None, 0)), (0, None))(u, v))
    close(aj.jit(pairs)(u, v), pairs(u, v))
    # A closure over a batched value of the outer vmap.
    close(
        aj.vmap(lambda a: aj.vmap(lambda b: dot(aj)(a, b))(v))(u),
        jax.vmap(lambda a: jax.vmap(lambda b: dot(jnp)(a, b))(v))(u),
    )


def loss(m: Any) -> Callable[..., Any]:
    return lambda w, x: m.sum(m.tanh(m.matmul(w, x)) ** 2)


def test_with_reverse_mode() -> None:
    x = A[0]  # (3, 5): three vectors
    per_example = aj.vmap(aj.grad(loss(aj)), (None, 0))
    close(per_example(W, x), jax.vmap(jax.grad(loss(jnp)), (None, 0))(W, x))

    def total(m: Any, v: Any) -> Callable[..., Any]:
        return lambda w: m.sum(v(loss(m), (None, 0))(w, x))

    close(aj.grad(total(aj, aj.vmap))(W), jax.grad(total(jnp, jax.vmap))(W))
    out, pullback = aj.vjp(lambda w: aj.vmap(loss(aj), (None, 0))(w, x), W)
    theirs, pull = jax.vjp(lambda w: jax.vmap(loss(jnp), (None, 0))(w, x), W)
    close((out, pullback(np.ones(3))), (theirs, pull(np.ones(3))))
    # The pullback itself, batched over cotangents.
    eye = np.eye(3)
    close(aj.vmap(pullback)(eye), jax.vmap(pull)(eye))


def test_with_forward_mode() -> None:
    x, v = A[0], A[1]
    close(
        aj.jvp(aj.vmap(loss(aj), (None, 0)), (W, x), (W, v)),
        jax.jvp(jax.vmap(loss(jnp), (None, 0)), (W, x), (W, v)),
    )
    close(
        aj.vmap(lambda a, b: aj.jvp(lambda y: loss(aj)(W, y), (a,), (b,)))(x, v),
        jax.vmap(lambda a, b: jax.jvp(lambda y: loss(jnp)(W, y), (a,), (b,)))(x, v),
    )
    # Hessians for each example, and a Hessian-vector product for each vector.
    close(
        aj.vmap(aj.hessian(loss(aj), argnums=1), (None, 0))(W, x),
        jax.vmap(jax.hessian(loss(jnp), argnums=1), (None, 0))(W, x),
    )

    def hvp(m: Any, library: Any) -> Callable[..., Any]:
        return lambda t: library.jvp(library.grad(lambda y: loss(m)(W, y)), (x[0],), (t,))[1]

    close(aj.vmap(hvp(aj, aj))(v), jax.vmap(hvp(jnp, jax))(v))
    close(
        aj.jacobian(lambda y: aj.vmap(loss(aj), (None, 0))(W, y))(x),
        jax.jacrev(lambda y: jax.vmap(loss(jnp), (None, 0))(W, y))(x),
    )


def test_reads_that_depend_on_data() -> None:
    index = np.array([[0, 2], [1, 1], [2, 0], [2, 2]])
    found = aj.vmap(lambda x, i: aj.take(x, i, axis=0))(A, index)
    close(found, np.stack([a[i] for a, i in zip(A, index, strict=True)]))
    found = aj.vmap(lambda i: aj.take(W, i, axis=0))(index)
    close(found, W[index])
    gradient = aj.grad(lambda x: aj.sum(aj.vmap(lambda a, i: aj.take(a, i, axis=0))(x, index) ** 2))
    close(
        gradient(A),
        jax.grad(lambda x: jnp.sum(jax.vmap(lambda a, i: a[i])(x, jnp.asarray(index)) ** 2))(A),
    )


def test_reducers_selections_and_notation() -> None:
    mean_of_squares = aj.reducer(lambda a, b: (a[0] + b[0], a[1] + b[1]), (0.0, 0.0))

    def f(x: Any) -> Any:
        k = aj.reduce_axis(5)
        s, n = aj.compute(
            (3,), lambda i: mean_of_squares((x[i, k] * x[i, k], 0.0 * x[i, k] + 1.0), axis=k)
        )
        return s / n, aj.argmax(x, axis=1), aj.where(x > 0, x, 0.0)

    close(aj.vmap(f)(A), (np.mean(A * A, axis=2), np.argmax(A, axis=2), np.maximum(A, 0)))


def test_torch_in_torch_out() -> None:
    torch = pytest.importorskip("torch")
    x, w = torch.tensor(A), torch.tensor(W)
    found = aj.vmap(lambda a: aj.matmul(a, w.T))(x)
    torch.testing.assert_close(found, torch.func.vmap(lambda a: a @ w.T)(x))


def test_convolutions_by_torch() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(4)
    x, w = rng.standard_normal((3, 2, 2, 6, 6)), rng.standard_normal((3, 4, 2, 3, 3))
    found = aj.vmap(lambda a, b: aj.nn.max_pool2d(aj.nn.conv2d(a, b, padding=1), 2))(x, w)
    wanted = torch.func.vmap(
        lambda a, b: torch.nn.functional.max_pool2d(torch.nn.functional.conv2d(a, b, padding=1), 2)
    )(torch.tensor(x), torch.tensor(w))
    np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-9, atol=1e-11)


def test_a_new_batch_size_is_a_new_signature() -> None:
    f = aj.vmap(aj.sin)
    for n in (1, 4, 7):
        np.testing.assert_allclose(f(np.ones((n, 2))), np.full((n, 2), np.sin(1)))


def test_errors() -> None:
    with pytest.raises(aj.ShapeError, match="differ in size"):
        aj.vmap(aj.add)(A, W)
    with pytest.raises(aj.ShapeError, match="no axis 3"):
        aj.vmap(aj.sin, in_axes=3)(A)
    with pytest.raises(aj.ShapeError, match="no axis 0; use None"):
        aj.vmap(aj.add)(A, 2.0)
    with pytest.raises(aj.ShapeError, match="no axis 4"):
        aj.vmap(aj.sin, out_axes=4)(A)
    with pytest.raises(aj.Error, match="None everywhere"):
        aj.vmap(aj.sin, in_axes=None)(A)
    with pytest.raises(aj.Error, match="2 entries for 1"):
        aj.vmap(aj.sin, in_axes=(0, 0))(A)
    with pytest.raises(aj.Error, match="in_axes"):
        aj.vmap(lambda p: p["a"], in_axes=({"b": 0},))({"a": A})
    with pytest.raises(aj.Error, match="in_axes must be"):
        aj.vmap(aj.sin, in_axes="rows")
