"""docs/limits.md: what is refused raises what it says, and numbers are those of the code."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import adjit as aj
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "limits.md").read_text()
X = np.linspace(0.5, 1.5, 4, dtype=np.float32)


def _rows(heading: str) -> list[list[str]]:
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def _halved(x: Any) -> Any:
    return aj.while_loop(lambda c: aj.sum(c) > 1.0, lambda c: c * 0.5, x)


def _by_hand() -> Any:
    f = aj.custom_vjp(lambda x: x * x)
    f.defvjp(lambda x: (x * x, x), lambda x, g: (2 * x * g,))
    return f


REFUSED: dict[str, tuple[type[Exception], Callable[[], Any]]] = {
    "a tensor whose bytes": (
        aj.ShapeError,
        lambda: aj.jit(lambda x: aj.broadcast_to(x[:1], shape=(2**62,)))(X),
    ),
    "a derivative by an integer": (
        aj.NotDifferentiableError,
        lambda: aj.grad(aj.sum)(np.arange(3)),
    ),
    "`grad` of a result": (aj.ShapeError, lambda: aj.grad(lambda x: x * x)(X)),
    "reverse mode through `while_loop`": (
        aj.NotDifferentiableError,
        lambda: aj.grad(lambda x: aj.sum(_halved(x)))(X),
    ),
    "forward mode through": (aj.NotDifferentiableError, lambda: aj.jvp(_by_hand(), (X,), (X,))),
    "an affine index": (
        aj.BoundsError,
        lambda: aj.jit(lambda x: aj.compute((4,), lambda i: x[i + 1]))(X),
    ),
    "an index that is data": (
        aj.BoundsError,
        lambda: aj.jit(lambda x, i: aj.take(x, i))(X, np.array([7])),
    ),
    "a float type beside": (aj.DTypeError, lambda: aj.jit(lambda x, y: x + y)(X, X.astype(float))),
    "a memory budget": (
        aj.ScheduleError,
        lambda: aj.jit(lambda x: aj.tanh(x @ x) @ x, memory_budget=1)(np.ones((64, 64))),
    ),
    "a schedule whose moves": (
        aj.ScheduleError,
        lambda: aj.lower(aj.exp, X).with_schedule('[{"move": "inline", "stages": ["exp"]}]'),
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals_raise_what_the_page_says(what: str) -> None:
    (row,) = (row for row in _rows("What is refused") if row[0].startswith(what))
    expected, call = REFUSED[what]
    assert expected.__name__ in row[1]
    with pytest.raises(expected):
        call()


@pytest.mark.parametrize("heading", ["How large things may be", "How far a proof goes"])
def test_numbers_are_those_of_the_code(heading: str) -> None:
    rows = _rows(heading)
    assert len(rows) > 9
    for what, value, where, _ in rows:
        match = re.fullmatch(r"`(\w+)`, `([\w/.]+)`", where)
        assert match, where
        source = (ROOT / match[2]).read_text()
        found = re.search(rf"\b{match[1]} = ([^;]+?)(?:;|, k)", source)
        assert found, f"{where}: {what}"
        number = eval(re.sub(r"\w+\{(\d+)\}", r"\1", found[1]))
        assert number == int(value), what
