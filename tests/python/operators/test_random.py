"""Random draws at the ends: half-open intervals in every dtype, probabilities 0 and 1, seeds."""

from __future__ import annotations

import math
from typing import Any

import adjit as aj
import numpy as np
import pytest

ml_dtypes = pytest.importorskip("ml_dtypes")

DTYPES = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
    "float64": np.float64,
}
# Ends that round in some dtype, that are far apart or close, that meet at zero.
INTERVALS = [
    (0.0, 1.0),
    (2.0, 3.0),
    (-1.0, 0.0),
    (-1.0, 1.0),
    (-3.0, 5.0),
    (0.1, 0.7),
    (-0.7, -0.1),
    (1000.1, 1048.7),
    (-60000.0, 60000.0),
    (0.0, 1e-3),
    (-1e-3, 2e-3),
    (1.0, 1.0 + 2**-6),
]


def draw(low: float, high: float, dtype: str, count: int = 100_000, seed: int = 3) -> Any:
    u = aj.random.uniform(aj.random.key(seed), (count,), dtype=dtype, minval=low, maxval=high)
    return np.asarray(u).astype(np.float64)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("low", "high"), INTERVALS)
def test_uniform_is_half_open_and_even(low: float, high: float, dtype: str) -> None:
    u = draw(low, high, dtype)
    assert low <= u.min() and u.max() < high
    # Whatever the grid of the dtype, every tenth of its numbers is drawn as often as another.
    numbers = np.unique(u)
    step = max(np.diff(numbers).min(), (high - low) * 2**-20)
    count = round((numbers[-1] - numbers[0]) / step) + 1
    bins = np.floor((u - numbers[0]) / step * 10 / count + 1e-9)
    weights = np.diff(np.ceil(np.arange(11) * count / 10 - 1e-9))  # numbers in each tenth
    found, expected = np.bincount(bins.astype(int), minlength=10), weights / count * len(u)
    deviation = (found - expected) / np.sqrt(np.maximum(expected, 1))
    assert np.abs(deviation[expected > 0]).max() < 5.5


@pytest.mark.parametrize("dtype", DTYPES)
def test_uniform_with_few_numbers_draws_each_alike(dtype: str) -> None:
    digits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}[dtype]
    low = 2.0 ** (digits - 1)  # the step of the numbers from here on is 1
    numbers, counts = np.unique(draw(low, low + 5, dtype), return_counts=True)
    assert numbers.tolist() == [low + k for k in range(5)]
    assert np.abs(counts - 20_000).max() < 5.5 * math.sqrt(20_000)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniform_over_the_whole_range(dtype: str) -> None:
    most = float(np.finfo(dtype).max)
    u = draw(-most, most, dtype)
    assert np.isfinite(u).all() and u.max() < most
    assert 0.45 < (u < 0).mean() < 0.55 and np.abs(u).max() > 0.99 * most
    tiny = float(np.finfo(dtype).tiny)
    assert set(draw(0.0, 4 * tiny, dtype) / tiny) == {0, 1, 2, 3}


def test_uniform_of_one_number_and_of_none() -> None:
    assert set(draw(1.0, 1.0, "float32", 10)) == {1.0}
    assert set(draw(1.0, 1.0 + 2**-30, "float32", 10)) == {1.0}
    with pytest.raises(aj.Error, match=r"no number of type float16 in \[1\.0001, 1\.0002\)"):
        draw(1.0001, 1.0002, "float16", 10)
    with pytest.raises(aj.Error, match=r"\[2, 1\)"):
        draw(2.0, 1.0, "float32", 10)
    with pytest.raises(aj.Error, match="exceeds the range of float16"):
        draw(0.0, 1e5, "float16", 10)
    for end in (math.inf, math.nan):
        with pytest.raises(aj.Error, match="finite"):
            draw(0.0, end, "float64", 10)


def test_uniform_keeps_its_numbers() -> None:
    """Those of [0, 1) are whole numbers of 24 and 53 bits from the generator's words."""
    key, shape = aj.random.key(5), (1000,)
    words = np.asarray(aj.random.bits(key, shape))
    u = np.asarray(aj.random.uniform(key, shape))
    np.testing.assert_array_equal(u, ((words >> 8) * 2.0**-24).astype(np.float32))
    wide = np.asarray(aj.random.uniform(key, shape, dtype="float64"))
    np.testing.assert_array_equal(np.floor(wide * 2**27), words >> 5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_normal_is_finite(dtype: str) -> None:
    z = np.asarray(aj.random.normal(aj.random.key(1), (1_000_000,), dtype=dtype)).astype(float)
    assert np.isfinite(z).all() and np.abs(z).max() > 4
    assert abs(z.mean()) < 0.006 and abs(z.std() - 1) < 0.006


def test_probabilities_at_the_ends() -> None:
    key, shape = aj.random.key(2), (1_000_000,)
    assert not np.asarray(aj.random.bernoulli(key, p=0.0, shape=shape)).any()
    assert np.asarray(aj.random.bernoulli(key, p=1.0, shape=shape)).all()
    for p in (-0.1, 1.1, math.nan):
        with pytest.raises(aj.Error, match="p lies between 0 and 1"):
            aj.random.bernoulli(key, p=p, shape=shape)
        with pytest.raises(aj.Error, match="p lies between 0 and 1"):
            aj.nn.dropout(np.ones(3, np.float32), p, key)


@pytest.mark.parametrize("special", [1.0, math.inf, math.nan])
def test_dropout_of_nothing_and_of_all(special: float) -> None:
    key, x = aj.random.key(2), np.full(1000, special, np.float32)
    none, gradient = aj.value_and_grad(lambda x: aj.sum(aj.nn.dropout(x, 1.0, key)))(x)
    assert none == 0 and not gradient.any()
    np.testing.assert_array_equal(aj.nn.dropout(x, 0.0, key), x)
    kept = np.asarray(aj.nn.dropout(x, 1 - 2**-30, key))
    assert not kept.any()  # 1 - p is below what 24 bits draw


def test_seeds_at_the_ends() -> None:
    words = [np.asarray(aj.random.key(s)) for s in (0, 1, -1, 2**32, 2**63 - 1, -(2**63))]
    assert len({tuple(w) for w in words}) == len(words)
    for w in words:
        assert (w >= 0).all() and (w < 2**32).all()
    for seed in (1.5, 2.0**63, 2**63, 2**64, np.float32(2)):
        with pytest.raises(aj.Error, match="a seed is an integer"):
            aj.random.key(seed)


def test_an_int_beyond_int64_is_a_float_of_its_value() -> None:
    for n in (2**63, 2**64 - 1, 2**64, 2**70):
        np.testing.assert_array_equal(aj.multiply(np.ones(3), n), np.full(3, float(n)))
