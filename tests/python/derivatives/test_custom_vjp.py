"""aj.custom_vjp against jax."""

from __future__ import annotations

from typing import Any

import adjit as aj
import jax
import jax.numpy as jnp
import numpy as np
import pytest

jax.config.update("jax_enable_x64", True)

Rng = np.random.Generator
X = np.array([0.5, -1.0, 2.0])


def clipped(module: Any, lib: Any) -> Any:
    """exp whose gradient is clipped, with pytrees in, out and between."""

    def f(p: Any, n: Any) -> Any:
        return {"y": lib.exp(p["x"]) * p["s"], "n": n + 1}

    def fwd(p: Any, n: Any) -> Any:
        e = lib.exp(p["x"])
        return {"y": e * p["s"], "n": n + 1}, (e, {"s": p["s"]})

    def bwd(residuals: Any, d: Any) -> Any:
        e, rest = residuals
        return {"x": lib.clip(d["y"] * e * rest["s"], -1.0, 1.0), "s": lib.sum(d["y"] * e)}, None

    g = module.custom_vjp(f)
    g.defvjp(fwd, bwd)
    return g


def test_rule_replaces_the_derivative_to_second_order() -> None:
    p = {"x": X, "s": np.float64(1.5)}
    n = np.int64(4)

    def first(module: Any, lib: Any) -> Any:
        g = clipped(module, lib)
        return lambda p: lib.sum(g(p, n)["y"] ** 2)

    def second(module: Any, lib: Any) -> Any:
        def squares(p: Any) -> Any:
            d = module.grad(first(module, lib))(p)
            return lib.sum(d["x"] ** 2) + d["s"] ** 2

        return squares

    for order in (first, second):
        ours = aj.grad(order(aj, aj))(p)
        theirs = jax.grad(order(jax, jnp))(p)
        for key in ("x", "s"):
            np.testing.assert_allclose(ours[key], np.asarray(theirs[key]), rtol=1e-10)


def test_nondiff_argnums_and_none() -> None:
    def rule(module: Any, lib: Any) -> Any:
        def f(power: int, x: Any, y: Any) -> Any:
            return x**power + y

        g = module.custom_vjp(f, nondiff_argnums=(0,))
        g.defvjp(
            lambda power, x, y: (f(power, x, y), x), lambda power, x, d: (10 * power * d, None)
        )
        return lambda x, y: lib.sum(g(3, x, y))

    found = aj.grad(rule(aj, aj), (0, 1))(X, X)
    np.testing.assert_allclose(found[0], 30.0 * np.ones(3))
    np.testing.assert_allclose(found[1], np.zeros(3))


def test_rule_that_calls_its_own_function() -> None:
    def make(module: Any, lib: Any) -> Any:
        @module.custom_vjp
        def f(x: Any) -> Any:
            return lib.exp(x)

        def fwd(x: Any) -> Any:
            y = f(x)
            return y, y

        f.defvjp(fwd, lambda y, d: (2 * d * y,))
        return lambda x: lib.sum(f(x))

    def nth(module: Any, lib: Any, order: int) -> Any:
        loss = make(module, lib)
        for _ in range(order):
            loss = (lambda inner: lambda x: lib.sum(module.grad(inner)(x)))(loss)
        return loss

    for order in (1, 2, 3):
        np.testing.assert_allclose(
            nth(aj, aj, order)(X), np.asarray(nth(jax, jnp, order)(X)), rtol=1e-12
        )


def test_inside_scan_jit_and_vjp(rng: Rng) -> None:
    xs = rng.standard_normal((5, 3))

    def loss(module: Any, lib: Any, scan: Any) -> Any:
        g = clipped(module, lib)

        def run(h: Any, xs: Any) -> Any:
            def step(c: Any, x: Any) -> Any:
                out = g({"x": c * 0.3, "s": 1.1}, 0)
                return out["y"] + x, c

            last, cs = scan(step, h, xs)
            return lib.sum(last) + lib.sum(cs * cs)

        return run

    ours, theirs = loss(aj, aj, aj.scan), loss(jax, jnp, jax.lax.scan)
    wanted = jax.grad(theirs, (0, 1))(X, xs)
    for found in (
        aj.jit(aj.grad(ours, (0, 1)))(X, xs),
        aj.vjp(ours, X, xs)[1](np.float64(1.0)),
    ):
        for f, w in zip(found, wanted, strict=True):
            np.testing.assert_allclose(f, np.asarray(w), rtol=1e-10)


def test_costs_nothing_undifferentiated() -> None:
    g = clipped(aj, aj)
    with_rule = aj.lower(lambda p: g(p, np.int64(1)), {"x": X, "s": 2.0}).text
    without = aj.lower(lambda p: g.function(p, np.int64(1)), {"x": X, "s": 2.0}).text
    assert with_rule.count(" exp(") == without.count(" exp(") == 1
    assert "call" not in with_rule


