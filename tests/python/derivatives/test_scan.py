"""Loops: scan against jax, to second derivatives; cond and while_loop."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import adjit as aj
import jax
import jax.numpy as jnp
import numpy as np
import pytest

jax.config.update("jax_enable_x64", True)

Rng = np.random.Generator


def close(found: Any, wanted: Any, rtol: float = 1e-10) -> None:
    a, b = jax.tree_util.tree_leaves(found), jax.tree_util.tree_leaves(wanted)
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=rtol, atol=1e-12)


def recurrent(lib: Any, scan: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Several carries (one an integer), fixed operands by closure, stacked results."""

    def loss(w: Any, u: Any, h0: Any, xs: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            h, total, n = carry["h"], carry["sum"], carry["n"]
            new = lib.tanh(h @ w + x @ u)
            scale = n.astype("float64") if lib is jnp else aj.astype(n, "float64")
            return {"h": new, "sum": total + lib.sum(new * new), "n": n + 1}, new * (1 + scale)

        init = {"h": h0, "sum": np.zeros(()), "n": np.zeros((), np.int64)}
        last, ys = scan(step, init, xs, **options)
        return lib.sum(ys * ys) + lib.sum(last["h"]) + last["sum"]

    return loss


def arguments(rng: Rng, steps: int = 6) -> list[Any]:
    return [
        0.5 * rng.standard_normal((4, 4)), rng.standard_normal((3, 4)),
        rng.standard_normal((2, 4)), rng.standard_normal((steps, 2, 3)),
    ]  # fmt: skip


@pytest.mark.parametrize("steps", [0, 1, 6])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("checkpoint", [None, 2, True])
def test_value_and_gradients(rng: Rng, steps: int, reverse: bool, checkpoint: Any) -> None:
    args = arguments(rng, steps)
    every = (0, 1, 2, 3)
    ours = recurrent(aj, aj.scan, reverse=reverse, checkpoint=checkpoint)
    theirs = recurrent(jnp, jax.lax.scan, reverse=reverse)
    close(aj.value_and_grad(ours, every)(*args), jax.value_and_grad(theirs, every)(*args))


@pytest.mark.parametrize("checkpoint", [None, 3])
def test_second_derivatives(rng: Rng, checkpoint: Any) -> None:
    args = arguments(rng, 4)

    def second(lib: Any, module: Any, loss: Any) -> Any:
        def squared(*given: Any) -> Any:
            gradients = module.grad(loss, (0, 2, 3))(*given)
            return sum(lib.sum(g * g) for g in gradients)

        return module.grad(squared, (0, 1, 2, 3))

    ours = recurrent(aj, aj.scan, checkpoint=checkpoint)
    found = second(aj, aj, ours)(*args)
    close(found, second(jnp, jax, recurrent(jnp, jax.lax.scan))(*args), 1e-8)


def test_nested_scans_with_closures(rng: Rng) -> None:
    w, h, xs = rng.standard_normal((3, 3)), rng.standard_normal(3), rng.standard_normal((4, 5, 3))

    def loss(lib: Any, scan: Any) -> Any:
        def run(w: Any, h: Any, xs: Any) -> Any:
            def outer(carry: Any, block: Any) -> Any:
                def inner(c: Any, x: Any) -> Any:
                    c = lib.sin(w @ c) * x + carry  # of the outer step
                    return c, lib.sum(c)

                c, sums = scan(inner, carry, block, reverse=True)
                return c, sums

            last, sums = scan(outer, h, xs)
            return lib.sum(last) + lib.sum(sums * sums)

        return run

    found = aj.value_and_grad(loss(aj, aj.scan), (0, 1, 2))(w, h, xs)
    close(found, jax.value_and_grad(loss(jnp, jax.lax.scan), (0, 1, 2))(w, h, xs))


def test_length_alone_and_no_results() -> None:
    last, ys = aj.scan(lambda c, x: (c * 2, None), np.ones(3), None, length=5)
    np.testing.assert_array_equal(last, np.full(3, 32.0))
    assert ys is None
    x = np.arange(3.0)
    grad = aj.grad(lambda c: aj.sum(aj.scan(lambda c, _: (c * c, c), c, length=3)[0]))(x)
    np.testing.assert_allclose(grad, 8 * x**7)


def test_called_on_arrays_and_inside_jit(rng: Rng) -> None:
    xs = rng.standard_normal((7, 2)).astype(np.float32)
    bias = rng.standard_normal(2).astype(np.float32)

    def step(carry: Any, x: Any) -> Any:
        return carry + x + bias, carry

    init = np.zeros(2, np.float32)
    last, ys = aj.scan(step, init, xs)
    sums = np.cumsum(xs + bias, axis=0)
    np.testing.assert_allclose(last, sums[-1], rtol=1e-5)
    np.testing.assert_allclose(ys[1:], sums[:-1], rtol=1e-5)
    assert ys.dtype == np.float32
    close(aj.jit(lambda i, x: aj.scan(step, i, x))(init, xs), (last, ys))


def test_pytrees_of_everything(rng: Rng) -> None:
    xs = {"a": rng.standard_normal((4, 2)), "b": (rng.standard_normal(4), None)}

    def step(carry: Any, x: Any) -> Any:
        total, pair = carry
        total = total + x["a"] * x["b"][0]
        return (total, (pair[1], pair[0])), {"t": total, "none": None}

    init = (np.zeros(2), (1.0, 2.0))
    found = aj.scan(step, init, xs)
    wanted = jax.lax.scan(step, init, xs)
    close(found, wanted)
    assert found[1]["none"] is None


def test_weak_initial_carry_takes_the_dtype_of_the_step(rng: Rng) -> None:
    xs = rng.standard_normal(5)
    last, _ = aj.scan(lambda c, x: (c + x, None), 0.0, xs)
    assert last.dtype == np.float64
    np.testing.assert_allclose(last, xs.sum())


def test_numbers_in_carries_of_a_trace(rng: Rng) -> None:
    xs = rng.standard_normal(5).astype(np.float32)

    def f(xs: Any) -> Any:
        (total, n, flag), ys = aj.scan(
            lambda c, x: ((c[0] + x, c[1] + 1, True), 0.1), (0.0, 0, False), xs
        )
        return total, n, flag, ys

    total, n, flag, ys = aj.jit(f)(xs)
    assert total.dtype == np.float32 and n == 5 and flag
    np.testing.assert_allclose(total, xs.sum(), rtol=1e-5)
    np.testing.assert_allclose(ys, np.full(5, 0.1), rtol=1e-6)


def test_through_vjp_and_numerically(rng: Rng) -> None:
    args = arguments(rng, 5)
    ours = recurrent(aj, aj.scan)
    out, pullback = aj.vjp(ours, *args)
    wanted, theirs = jax.vjp(recurrent(jnp, jax.lax.scan), *args)
    close(out, wanted)
    close(pullback(np.float64(1.0)), theirs(np.float64(1.0)))
    aj.check_grads(lambda w, h: aj.scan(lambda c, _: (aj.tanh(w @ c), c), h, length=4),
                   (args[0], args[2][0]))  # fmt: skip


def test_weight_gradient_is_contracted_after_the_loop(rng: Rng) -> None:
    ours = recurrent(aj, aj.scan)
    text = aj.lower(aj.grad(ours), *arguments(rng, 16)).text
    backward = text[text.index("reverse]") :]
    parameters = backward[: backward.index("->")]
    assert "carry double(4, 4)" not in parameters, text


@pytest.mark.parametrize("steps", [100])
def test_checkpoint_needs_less_memory(rng: Rng, steps: int) -> None:
    def workspace(checkpoint: Any) -> int:
        def loss(w: Any, h: Any) -> Any:
            last, _ = aj.scan(lambda c, _: (aj.tanh(w @ c), None), h, length=steps * steps,
                              checkpoint=checkpoint)  # fmt: skip
            return aj.sum(last)

        gradient = aj.grad(loss)
        w, h = 0.5 * rng.standard_normal((8, 8)), rng.standard_normal(8)
        found = aj.lower(gradient, w, h).compile()
        return int(found.report["workspace_bytes"])

    everything, segments = workspace(None), workspace(True)
    assert everything > steps * steps * 8 * 8
    assert segments < everything / 20


def error_of(f: Callable[..., Any], *args: Any) -> str:
    with pytest.raises(aj.Error) as caught:
        f(*args)
    return str(caught.value)


def test_errors_name_the_leaf_and_both_types() -> None:
    x = np.ones((3, 2))
    message = error_of(lambda: aj.scan(lambda c, x: ({"h": x}, None), {"h": np.ones(3)}, x))
    assert "carry['h']" in message and "float64(3,)" in message and "float64(2,)" in message
    with pytest.raises(aj.ShapeError):
        aj.scan(lambda c, x: (x, None), np.ones(3), x)
    with pytest.raises(aj.DTypeError, match="astype"):
        aj.scan(lambda c, x: (aj.astype(c, "float32"), None), np.ones(2), x)
    assert "length" in error_of(lambda: aj.scan(lambda c, x: (c, None), 0.0))
    message = error_of(lambda: aj.scan(lambda c, x: (c, None), 0.0, {"a": x, "b": np.ones(4)}))
    assert "xs['a']: 3" in message and "xs['b']: 4" in message
    assert "length: 5" in error_of(lambda: aj.scan(lambda c, x: (c, None), 0.0, x, 5))
    assert "structure" in error_of(lambda: aj.scan(lambda c, x: ((c, c), None), 0.0, x))
    assert "(carry, y)" in error_of(lambda: aj.scan(lambda c, x: c, 0.0, x))
    assert "checkpoint=0" in error_of(lambda: aj.scan(lambda c, x: (c, c), 0.0, x, checkpoint=0))
    assert "rank 0" in error_of(lambda: aj.scan(lambda c, x: (c, c), 0.0, np.float64(3)))


def test_cond_selects_results_and_keeps_nan_out_of_gradients() -> None:
    def f(x: Any) -> Any:
        return aj.cond(x > 0, lambda v: {"y": aj.sqrt(v)}, lambda v: {"y": v * 0.5}, x)["y"]

    value, gradient = aj.value_and_grad(f)(np.float64(-4.0))
    assert value == -2.0 and gradient == 0.5
    value, gradient = aj.value_and_grad(f)(np.float64(4.0))
    assert value == 2.0 and gradient == 0.25
    # Where the branch not taken has an infinite derivative.
    assert aj.grad(f)(np.float64(0.0)) == 0.5
    assert aj.cond(np.bool_(True), lambda: 1.0, lambda: 1 / 0) == 1.0


def test_cond_refuses_branches_that_differ() -> None:
    x = np.ones(3)
    message = error_of(aj.jit(lambda x: aj.cond(x[0] > 0, lambda: x, lambda: x[:2])), x)
    assert "float64(3,)" in message and "float64(2,)" in message
    assert "scalar" in error_of(aj.jit(lambda x: aj.cond(x > 0, lambda: x, lambda: x)), x)
    assert "structure" in error_of(aj.jit(lambda x: aj.cond(x[0] > 0, lambda: x, lambda: (x,))), x)


def test_while_loop_forwards_and_batched(rng: Rng) -> None:
    def newton(lib: Any, loop: Any) -> Any:
        """The square root of a by Newton's method."""

        def run(a: Any) -> Any:
            return loop(
                lambda c: lib.abs(c * c - a) > 1e-12, lambda c: 0.5 * (c + a / c), a / 2 + 0.5
            )

        return run

    a, t = np.float64(2.0), np.float64(3.0)
    found = aj.jvp(newton(aj, aj.while_loop), (a,), (t,))
    wanted = jax.jvp(newton(jnp, jax.lax.while_loop), (a,), (t,))
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-12)

    def doubled(x: Any, n: Any) -> Any:
        return aj.while_loop(lambda c: c[1] > 0, lambda c: (c[0] * 2, c[1] - 1), (x, n))[0]

    xs = rng.standard_normal((4, 3))
    np.testing.assert_allclose(aj.vmap(doubled, in_axes=(0, None))(xs, np.int64(3)), 8 * xs)
    # Each element stops by itself.
    found = aj.vmap(doubled)(xs, np.array([0, 1, 2, 5]))
    np.testing.assert_allclose(found, xs * np.array([1, 2, 4, 32])[:, None])
    roots = aj.vmap(newton(aj, aj.while_loop))(np.array([2.0, 9.0, 1e6]))
    np.testing.assert_allclose(roots, [math.sqrt(2), 3, 1000], rtol=1e-9)


