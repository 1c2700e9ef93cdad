"""aj.checkpoint: the same values and gradients, intermediates computed again."""

from __future__ import annotations

from typing import Any

import adjit as aj
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)

Rng = np.random.Generator


def layers(lib: Any, wrap: Any) -> Any:
    def block(x: Any, w: Any) -> Any:
        return lib.tanh(lib.tanh(x @ w) @ w)

    def loss(x: Any, w: Any, v: Any) -> Any:
        h = wrap(block)(x, w)
        return lib.sum(wrap(lambda a: block(a, v))(h) ** 2)  # v by closure

    return loss


def test_gradients_to_second_order(rng: Rng) -> None:
    args = [0.4 * rng.standard_normal((3, 3)) for _ in range(3)]
    every = (0, 1, 2)
    ours, theirs = layers(aj, aj.checkpoint), layers(jnp, jax.checkpoint)
    for f, g in zip(
        aj.value_and_grad(ours, every)(*args), jax.value_and_grad(theirs, every)(*args), strict=True
    ):
        np.testing.assert_allclose(np.stack(f) if isinstance(f, tuple) else f, np.asarray(g))

    def second(module: Any, lib: Any, loss: Any) -> Any:
        return module.grad(
            lambda *a: sum(lib.sum(g * g) for g in module.grad(loss, every)(*a)), every
        )

    for f, g in zip(second(aj, aj, ours)(*args), second(jax, jnp, theirs)(*args), strict=True):
        np.testing.assert_allclose(f, np.asarray(g), rtol=1e-9, atol=1e-12)


def matmuls(text: str) -> int:
    return text.count("+=!")


def test_intermediates_are_computed_again(rng: Rng) -> None:
    args = [rng.standard_normal((8, 8)) for _ in range(3)]
    kept = aj.lower(aj.grad(layers(aj, lambda f: f), (0, 1, 2)), *args).text
    again = aj.lower(aj.grad(layers(aj, aj.checkpoint), (0, 1, 2)), *args).text
    assert matmuls(again) > matmuls(kept), again
    assert "region" in again
    # The text parses back to the same computation: merging is not done on reading it.
    module = aj.define(again)
    assert module is not None


def test_residuals_of_a_pullback_are_the_arguments(rng: Rng) -> None:
    def deep(x: Any) -> Any:
        for _ in range(20):
            x = aj.sin(aj.cumsum(x, axis=0))
        return x

    x = rng.standard_normal(64)
    out, pullback = aj.vjp(aj.checkpoint(deep), x)
    want, reference = aj.vjp(deep, x)
    np.testing.assert_allclose(out, want)
    np.testing.assert_allclose(pullback(out)[0], reference(out)[0], rtol=1e-9)


def test_outside_of_derivatives_it_is_the_function(rng: Rng) -> None:
    x = rng.standard_normal(5)
    f = aj.checkpoint(lambda x, n: x * n, static_argnums=1)
    np.testing.assert_allclose(f(x, 3), 3 * x)
    np.testing.assert_allclose(aj.jit(lambda x: f(x, 2))(x), 2 * x)


def test_forward_mode_and_batches(rng: Rng) -> None:
    x, w, v, t = (0.4 * rng.standard_normal((3, 3)) for _ in range(4))
    ours, theirs = layers(aj, aj.checkpoint), layers(jnp, jax.checkpoint)
    found = aj.jvp(lambda x: ours(x, w, v), (x,), (t,))
    wanted = jax.jvp(lambda x: theirs(x, w, v), (x,), (t,))
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-10)
    xs = rng.standard_normal((5, 3, 3))
    batched = aj.vmap(aj.grad(ours), in_axes=(0, None, None))(xs, w, v)
    np.testing.assert_allclose(
        batched, np.asarray(jax.vmap(jax.grad(theirs), in_axes=(0, None, None))(xs, w, v))
    )