def test_batched_and_refused_by_forward_mode(rng: Rng) -> None:
    xs = rng.standard_normal((4, 3))

    def gradient(module: Any, lib: Any) -> Any:
        g = clipped(module, lib)
        each = module.grad(lambda x, s: lib.sum(g({"x": x, "s": s}, np.int64(0))["y"]), (0, 1))
        return module.vmap(each, in_axes=(0, None))

    def through(module: Any, lib: Any) -> Any:
        g = clipped(module, lib)
        each = module.vmap(lambda x, s: lib.sum(g({"x": x, "s": s}, 0)["y"]), in_axes=(0, None))
        return module.grad(lambda x, s: lib.sum(each(x, s) ** 2), (0, 1))

    for make in (gradient, through):
        found, wanted = make(aj, aj)(xs, np.float64(1.5)), make(jax, jnp)(xs, np.float64(1.5))
        for f, w in zip(found, wanted, strict=True):
            np.testing.assert_allclose(f, np.asarray(w), rtol=1e-10)
    g = clipped(aj, aj)
    with pytest.raises(aj.NotDifferentiableError, match="custom_vjp"):
        aj.jvp(lambda x: g({"x": x, "s": 2.0}, 0)["y"], (X,), (X,))


def test_forward_over_reverse_without_a_cotangent() -> None:
    """Reverse mode runs the forward of whatever it differentiates, as jax does."""

    def curvature(module: Any, lib: Any, checkpoint: Any, scan: Any, which: int) -> Any:
        g = module.custom_vjp(lib.sin)
        g.defvjp(lambda x: (lib.sin(x), x), lambda x, d: (d * lib.cos(x),))
        kept = checkpoint(lambda x: g(x) * x)

        def step(h: Any, v: Any) -> Any:
            return 0.5 * h + g(v), (g(h) * v, h * v)

        def run(x: Any) -> Any:
            return scan(step, x[0], x)[1][0]

        def beside(x: Any) -> Any:
            """A scan of which one result takes a cotangent, and the one by hand takes none."""
            by_hand, plain = scan(step, x[0], x)[1]
            return lib.floor(4.0 * by_hand) + scan(lambda h, v: (h, g(v) + h), x[1], plain)[1]

        weights = (
            lambda x: lib.floor(4.0 * g(x)),
            lambda x: module.vmap(g)(x) > 0.5,
            kept,
            lambda x: lib.floor(4.0 * kept(x)),
            lambda x: lib.floor(4.0 * run(x)),
            beside,
        )
        f = module.grad(lambda x: lib.sum(x**3 * weights[which](x)))
        return module.jvp(f, (X,), (np.array([1.0, -2.0, 0.5]),))[1]

    for which in range(6):
        found = curvature(aj, aj, aj.checkpoint, aj.scan, which)
        wanted = curvature(jax, jnp, jax.checkpoint, jax.lax.scan, which)
        np.testing.assert_allclose(found, np.asarray(wanted), rtol=1e-12, atol=1e-12)


def test_closed_over_values() -> None:
    constant = np.full(3, 2.0)

    def make(scale: Any) -> Any:
        f = aj.custom_vjp(lambda x: x * scale)
        f.defvjp(lambda x: (x * scale, None), lambda _, d: (d * scale * 10,))
        return f

    np.testing.assert_allclose(aj.grad(lambda x: aj.sum(make(constant)(x)))(X), [20.0] * 3)
    through = aj.grad(lambda s, x: aj.sum(make(s)(x)), argnums=1)(constant, X)
    np.testing.assert_allclose(through, [20.0] * 3)
    with pytest.raises(aj.NotDifferentiableError, match="pass it as an argument"):
        aj.grad(lambda s, x: aj.sum(make(s)(x)))(constant, X)


def test_errors_say_what_does_not_fit() -> None:
    def rule(fwd: Any, bwd: Any) -> Any:
        f = aj.custom_vjp(lambda x: x * 2)
        f.defvjp(fwd, bwd)
        return aj.grad(lambda x: aj.sum(f(x)))

    good = lambda x: (x * 2, None)  # noqa: E731
    with pytest.raises(aj.Error, match="tuple of 1"):
        rule(good, lambda r, d: d)(X)
    with pytest.raises(aj.ShapeError, match="gradient of argument 0"):
        rule(good, lambda r, d: (d[:2],))(X)
    with pytest.raises(aj.Error, match=r"\(out, residuals\)"):
        rule(lambda x: x, lambda r, d: (d,))(X)
    with pytest.raises(aj.ShapeError, match="out of fwd"):
        rule(lambda x: (x[:1], None), lambda r, d: (d,))(X)
    with pytest.raises(aj.Error, match="defvjp"):
        aj.custom_vjp(lambda x: x)(X)


def test_numbers_as_arguments_adapt_in_every_rule() -> None:
    @aj.custom_vjp
    def scaled(x: Any, s: Any) -> Any:
        return x * s

    scaled.defvjp(lambda x, s: (x * s, (x, s)), lambda r, g: (g * r[1], aj.sum(g * r[0])))
    x = np.float32([1, 2])
    np.testing.assert_array_equal(aj.jit(lambda x: scaled(x, 2.5))(x), 2.5 * x)
    for s in (2.5, 3, 4.0):
        np.testing.assert_array_equal(aj.jit(scaled)(x, s), s * x)
        slope = aj.grad(lambda x, s=s: aj.sum(scaled(x, s)))(x)
        assert slope.dtype == np.float32
        np.testing.assert_array_equal(slope, [s, s])
    by_number = aj.grad(lambda x, s: aj.sum(scaled(x, s)), argnums=1)(x, 2.5)
    np.testing.assert_array_equal(by_number, 3)