def test_batched_scan(rng: Rng) -> None:
    w, h, xs = rng.standard_normal((3, 3)), rng.standard_normal((4, 3)), rng.standard_normal((5, 3))

    def loss(lib: Any, scan: Any, **options: Any) -> Any:
        def run(w: Any, h: Any, xs: Any) -> Any:
            last, ys = scan(lambda c, x: (lib.tanh(w @ c + x), c), h, xs, **options)
            return lib.sum(last) + lib.sum(ys * ys)

        return run

    wanted = jax.vmap(jax.grad(loss(jnp, jax.lax.scan), (0, 1, 2)), (None, 0, None))(w, h, xs)
    for checkpoint in (None, 2):
        ours = aj.grad(loss(aj, aj.scan, checkpoint=checkpoint), (0, 1, 2))
        close(aj.vmap(ours, in_axes=(None, 0, None))(w, h, xs), wanted)


def test_while_loop_has_no_reverse_mode() -> None:
    def collatz(n: Any) -> Any:
        return aj.while_loop(
            lambda c: c[0] != 1,
            lambda c: (aj.where(c[0] % 2 == 0, c[0] // 2, 3 * c[0] + 1), c[1] + 1),
            (n, np.int64(0)),
        )[1]

    assert collatz(np.int64(27)) == 111
    assert collatz(np.int64(1)) == 0
    limit = np.float64(100.0)

    def doubled(x: Any) -> Any:
        return aj.sum(aj.while_loop(lambda v: aj.sum(v) < limit, lambda v: v * 2, x))

    assert doubled(np.ones(3)) == 192.0
    with pytest.raises(aj.NotDifferentiableError, match="use scan"):
        aj.grad(doubled)(np.ones(3))


def test_while_loop_checks_indices_while_it_runs() -> None:
    """A linked list followed to its end: an index out of range stops the loop and is named."""

    def last(following: Any, start: Any) -> Any:
        def step(carry: Any) -> Any:
            at, steps = carry
            return aj.compute((), lambda: following[at]), steps + 1

        at, steps = aj.while_loop(lambda c: following[c[0]] >= 0, step, (start, 0))
        return at, steps

    def follow(following: list[int]) -> Any:
        return aj.jit(last)(np.array(following), np.array(0))

    at, steps = follow([2, -1, 4, 1, 3])
    assert (int(at), int(steps)) == (1, 4)
    with pytest.raises(aj.BoundsError, match=r"index 7 .*out of range 0:5.*test_scan\.py"):
        follow([2, -1, 4, 1, 7])
    # The loop would never end on what is read instead.
    with pytest.raises(aj.BoundsError, match="index -9 "):
        aj.jit(
            lambda f: aj.while_loop(
                lambda c: c > -100, lambda c: aj.compute((), lambda: aj.at(f, c)), 0
            )
        )(np.array([1, 2, -9]))


@pytest.mark.parametrize("steps", [33, 90])
@pytest.mark.parametrize("width", [257, 300])
def test_linear_scans_of_ragged_rows(steps: int, width: int) -> None:
    """The backward is a running product: unrolled vectors, in tasks of whole ones."""
    xs = np.random.default_rng(0).uniform(0.5, 1.0, (steps, width))

    def theirs(xs: Any) -> Any:
        last, before = jax.lax.scan(lambda c, x: (jnp.tanh(c * x), c), jnp.ones(width), xs)
        return jnp.sum(last) + jnp.sum(before * before)

    def ours(xs: Any) -> Any:
        ones = aj.ones((width,), dtype="float64")
        last, before = aj.scan(lambda c, x: (aj.tanh(c * x), c), ones, xs)
        return aj.sum(last) + aj.sum(before * before)

    close(aj.grad(ours)(xs), jax.grad(theirs)(xs))


def test_carries_that_no_task_makes_beside_large_products() -> None:
    """A scalar carry, and one that an inner scan leaves, beside kernels with tasks."""
    rng = np.random.default_rng(4)
    w = (rng.standard_normal((64, 64)) / 8).astype(np.float32)
    xs = rng.standard_normal((5, 64, 64)).astype(np.float32)

    def summed(w: Any, xs: Any) -> Any:
        def step(s: Any, x: Any) -> Any:
            m = aj.tanh(x @ w) @ w
            return s + aj.sum(m), m

        return aj.scan(step, np.float32(0), xs)

    def nested(w: Any, xs: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            def inner(d: Any, y: Any) -> Any:
                return aj.tanh(d + y @ w), None

            return aj.scan(inner, c, aj.stack([x, x @ w]))[0], None

        return aj.scan(step, aj.zeros((64, 64), dtype="float32"), xs)[0]

    made = np.stack([np.tanh(x @ w) @ w for x in xs])
    total, found = aj.jit(summed)(w, xs)
    np.testing.assert_allclose(found, made, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(total, made.sum(), rtol=1e-3)
    c = np.zeros((64, 64), np.float32)
    for x in xs:
        for y in (x, x @ w):
            c = np.tanh(c + y @ w)
    np.testing.assert_allclose(aj.jit(nested)(w, xs), c, rtol=1e-3, atol=1e-4)
