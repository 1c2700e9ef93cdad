"""Sums over pairs whose gradients share the pairs' values, beside NumPy in float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import adjit as aj
import numpy as np
import pytest
from conftest import Run


def kernel_sum(n: int, m: int, dimensions: int, columns: int) -> Any:
    """u_i = sum_j exp(-|x_i - y_j|^2) b_j."""

    def forward(x: Any, y: Any, b: Any) -> Any:
        j, k = aj.reduce_axis(m), aj.reduce_axis(dimensions)
        squares = aj.compute((n, m), lambda i, j: aj.sum((x[i, k] - y[j, k]) ** 2, axis=k))
        return aj.compute(
            (n, columns), lambda i, c: aj.sum(aj.exp(-squares[i, j]) * b[j, c], axis=j)
        )

    return forward


def gradients(x: Any, y: Any, b: Any, g: Any) -> list[Any]:
    """The same in float64 by NumPy."""
    x, y, b, g = (a.astype(np.float64) for a in (x, y, b, g))
    weights = np.exp(-((x[:, None] - y[None]) ** 2).sum(2))
    of_squares = -weights * (g @ b.T)
    return [
        2 * (of_squares.sum(1)[:, None] * x - of_squares @ y),
        2 * (of_squares.sum(0)[:, None] * y - of_squares.T @ x),
        weights.T @ g,
    ]


@pytest.mark.parametrize(
    ("n", "m", "dimensions", "columns", "dtype"),
    [
        (1000, 1001, 3, 4, np.float32),
        (1999, 1301, 2, 1, np.float32),
        (1203, 2000, 4, 3, np.float64),
        (1500, 1700, 8, 2, np.float32),
    ],
)
def test_gradients_of_kernel_sums(
    n: int, m: int, dimensions: int, columns: int, dtype: Any
) -> None:
    random = np.random.default_rng(5)
    x, y, b, g = (
        random.standard_normal(shape).astype(dtype)
        for shape in ((n, dimensions), (m, dimensions), (m, columns), (n, columns))
    )
    forward = kernel_sum(n, m, dimensions, columns)

    def pull(g: Any, *args: Any) -> Any:
        return aj.vjp(forward, *args)[1](g)

    lowered = aj.lower(pull, g, x, y, b)
    assert '"materialize_common"' in lowered.schedule_json
    for found, expected in zip(lowered.compile()(g, x, y, b), gradients(x, y, b, g), strict=True):
        tolerance = 2e-5 if dtype == np.float32 else 1e-12
        np.testing.assert_allclose(found, expected, atol=tolerance * np.abs(expected).max())


# What each pair has passes from stage to stage in blocks of rows, one a thread, never as a whole.
def test_no_array_of_all_pairs_is_kept(python: Run) -> None:
    program = f"""
import os, sys
os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
sys.path[:0] = [{str(Path(__file__).parent)!r}, {str(Path(__file__).parents[1])!r}]
import adjit as aj, numpy as np
from test_shared_pairs import kernel_sum
shapes = [(2000, 4), (2000, 3), (3000, 3), (3000, 4)]
g, x, y, b = (np.zeros(shape, np.float32) for shape in shapes)
pull = lambda g, *args: aj.vjp(kernel_sum(2000, 3000, 3, 4), *args)[1](g)
print(aj.lower(pull, g, x, y, b).compile().report["workspace_bytes"])
"""
    assert int(python(program).stdout) < 2000 * 3000 * 4 // 4
