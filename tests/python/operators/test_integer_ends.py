"""Integers at the ends of their types: they wrap, division by 0 and wide shifts have a value."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import adjit as aj
import numpy as np
import pytest

DTYPES = ["int8", "int16", "int32", "int64", "uint8"]

_MOST = 2**63 - 1


def points(dtype: str) -> Any:
    info = np.iinfo(dtype)
    near = (-2, -1, 0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 63, 64)
    ends = (info.min, info.min + 1, info.max - 1, info.max)
    return np.array(sorted({v for v in (*near, *ends) if info.min <= v <= info.max}), dtype)


def pairs(dtype: str) -> tuple[Any, Any]:
    grid = np.array(list(itertools.product(points(dtype), repeat=2)), dtype)
    return np.ascontiguousarray(grid[:, 0]), np.ascontiguousarray(grid[:, 1])


def power(x: Any, y: Any) -> Any:
    """Wrapped to the width of the type; of negative exponents the whole part."""
    width = 8 * x.itemsize

    def one(base: int, exponent: int) -> int:
        if exponent >= 0:
            return pow(base, exponent, 2**width)
        return (1 if exponent % 2 == 0 else base) % 2**width if abs(base) == 1 else 0

    wrapped = [one(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    return np.array(wrapped, f"uint{width}").view(x.dtype)


BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "floor_divide": np.floor_divide,
    "remainder": np.remainder,
    "fmod": np.fmod,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "bitwise_left_shift": np.left_shift,
    "bitwise_right_shift": np.right_shift,
    "pow": power,
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str, dtype: str) -> None:
    ours, (x, y) = getattr(aj, name), pairs(dtype)
    with np.errstate(all="ignore"):
        expected = BINARY[name](x, y)
    np.testing.assert_array_equal(ours(x, y), expected)
    # One element at a time, and with both operands known while it is compiled.
    for k in range(0, len(x), 29):
        one = slice(k, k + 1)
        np.testing.assert_array_equal(ours(x[one], y[one]), expected[one])
        folded = aj.jit(
            lambda zero, a=int(x[k]), b=int(y[k]): (
                zero + ours(aj.full((1,), a, dtype=dtype), aj.full((1,), b, dtype=dtype))
            )
        )
        np.testing.assert_array_equal(folded(np.zeros(1, dtype)), expected[one])


@pytest.mark.parametrize("dtype", DTYPES)
def test_unary(dtype: str) -> None:
    x = points(dtype)
    with np.errstate(all="ignore"):
        for name in ("abs", "negative", "sign", "square", "bitwise_invert"):
            numpy_name = {"bitwise_invert": "invert"}.get(name, name)
            np.testing.assert_array_equal(getattr(aj, name)(x), getattr(np, numpy_name)(x), name)


@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_casts_of_floats_saturate(source: str, dtype: str) -> None:
    values = [0.0, -0.0, 0.5, -0.5, 1.9, -1.9, 127, 128, -129, 255, 256, 2.0**31, -(2.0**31) - 1]
    values += [1e10, -1e10, 2.0**63, 9.2e18, 1e20, -1e20, np.inf, -np.inf, np.nan]
    with np.errstate(all="ignore"):
        x = np.array(values).astype(source)
    info = np.iinfo(dtype)

    def saturated(v: float) -> int:
        if np.isnan(v):
            return 0
        whole = int(v) if np.isfinite(v) else int(np.sign(v)) * 2**64
        return min(max(whole, info.min), info.max)

    expected = np.array([saturated(v) for v in x.astype(float).tolist()], dtype)
    np.testing.assert_array_equal(aj.astype(x, dtype), expected)
    for k in range(len(x)):
        np.testing.assert_array_equal(aj.astype(x[k : k + 1], dtype), expected[k : k + 1])
        value = float(x[k])
        folded = aj.jit(
            lambda zero, v=value: zero + aj.astype(aj.full((1,), v, dtype=source), dtype)
        )
        np.testing.assert_array_equal(folded(np.zeros(1, dtype)), expected[k : k + 1])


@pytest.mark.parametrize(("offset", "bound"), [(1, -_MOST), (-_MOST, 5), (1, _MOST), (-1, _MOST)])
@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.eq, operator.ge])
def test_masks_with_bounds_at_the_ends(offset: int, bound: int, compare: Any) -> None:
    """Comparisons of axes whose difference has more than 64 bits, in values and gradients."""
    x = np.arange(10.0) + 1
    holds = np.array([compare(k + offset, bound) for k in range(10)])

    def f(x: Any) -> Any:
        masked = aj.compute((10,), lambda k: aj.select(compare(k + offset, bound), x[k], -1.0))
        return aj.sum(masked * masked)

    value, gradient = aj.jit(aj.value_and_grad(f))(x)
    assert value == np.sum(np.where(holds, x, -1.0) ** 2)
    np.testing.assert_array_equal(gradient, np.where(holds, 2 * x, 0))


@pytest.mark.parametrize(
    ("scale", "offset", "bound"),
    [(1, _MOST, 5), (1, _MOST - 4, 0), (_MOST // 4, 0, 0), (-1, -_MOST, 0), (2**62, 1, 5)],
)
@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.eq, operator.ge])
def test_axes_that_wrap_in_masks(scale: int, offset: int, bound: int, compare: Any) -> None:
    """An axis times and plus constants wraps in derivatives as it does in values."""
    x = np.arange(10.0) + 1
    wrapped = np.arange(10, dtype=np.int64) * np.int64(scale) + np.int64(offset)
    holds = compare(wrapped, bound)

    def f(x: Any) -> Any:
        masked = aj.compute(
            (10,), lambda k: aj.select(compare(k * scale + offset, bound), x[k], 0.0)
        )
        return aj.sum(masked * masked)

    value, gradient = aj.jit(aj.value_and_grad(f))(x)
    assert value == np.sum(np.where(holds, x, 0) ** 2)
    np.testing.assert_array_equal(gradient, np.where(holds, 2 * x, 0))
    _, tangent = aj.jvp(f, (x,), (np.ones(10),))
    assert tangent == np.sum(np.where(holds, 2 * x, 0))


def test_indices_that_wrap_between_clamps() -> None:
    """Reads clamped after the wrap: the pieces of an index are those of its wrapped value."""
    x = np.arange(10.0) + 1
    wrapped = np.arange(10, dtype=np.int64) + np.int64(_MOST - 4)
    places = np.clip(wrapped, 0, 9)

    def f(x: Any) -> Any:
        read = aj.compute((10,), lambda k: x[aj.clip(k + (_MOST - 4), 0, 9)])
        return aj.sum(read * read)

    value, gradient = aj.jit(aj.value_and_grad(f))(x)
    assert value == np.sum(x[places] ** 2)
    expected = np.zeros(10)
    np.add.at(expected, places, 2 * x[places])
    np.testing.assert_array_equal(gradient, expected)


@pytest.mark.parametrize(
    ("index", "inside", "places", "outside"),
    [
        (lambda at: aj.minimum(at + 2, 7), [0, 3, 6, _MOST - 2], [2, 5, 7, 7], _MOST - 1),
        (lambda at: aj.minimum(at * 3, 7), [0, 2, 7, _MOST // 3], [0, 6, 7, 7], _MOST // 3 + 1),
        (lambda at: aj.minimum(aj.abs(-2 - at), 7), [0, 1, 9, _MOST - 2], [2, 3, 7, 7], _MOST - 1),
    ],
)
def test_reads_at_sums_of_data_that_wrap_are_checked(
    index: Any, inside: list[int], places: list[int], outside: int
) -> None:
    """`at >= 0` bounds no sum of it: what wraps is an index below zero, and no read of it."""
    x = np.arange(8.0)

    def f(x: Any, at: Any) -> Any:
        return aj.compute((4,), lambda k: aj.select(at[k] >= 0, x[index(at[k])], 0.0))

    np.testing.assert_array_equal(aj.jit(f)(x, np.array(inside)), x[places])
    with pytest.raises(aj.BoundsError, match=r"index -\d+ of dimension 0"):
        aj.jit(f)(x, np.array([*inside[:3], outside]))


_FAR = 2**62


@pytest.mark.parametrize(
    ("statement", "value", "slope"),
    [
        # Against NumPy's int64: k * 2^62 is 0, 2^62, -2^63, -2^62, 0, ...
        ("y() +=! x(k) * x(k) where k in 0:8, k * FAR < 5", "sum(x * x * below)", "2 * x * below"),
        ("y() +=! x(k) where k in 0:8, q = k * FAR // 4, q == 0", "sum(x * zero)", "zero"),
        ("y() +=! x(k) where k in 0:8, k * FAR % 3 == 0, k < 5", "sum(x * third)", "third"),
        ("y() max=! x(k) where k in 0:8, k * FAR < 5, k < 6", "x[4]", "(k == 4) * 1.0"),
        ("y(k) = x(k) where k in 0:8, k * FAR < 5", "x * below", "1.0 * below"),
        ("y(k) = x(k) where k in 0:8, k + MOST < 5", "x * (k > 0)", "(k > 0) * 1.0"),
        ("y(k) = x(k) where k in 0:8, k - MOST < MOST", "x", "k * 0 + 1.0"),
        ("y(k) = x(k) y(k) = x(k) * 3 where k * FAR < 5", "x + 2 * x * below", "1.0 + 2 * below"),
        ("y(k) = x(k) y(k) += x(k) where k * FAR < 5", "x + x * below", "1.0 + below"),
        (
            "scatter double(8) y(7 - k) +=! x(k) where k in 0:8, k * FAR < 5",
            "(x * below)[::-1]",
            "1.0 * below",
        ),
    ],
)
def test_conditions_on_domains_wrap(statement: str, value: str, slope: str) -> None:
    """What is no row of a domain, since it may leave int64, is asked at each point."""
    x, k = np.arange(8.0) + 1, np.arange(8)
    with np.errstate(over="ignore"):
        far = k * np.int64(_FAR)
    names = {"x": x, "k": k, "sum": np.sum, "below": far < 5, "zero": far // 4 == 0}
    names["third"] = (far % 3 == 0) & (k < 5)
    text = statement.replace("FAR", str(_FAR)).replace("MOST", str(_MOST))
    f = aj.define(f"def f(double(8) x) -> (y) {{ {text} }}").f
    expected, derivative = (eval(e, {}, names) for e in (value, slope))

    def total(x: Any) -> Any:
        return aj.sum(f(x))

    np.testing.assert_array_equal(f(x), expected)
    np.testing.assert_array_equal(aj.grad(total)(x), derivative * 1.0)
    both = aj.value_and_grad(total)(x)
    assert both[0] == np.sum(expected)
    np.testing.assert_array_equal(both[1], derivative * 1.0)


@pytest.mark.parametrize(
    ("statement", "who"),
    [
        ("(y, at)() argmax=! (x(k), k) where k in 0:8, k * FAR < 5", "argmax"),
        ("scatter double(8) y(7 - k) = x(k) where k in 0:8, k * FAR < 5", "a scatter that sets"),
    ],
)
def test_conditions_that_must_be_rows_name_their_line(statement: str, who: str) -> None:
    module = aj.define(f"def f(double(8) x) -> (y) {{\n {statement.replace('FAR', str(_FAR))}\n}}")
    for g in (module.f, aj.grad(lambda x: aj.sum(module.f(x)))):
        with pytest.raises(aj.ParseError, match=f":2:.*leaves 64 bits, and {who}"):
            g(np.arange(8.0))


#: Quotients by huge divisors and multiples near 2^63, which gradients ask conditions of.
_DIVISOR = 3074457345618258605
_FAR_INDICES = {
    "quotient": ((6,), f"min(max((i * -2 + 3) // {_DIVISOR}, 0), 5)"),
    "multiple": ((6,), "min(max(i * -2147483649 * 4294967296 + 5, 0), 5)"),
    "quotient beside a mirror": (
        (6, 5),
        f"min(max((i * -2 + 3) // {_DIVISOR}, 0), 5), "
        "min(max(abs(abs(i * 3 - 2) * -1 + 4) * -1 + 4, 0), 4)",
    ),
    "quotient behind a clamp": (
        (1, 6),
        f"min(max(i * -2147483649, 0), 0), min(max((i * -2 + 3) // {_DIVISOR}, 0), 5)",
    ),
    "all of them": (
        (1, 6, 5),
        f"min(max(i * -2147483649, 0), 0), min(max((i * -2 + 3) // {_DIVISOR}, 0), 5), "
        "min(max(abs(abs(i * 3 - 2) * -1 + 4) * -1 + 4, 0), 4)",
    ),
}


@pytest.mark.parametrize("name", _FAR_INDICES)
def test_gradients_of_far_indices(name: str) -> None:
    """Each element of x gets as many ones as points read it: conditions do not wrap."""
    shape, index = _FAR_INDICES[name]
    extents = ", ".join(map(str, shape))
    f = aj.define(f"def f(double({extents}) x) -> (y) {{ y(i) = x({index}) where i in 0:3 }}").f
    x = np.arange(np.prod(shape), dtype=np.float64).reshape(shape) + 1
    read = aj.jit(f)(x)
    expected = np.array([np.count_nonzero(read == element) for element in x.ravel()])
    gradient = aj.jit(aj.grad(lambda x: aj.sum(f(x))))(x)
    np.testing.assert_array_equal(gradient, expected.reshape(shape))
    assert expected.sum() == 3
