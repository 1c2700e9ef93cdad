"""Concatenations and stacks of many arrays, and what reads them, beside NumPy."""

from __future__ import annotations

from collections.abc import Callable

import adjit as aj
import numpy as np
import pytest

WIDTHS: dict[str, Callable[[int], int]] = {
    "equal": lambda k: 6,
    "ones": lambda k: 1,
    "mixed": lambda k: 1 + (k * 5) % 9,
    "some_empty": lambda k: (k * 5) % 4,
}


def parts(count: int, widths: str, other: tuple[int, ...], axis: int) -> list[np.ndarray]:
    rng = np.random.default_rng(count)
    arrays = []
    for k in range(count):
        shape = list(other)
        shape.insert(axis, WIDTHS[widths](k))
        arrays.append(rng.standard_normal(shape))
    return arrays


@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("count", [8, 9, 33])
@pytest.mark.parametrize(("other", "axis"), [((5,), 0), ((5,), 1), ((3, 17), 1), ((33, 2), 2)])
def test_concat(widths: str, count: int, other: tuple[int, ...], axis: int) -> None:
    xs = parts(count, widths, other, axis)
    joined = np.concatenate(xs, axis=axis)

    def both(*arrays: aj.Tensor) -> tuple[aj.Tensor, ...]:
        y = aj.concat(arrays, axis=axis)
        computed = aj.concat([aj.sin(x) for x in arrays], axis=axis)
        return y, aj.flip(y, axis) * 2, computed, aj.sum(y, axis=axis)

    found = aj.jit(both)(*xs)
    wanted = joined, np.flip(joined, axis) * 2, np.sin(joined), joined.sum(axis)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)

    weights = np.arange(joined.size, dtype=float).reshape(joined.shape)
    loss = lambda *arrays: aj.sum(aj.concat(arrays, axis=axis) ** 2 * weights)  # noqa: E731
    slopes = aj.grad(loss, argnums=tuple(range(count)))(*xs)
    cuts = np.cumsum([x.shape[axis] for x in xs])[:-1]
    for a, b in zip(slopes, np.split(2 * joined * weights, cuts, axis=axis), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "int8", "uint8", "bool"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_stack_of_every_dtype(dtype: str, axis: int) -> None:
    rng = np.random.default_rng(3)
    xs = [(rng.standard_normal((7, 19)) * 9).astype(np.int8).astype(dtype) for _ in range(21)]
    found = aj.jit(lambda *arrays: aj.stack(arrays, axis=axis))(*xs)
    np.testing.assert_array_equal(found, np.stack(xs, axis=axis))


def test_parts_of_any_layout() -> None:
    """Transposed, reversed, strided, and one of them several times."""
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((16, 6)), rng.standard_normal((6, 32))
    xs = [a, a[::-1], np.asfortranarray(a), b.T[::2], a, b.T[16:], a[:3], a[3:], a[::-1]]
    found = aj.jit(lambda *arrays: aj.concat(arrays, axis=0))(*xs)
    np.testing.assert_array_equal(found, np.concatenate(xs, axis=0))


def test_rows_made_one_by_one() -> None:
    """A Python loop over rows whose results are stacked computes each row once."""
    x = np.random.default_rng(5).standard_normal((40, 32))
    rows = aj.lower(lambda t: aj.stack([aj.tanh(t[k] * 2) for k in range(len(x))]), x)
    np.testing.assert_allclose(rows.compile()(x), np.tanh(x * 2), rtol=1e-14)
    kernels = rows.explain().count("\nkernel ")
    assert kernels > 1, "rows that are computed in the join are computed, or chosen from, 40 times"
