"""An index out of range is an error, also where the gather becomes a part of a window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import adjit as aj
import numpy as np
import pytest

_X = np.arange(10.0)
_W = np.full(6, 0.3)
_FAR = np.array([50, 1, 2, 3, 4, 5])
_EDGE = np.array([9, 1, 2, 3, 4, 5])  # one more is out of range
_MASK = np.array([False, True, True, True, True, True])


def _of_slices(x: Any, w: Any, i: Any) -> Any:
    x, w, i = (aj.asarray(a) for a in (x, w, i))
    a = aj.compute((6,), lambda k: x[i[k]])
    b = aj.compute((6,), lambda k: x[i[k] + 1])
    return aj.compute((5,), lambda k: (1 - w[k]) * a[k + 1] + w[k] * b[k + 1])


def _beside_a_window(x: Any, w: Any, i: Any) -> Any:
    near = aj.clip(i, 0, 8)
    return (1 - w) * x[near] + w * x[near + 1] + aj.where(_MASK, x[i + 1], 0.0)


@pytest.mark.parametrize(
    ("f", "index"),
    [
        (lambda x, w, i: w * x[i] + (1 - w) * x[i + 1], _EDGE),
        (lambda x, w, i: (w * x[i] + (1 - w) * x[i + 1])[1:], _FAR),
        (lambda x, w, i: w[1:] * (2 * x[i])[1:] + (3 * x[i + 1])[1:], _FAR),
        (_of_slices, _FAR),
        (_beside_a_window, _EDGE),
        (lambda x, w, i: w * x[i] + 0.0 * x[i + 1], _EDGE),
        (lambda x, w, i: w * x[i] + (x[i + 1] - x[i + 1]), _EDGE),
        (lambda x, w, i: w * x[i] + aj.where(_MASK, 1.0, 0.0) * x[i + 1], _EDGE),
        (lambda x, w, i: w * x[i] + aj.where(aj.arange(6) > 0, 1.0, 0.0) * x[i + 1], _EDGE),
        (lambda x, w, i: x[i] + w * (x[i + 1] - x[i]), _EDGE),
    ],
)
def test_an_index_out_of_range_is_an_error(f: Callable[..., Any], index: Any) -> None:
    good = np.clip(index, 0, 8)
    aj.jit(f)(_X, _W, good)
    with pytest.raises(aj.BoundsError, match="out of range 0:10"):
        aj.jit(f)(_X, _W, index)
    with pytest.raises(aj.BoundsError, match="out of range 0:10"):
        aj.value_and_grad(lambda x, w: aj.sum(f(x, w, index)))(_X, _W)


@pytest.mark.parametrize("ways", [3, 8, 9, 20])
def test_a_read_of_many_branches_is_checked_where_one_is_taken(ways: int) -> None:
    """The place is out of range only where no branch reads: no error, whatever their number."""
    places = np.where(np.arange(30) < ways, np.arange(30) % 10, 77)

    def f(x: Any, places: Any) -> Any:
        def body(k: Any) -> Any:
            value = aj.sin(x[places[k]])
            terms = [aj.select(k == n, value * (n + 1.0), 0.0) for n in range(ways)]
            return sum(terms[1:], terms[0])

        return aj.compute((30,), body)

    number = np.arange(30) + 1.0
    expected = np.where(np.arange(30) < ways, np.sin(_X[places % 10]) * number, 0)
    np.testing.assert_allclose(aj.jit(f)(_X, places), expected, rtol=1e-14)
    gradient = aj.jit(aj.grad(lambda x, p: aj.sum(f(x, p))))(_X, places)
    slope = np.zeros(10)
    np.add.at(slope, places[:ways], np.cos(_X[places[:ways]]) * number[:ways])
    np.testing.assert_allclose(gradient, slope, rtol=1e-14)
    places[ways - 1] = 77
    with pytest.raises(aj.BoundsError, match="77"):
        aj.jit(f)(_X, places)
