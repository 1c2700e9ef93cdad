"""Indices of numbers near the ends of int64, values and gradients against NumPy's int64."""

from __future__ import annotations

import random
import re
from typing import Any

import adjit as aj
import numpy as np
import pytest

_PROGRAMS = 20  # a seed


def _number(draw: random.Random) -> int:
    """Small, or beside an end, a half, a third, a quarter of the range, or a power of two."""
    if draw.randrange(6) == 0:
        return draw.randint(-6, 6)
    end = 2**63
    base = draw.choice([end - 1, end // 2, end // 3, end // 4, 2**61, 2**33, 2**31])
    value = min(base // draw.choice([1, 1, 2, 3]) + draw.randint(-6, 6), end - 1)
    return value if draw.random() < 0.5 else -value


def _coordinate(draw: random.Random) -> str:
    one_axis = f"{draw.choice('ij')} * {_number(draw)} + {_number(draw)}"
    both = f"i * {_number(draw)} + j * {_number(draw)} + {_number(draw)}"
    form = one_axis if draw.random() < 0.7 else both
    divisor = abs(_number(draw)) or 1
    return draw.choice(
        [
            form,
            f"({form}) // {divisor}",
            f"({form}) % {divisor}",
            f"abs({form})",
            f"({form}) // {divisor} + {draw.choice('ij')}",
        ]
    )


def _index(draw: random.Random, extent: int) -> str:
    at, last = _coordinate(draw), extent - 1
    return draw.choice(
        [
            f"min(max({at}, 0), {last})",
            f"max(min({at}, {last}), 0)",
            f"({at}) % {extent}",
            f"min(max(abs(abs({at}) * -1 + {last}) * -1 + {last}, 0), {last})",
        ]
    )


def _value(index: str, rows: int, columns: int) -> Any:
    """What NumPy makes of it, which wraps as the generated code does."""
    i, j = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    names = {"i": i, "j": j, "min": np.minimum, "max": np.maximum, "abs": np.abs, "np": np}
    typed = re.sub(r"(?<![\w.])(\d+)", r"np.int64(\1)", index)
    with np.errstate(all="ignore"):
        return np.broadcast_to(eval(typed, names), i.shape)


@pytest.mark.parametrize("seed", range(6))
def test_values_and_gradients(seed: int) -> None:
    """Every point reads the element that NumPy says, and gives its cotangent to it."""
    draw = random.Random(seed)
    for _ in range(_PROGRAMS):
        rows, columns = draw.choice([1, 2, 3, 5]), draw.choice([1, 2, 4])
        shape = draw.choice([1, 2, 6]), draw.choice([1, 3, 5])
        first, second = (_index(draw, extent) for extent in shape)
        text = (
            f"def f(double({shape[0]}, {shape[1]}) x) -> (y) {{ "
            f"y(i, j) = x({first}, {second}) where i in 0:{rows}, j in 0:{columns} }}"
        )
        f = aj.define(text).f
        x = np.arange(shape[0] * shape[1], dtype=np.float64).reshape(shape) + 1
        read = x[_value(first, rows, columns), _value(second, rows, columns)]
        np.testing.assert_array_equal(aj.jit(f)(x), read, err_msg=text)
        reads = np.array([np.count_nonzero(read == element) for element in x.ravel()])
        gradient = aj.jit(aj.grad(lambda x, f=f: aj.sum(f(x))))(x)
        np.testing.assert_array_equal(gradient, reads.reshape(shape), err_msg=text)
