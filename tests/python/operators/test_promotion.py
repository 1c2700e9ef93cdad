"""The rule of docs/promotion.md: at once, compiled, in index notation and in text alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import adjit as aj
import numpy as np
import pytest

B, I8, I64 = np.array([True, False]), np.array([1, -2], np.int8), np.array([3, 4])
F16, F32, F64 = (np.array([0.5, 1.5], t) for t in (np.float16, np.float32, np.float64))

# Operands of a product, its dtype.
TABLE: list[tuple[Any, Any, Any]] = [
    (I8, I64, np.int64),
    (B, I8, np.int8),
    (B, F32, np.float32),
    (I64, F16, np.float16),
    (I64, F32, np.float32),
    (I8, F64, np.float64),
    (2, I8, np.int8),
    (2, F16, np.float16),
    (2, B, np.int64),
    (True, F32, np.float32),
    (0.1, F16, np.float16),
    (0.1, F32, np.float32),
    (0.1, F64, np.float64),
    (0.1, I64, np.float64),
    (0.1, B, np.float64),
    (np.float64(0.1), F64, np.float64),
    (np.float32(0.1), I64, np.float32),
    (np.float16(0.1), B, np.float16),
    (np.int64(2), I8, np.int64),
    (np.int64(2), F32, np.float32),
    ([2, 3], I8, np.int8),
    ([0.1, 0.2], F32, np.float32),
    ([0.1, 0.2], F64, np.float64),
    ([0.1, 0.2], I64, np.float64),
    ((np.float32(1), np.float32(2)), I64, np.float32),
]  # fmt: skip


def product(a: Any, b: Any, dtype: Any) -> Any:
    """In NumPy, of operands that have the dtype already."""
    return np.asarray(a).astype(dtype) * np.asarray(b).astype(dtype)


def assert_equal(found: Any, wanted: Any) -> None:
    """float16 is computed in float32 and rounded once, numbers beside it not at all."""
    assert found.dtype == wanted.dtype
    tolerance = 1e-3 if wanted.dtype == np.float16 else 0
    np.testing.assert_allclose(found, wanted, rtol=tolerance)


@pytest.mark.parametrize(("a", "b", "dtype"), TABLE)
def test_two_operands(a: Any, b: Any, dtype: Any) -> None:
    wanted = product(a, b, dtype)
    found = [
        aj.multiply(a, b),
        aj.multiply(b, a),
        aj.jit(lambda y: a * y)(b),
        aj.jit(lambda y: y * a)(b),
        aj.jit(lambda: aj.multiply(a, b))(),
    ]
    if np.ndim(a) == 0:
        found += [
            aj.jit(lambda x, y: x * y)(a, b),
            aj.jit(aj.multiply)(b, a),
        ]
        if dtype != np.float64 or np.asarray(b).dtype == np.float64:  # weak floats: see below
            found.append(aj.compute(2, lambda i: aj.at(b, i) * a))
    for one in found:
        assert_equal(one, wanted)


@pytest.mark.parametrize("other", [F64, np.float64(1), F16, np.float16(1)])
def test_two_float_types_ask_for_a_cast(other: Any) -> None:
    for f in (aj.multiply, aj.jit(lambda x, y: x * y), aj.atan2):
        with pytest.raises(aj.DTypeError, match="astype"):
            f(F32, other)


def test_text_meets_floats() -> None:
    m = aj.define(
        "def f(float(N) x, int32(N) n, bool(N) b) -> (y) { y(i) = x(i) * n(i) + b(i) + 0.5 * n(i) }"
    )
    n = np.array([2, 3], np.int32)
    found = m.f(F32, n, B)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, F32 * n + B + np.float32(0.5) * n)


NUMBERS: dict[str, Callable[..., Any]] = {
    "exp": aj.exp, "sin": aj.sin, "log1p": aj.log1p, "square": aj.square,
    "reciprocal": aj.reciprocal,
    "half": lambda v: v / 2, "power": lambda v: v**3, "chosen": lambda v: aj.where(v > 0, v, 1),
    "stacked": lambda v: aj.stack([v, 1]), "full": lambda v: aj.full((2,), v),
    "sum": lambda v: aj.sum(aj.stack([v, v])), "dot": lambda v: aj.dot(v, 0.3),
    "itself": lambda v: aj.positive(v),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [0.1, 3])
def test_a_number_alone_is_the_same_compiled(name: str, value: Any) -> None:
    f = NUMBERS[name]
    if isinstance(value, int) and name in ("power", "square", "chosen", "stacked", "sum", "itself"):
        assert np.asarray(aj.jit(f)(value)).dtype == np.int64
    if name in ("half", "power"):
        return  # Python's own at once
    once, compiled = np.asarray(f(value)), np.asarray(aj.jit(f)(value))
    assert once.dtype == compiled.dtype
    np.testing.assert_array_equal(once, compiled)
    if isinstance(value, float):
        assert once.dtype == (np.float32 if name == "full" else np.float64)


WEAK: dict[str, Callable[[Any], Any]] = {
    "where": lambda x: aj.where(x > 0, 0.1, 0.2),
    "arithmetic": lambda x: aj.where(x > 0, 1, 2) * 0.1,
    "sum": lambda x: aj.sum(aj.where(x > 0, 0.1, 0.2)),
    "dot": lambda x: aj.dot(aj.where(x > 0, 0.1, 0.2), 0.5),
    "taken": lambda x: aj.take(aj.where(x > 0, 0.1, 0.2), np.array([1, 0])),
    "joined": lambda x: aj.concat([aj.where(x > 0, 0.1, 0.2)[:1], aj.where(x > 0, 0.1, 0.2)[1:]]),
    "mean of bools": lambda x: aj.mean(x > 0),
    "mean of integers": lambda x: aj.mean(aj.astype(x > 0, "int8")),
    "count": lambda x: aj.sum(x > 0) + 0.1,
    "clipped": lambda x: aj.clip(aj.where(x > 0, 0.1, 0.2), 0, 0.15),
    "function": lambda x: aj.exp(aj.where(x > 0, 1, 2)),
}


@pytest.mark.parametrize("name", WEAK)
def test_what_is_weak_only_stays_weak(name: str) -> None:
    f = WEAK[name]
    alone = aj.jit(f)(F64)
    assert alone.dtype == np.float64
    for x in (F16, F32, F64):
        found = aj.jit(lambda x: f(x) * x)(x)
        assert_equal(found, alone.astype(x.dtype) * x)


SPLICED: dict[str, Callable[[Any], Any]] = {
    "scan": lambda x: aj.scan(lambda c, v: (c * 0.5, v), 1.0, x)[0],
    "stacked by scan": lambda x: aj.scan(lambda c, _: (c * 0.5, c), 1.0, None, length=2)[1],
    "while_loop": lambda x: aj.while_loop(lambda c: c < 3, lambda c: c + 1.1, 0.0),
    "cond": lambda x: aj.cond(x[0] > 0, lambda: 0.1, lambda: 0.2),
    "grad": lambda x: aj.grad(lambda s: s * s)(0.3),
    "value_and_grad": lambda x: sum(aj.value_and_grad(lambda s: s * s)(0.3)),
    "with aux": lambda x: aj.value_and_grad(lambda s: (s * s, s * 3), has_aux=True)(0.3)[0][1],
    "jvp": lambda x: sum(aj.jvp(lambda s: s * s, (0.3,), (1.0,))),
    "vmap": lambda x: aj.vmap(lambda v: aj.where(v > 0, 0.1, 0.2))(x),
    "checkpoint": lambda x: aj.checkpoint(lambda s: s * s)(0.3),
    "jit": lambda x: aj.jit(lambda s: s * s)(0.3),
}


@pytest.mark.parametrize("name", SPLICED)
def test_numbers_stay_weak_through_transformations(name: str) -> None:
    f = SPLICED[name]
    alone = np.asarray(aj.jit(f)(F64))
    assert alone.dtype == np.float64
    for x in (F32, F64):
        found = aj.jit(lambda x: f(x) * x)(x)
        assert_equal(found, alone.astype(x.dtype) * x)


def test_integers_in_contractions_and_losses() -> None:
    n = np.array([[[1, 2]]])
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 4)
    for f in (aj.nn.conv1d, aj.nn.conv_transpose1d):
        assert_equal(f(x, n), f(x, n.astype(np.float32)))
    logits, target = np.ones((2, 3), np.float32), np.array([0, 2])
    weight = np.array([1, 2, 3])
    assert_equal(
        aj.nn.cross_entropy(logits, target, weight),
        aj.nn.cross_entropy(logits, target, weight.astype(np.float32)),
    )
    assert_equal(aj.matmul(F32, I64), aj.matmul(F32, I64.astype(np.float32)))
    assert_equal(aj.concat([I8, F32]), aj.concat([I8.astype(np.float32), F32]))
    assert aj.nn.mse_loss(I64, F32).dtype == np.float32


def test_weak_operands_of_composite_operators() -> None:
    x = np.linspace(-1, 1, 8).reshape(2, 4).astype(np.float32)

    def f(x: Any) -> Any:
        weak = aj.where(x > 0, 0.25, 0.5)
        return (
            aj.matmul(x, weak.T), aj.nn.mse_loss(x, weak), aj.nn.layer_norm(x, (4,), weak[0]),
            aj.index_add(x, np.array([0]), weak[:1]), aj.nn.cosine_similarity(weak, x),
            aj.nn.scaled_dot_product_attention(x, weak, x),
        )  # fmt: skip

    assert [y.dtype for y in aj.jit(f)(x)] == [np.float32] * 6
    strong = aj.jit(lambda x: f(x))(x.astype(np.float64))
    for a, b in zip(aj.jit(f)(x), strong, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


def test_numbers_in_index_expressions() -> None:
    for x in (F32, F64):
        got = aj.jit(
            lambda x: aj.compute(2, lambda i: aj.select(i < 1, 0.1, 0.2) * x[i] + (x[i] > 1) * 0.5)
        )(x)
        assert got.dtype == x.dtype
        np.testing.assert_array_equal(got, np.array([0.1, 0.2], x.dtype) * x + [0, 0.5])
    with pytest.raises(aj.DTypeError, match="astype"):
        aj.compute(2, lambda i: aj.at(F32, i) * np.float64(0.5))


def test_gradients_through_conversions() -> None:
    n = np.array([3, -1, 2])
    x = np.array([0.5, 1.5, -2.0])

    def f(x: Any, s: Any) -> Any:
        return aj.sum(x * n * s + x * (x > 0)) + aj.sum(aj.where(x > 0, s, 0.0) * x)

    gx, gs = aj.grad(f, argnums=(0, 1))(x, 2.0)
    np.testing.assert_allclose(gx, n * 2.0 + (x > 0) + np.where(x > 0, 2.0, 0))
    np.testing.assert_allclose(gs, np.sum(x * n) + np.sum(x[x > 0]))
    assert aj.grad(f)(x.astype(np.float32), 2.0).dtype == np.float32
    in_notation = aj.grad(
        lambda x: aj.sum(aj.compute(3, lambda i: aj.at(n, i) * x[i] * (x[i] > 0)))
    )
    np.testing.assert_array_equal(in_notation(x), n * (x > 0))
    with pytest.raises(aj.NotDifferentiableError, match=r"p\['n'\] of argument 0"):
        aj.grad(lambda p: aj.sum(p["n"] * p["x"]))({"x": x, "n": n})


def test_sums_of_narrow_integers_do_not_wrap() -> None:
    x = np.full((3, 3), 100, np.uint8)
    for f, wanted in ((aj.sum, 900), (aj.trace, 300), (aj.prod, 100**9 % 2**64)):
        assert f(x).dtype == np.int64
        if f is not aj.prod:
            assert int(f(x)) == wanted
    assert int(aj.prod(np.array([200, 200, 2], np.uint8))) == 80000
    np.testing.assert_array_equal(aj.cumsum(x[0]), [100, 200, 300])
    assert int(aj.compute((), lambda: aj.sum(aj.at(x, k := aj.reduce_axis(3), k), axis=k))) == 300


@pytest.mark.parametrize("shape", [(1,), (7,), (33, 5), (3, 70), (4, 1, 9)])
def test_extremes_of_bools(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    for density in (0.0, 0.05, 0.5, 1.0):
        x = rng.uniform(size=shape) < density
        for axis in (None, *range(len(shape))):
            for name in ("max", "min", "argmax", "argmin", "any", "all"):
                found, wanted = (getattr(module, name)(x, axis=axis) for module in (aj, np))
                np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(aj.cummax(x, axis=0), np.maximum.accumulate(x, 0))
        np.testing.assert_array_equal(aj.cummin(x, axis=0), np.minimum.accumulate(x, 0))


def test_one_result_is_a_tuple_too() -> None:
    x = np.arange(3.0)
    for f in (
        lambda x: aj.split(x, 1),
        lambda x: aj.unstack(x[:1]),
        aj.meshgrid,
        aj.broadcast_arrays,
    ):
        for found in (f(x), aj.jit(f)(x)):
            assert type(found) is tuple and len(found) == 1


@pytest.mark.parametrize(
    ("stop", "num"), [(7472309.0, 20), (0.3, 4), (-1e30, 7), (1.0, 1), (2.0, 2)]
)
def test_linspace_ends_at_its_end(stop: float, num: int) -> None:
    for dtype in ("float16", "float32", "float64"):
        if dtype == "float16" and abs(stop) > 60000:
            continue
        found = aj.linspace(0.0, stop, num, dtype=dtype)
        assert found[-1] == (np.dtype(dtype).type(stop) if num > 1 else 0)
        np.testing.assert_allclose(
            found, np.linspace(0.0, stop, num), rtol=4 * np.finfo(dtype).eps, atol=0
        )


@pytest.mark.parametrize("bad", [1j, np.complex64(1), "a", None, object(), np.uint16(3)])
def test_what_is_no_number_is_named(bad: Any) -> None:
    for call in (lambda: aj.jit(lambda x: x * bad)(F32), lambda: aj.multiply(F32, bad)):
        with pytest.raises(aj.Error, match=r"complex|str|object|uint16|missing"):
            call()


def test_numbers_past_int64() -> None:
    np.testing.assert_array_equal(aj.jit(lambda x: x * 2**63)(F64), F64 * 2.0**63)
    np.testing.assert_array_equal(aj.multiply(F64, -(2**70)), F64 * -(2.0**70))
    np.testing.assert_array_equal(aj.compute(2, lambda i: aj.at(F64, i) * 2**64), F64 * 2.0**64)
    with pytest.raises(aj.DTypeError, match="int64"):
        aj.jit(lambda x, n: x * n)(F64, 2**63)


def test_numbers_take_the_declared_dtype_of_text_notation() -> None:
    module = aj.define(
        """def scale(float(N) x, float a) -> (y) { y(i) = x(i) * a }
        def shift(int64(N) x, int64 k) -> (y) { y(i) = x(i) + k }"""
    )
    x = np.arange(3, dtype=np.float32)
    for number in (2.0, 2, np.float32(2)):
        made = module.scale(x, number)
        assert made.dtype == np.float32
        np.testing.assert_array_equal(made, 2 * x)
        np.testing.assert_array_equal(aj.jit(lambda x, a: module.scale(x, a))(x, number), 2 * x)
    np.testing.assert_array_equal(aj.jit(lambda x: module.scale(x, 2.0))(x), 2 * x)
    np.testing.assert_array_equal(module.shift(np.arange(3), 2), [2, 3, 4])
    for call in (lambda: module.scale(x, np.float64(2)), lambda: module.shift(np.arange(3), 2.5)):
        with pytest.raises(aj.DTypeError, match="is declared"):
            call()
    assert float(aj.grad(lambda a: aj.sum(module.scale(x, a)))(3.0)) == 3.0
