"""What docs/numerics.md promises of single operations."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import adjit as aj
import mpmath
import numpy as np
import pytest

RNG = np.random.default_rng(17)


def _same(got: Any, right: Any) -> None:
    """Equal numbers, equal signs of zeros, NaN where NaN is."""
    got, right = np.asarray(got), np.asarray(right)
    np.testing.assert_array_equal(got, right)
    numbers = ~np.isnan(right)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(right[numbers]))


def _operands(dtype: Any) -> tuple[Any, Any]:
    """Quotients from 0 to beyond the mantissa, those beside integers, and every special pair."""
    top = {np.float16: 4, np.float32: 8, np.float64: 18}[dtype]
    a = RNG.uniform(-1, 1, 4000) * 10.0 ** RNG.uniform(0, top, 4000)
    b = RNG.uniform(0.05, 9, 4000) * RNG.choice([-1, 1], 4000)
    a[::4] = np.round(a[::4] / b[::4]) * b[::4]
    ends = np.array([0.0, -0.0, 1, -1, 0.1, -3, np.inf, -np.inf, np.nan])
    x, y = np.meshgrid(ends, ends)
    return (
        np.concatenate([a, x.ravel()]).astype(dtype),
        np.concatenate([b, y.ravel()]).astype(dtype),
    )


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_remainders_are_numpys(dtype: Any) -> None:
    a, b = _operands(dtype)
    with np.errstate(all="ignore"):
        _same(aj.remainder(a, b), np.remainder(a, b))
        _same(aj.jit(lambda a, b: a % b)(a, b), np.remainder(a, b))
        _same(aj.fmod(a, b), np.fmod(a, b))
        quotient = np.floor_divide(a, b)
    got = np.asarray(aj.floor_divide(a, b))
    # Exact up to the mantissa's integers (NumPy's may be one off near there), rounded beyond.
    counted = np.isfinite(quotient) & np.isfinite(b)
    for x, y, found in zip(a[counted], b[counted], got[counted], strict=True):
        exact = math.floor(Fraction(float(x)) / Fraction(float(y)))
        room = 0 if abs(exact) < 2 / np.finfo(dtype).eps else abs(exact) * np.finfo(dtype).eps
        assert abs(int(found) - exact) <= room, (x, y)
    _same(got[~counted], quotient[~counted])


def test_remainders_in_every_phrasing() -> None:
    a, b = np.array([1e17, -1e17, 0.3, 1e300]), np.array([3.0, 3.0, 0.1, 7.0])
    right = np.remainder(a, b)
    _same(right[:2], [1.0, 2.0])
    notation = aj.compute((4,), lambda i: aj.at(a, i) % aj.at(b, i))
    text = aj.define("def f(float64(N) A, float64(N) B) -> (Y) { Y(i) = A(i) % B(i) }")
    folded = aj.compute((1,), lambda i: (1e17 + 0.0 * aj.at(a, i)) % 3.0)
    _same(notation, right)
    _same(text.f(a, b), right)
    _same(folded, [1.0])
    _same(aj.jit(lambda: aj.full((1,), 1e17) % 3.0)(), [1.0])


def test_remainders_of_bfloat16() -> None:
    torch = pytest.importorskip("torch")
    a = torch.tensor(RNG.uniform(-1e4, 1e4, 1000)).to(torch.bfloat16)
    b = torch.tensor(RNG.uniform(0.1, 9, 1000)).to(torch.bfloat16)
    got = aj.jit(aj.remainder)(a, b)
    exact = np.remainder(a.double().numpy(), b.double().numpy())
    rounded = torch.tensor(exact).to(torch.bfloat16)
    assert torch.equal(torch.as_tensor(got), rounded)


def test_gradients_of_remainders() -> None:
    a, b = np.array([1e15, -7.5, 0.3, 3e9]), np.array([3.0, 2.0, 0.1, 7.0])
    da, db = aj.grad(lambda a, b: aj.sum(aj.remainder(a, b)), argnums=(0, 1))(a, b)
    np.testing.assert_array_equal(da, 1)
    np.testing.assert_array_equal(db, -np.floor_divide(a, b))
    da, db = aj.grad(lambda a, b: aj.sum(aj.fmod(a, b)), argnums=(0, 1))(a, b)
    np.testing.assert_array_equal(da, 1)
    np.testing.assert_array_equal(db, -np.round((a - np.fmod(a, b)) / b))


# The greatest element less itself is 0, however large and however it was computed.
@pytest.mark.parametrize("scale", [1e3, 1e7, 1e10, 1e20, 1e30])
def test_differences_are_of_rounded_values(scale: float) -> None:
    x = np.array([scale, scale, scale / 2], np.float32)
    factor = np.float32(0.7)
    k = aj.reduce_axis(3)

    def notation(x: Any) -> Any:
        top = aj.compute((), lambda: aj.max(x[k] * factor, axis=k))
        return aj.compute((3,), lambda i: aj.exp(x[i] * factor - top[()]))

    np.testing.assert_array_equal(aj.jit(notation)(x), [1, 1, 0])
    soft = aj.jit(lambda x: aj.nn.softmax(x * 0.7))
    np.testing.assert_array_equal(soft(x), [0.5, 0.5, 0])
    np.testing.assert_allclose(
        aj.grad(lambda x: aj.logsumexp(x * 0.7))(x), [0.35, 0.35, 0], rtol=1e-6
    )


def test_products_cancel_exactly() -> None:
    x = (RNG.normal(size=4096) * 3).astype(np.float32)
    y = RNG.normal(size=4096).astype(np.float32)
    cross = aj.compute((4096,), lambda i: aj.at(x, i) * aj.at(y, i) - aj.at(y, i) * aj.at(x, i))
    np.testing.assert_array_equal(cross, 0)
    squares = aj.jit(lambda x, y: aj.compute((4096,), lambda i: aj.sqrt(x[i] * x[i] - y[i] * y[i])))
    np.testing.assert_array_equal(squares(x, x.copy()), 0)


def _positive(size: int) -> dict[str, Any]:
    """Numbers of one sign: alike, of all sizes, and one that swallows the others."""
    return {
        "alike": np.full(size, 0.1, np.float32),
        "uniform": RNG.uniform(0, 1, size).astype(np.float32),
        "skewed": (RNG.exponential(size=size) ** 4).astype(np.float32),
        "swallowed": np.concatenate([[1.0], np.full(size - 1, 2.0**-25)]).astype(np.float32),
    }


@pytest.mark.parametrize("size", [1024, 1027, 65536, 1_000_003, 1 << 24])
def test_long_sums_are_exact_to_two_to_the_minus_22(size: int) -> None:
    for name, x in _positive(size).items():
        exact = x.astype(np.float64).sum()
        assert abs(float(aj.sum(x)) / exact - 1) <= 2.0**-22, name
        assert abs(float(aj.jit(aj.mean)(x)) / (exact / size) - 1) <= 2.0**-22, name
        squares = (x.astype(np.float64) ** 2).sum()
        assert abs(float(aj.jit(lambda x: aj.sum(x * x))(x)) / squares - 1) <= 2.0**-21, name


@pytest.mark.parametrize("length", [4096, 4101, 4223, 100_003])
def test_long_sums_along_rows(length: int) -> None:
    for name, x in _positive(length).items():
        table = np.stack([np.roll(x, 7 * row) for row in range(9)])
        got = np.asarray(aj.jit(lambda t: aj.sum(t, axis=1))(table))
        assert np.max(np.abs(got / x.astype(np.float64).sum() - 1)) <= 2.0**-22, name


# Over a batch, as gradients of biases are; 16 columns have lanes of their own.
@pytest.mark.parametrize("columns", [3, 16])
def test_long_sums_over_an_outer_axis(columns: int) -> None:
    for name, x in _positive(100_000).items():
        table = np.repeat(x[:, None], columns, 1)
        exact = x.astype(np.float64).sum()
        got = np.asarray(aj.jit(lambda t: aj.sum(t, axis=0))(table))
        assert np.max(np.abs(got / exact - 1)) <= 2.0**-22, name
        slope = aj.grad(lambda b, t: aj.sum(t * (b + 1.0)))(np.zeros(columns, np.float32), table)
        assert np.max(np.abs(np.asarray(slope) / exact - 1)) <= 2.0**-22, name


def _worst_ulp(function: Any, exact: Any, x: Any) -> tuple[float, float]:
    got = np.asarray(aj.jit(function)(x))
    digits = np.finfo(x.dtype).nmant + 1
    worst = (0.0, 0.0)
    for at, value in zip(x.tolist(), got.tolist(), strict=True):
        right = exact(mpmath.mpf(at))
        unit = mpmath.ldexp(1, mpmath.frexp(abs(right))[1] - digits)
        worst = max(worst, (float(abs(mpmath.mpf(value) - right) / unit), at))
    return worst


# Beside multiples of pi / 2, and beyond what the reduction in the code serves (2^30, 2^15).
@pytest.mark.parametrize(("dtype", "bounds"), [(np.float64, (1.0, 2.5)), (np.float32, (1.6, 3.0))])
def test_circular_functions_beside_their_zeros_and_poles(dtype: Any, bounds: Any) -> None:
    with mpmath.workdps(60):
        turns = np.unique(np.exp2(RNG.uniform(0, 40, 400)).astype(np.int64))
        near = [float(int(k) * mpmath.pi / 2) for k in turns]
        x = np.array([*near, 45.553093477052], dtype)
        x = np.concatenate([x, np.nextafter(x, dtype(0)), -x])
        rows = ((aj.sin, mpmath.sin), (aj.cos, mpmath.cos), (aj.tan, mpmath.tan))
        for k, (function, exact) in enumerate(rows):
            error, at = _worst_ulp(function, exact, x)
            assert error <= bounds[k // 2], f"{function.__name__}({at!r}): {error} ulp"
