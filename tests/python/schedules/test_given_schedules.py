"""Schedules that users give: taken as they are, or refused with what is wrong with them."""

from __future__ import annotations

import json
from typing import Any

import adjit as aj
import numpy as np
import pytest

A = np.random.default_rng(0).standard_normal((96, 80)).astype(np.float32)
B = np.random.default_rng(1).standard_normal((80, 112)).astype(np.float32)


def product(a: Any, b: Any) -> Any:
    return a @ b


def lowered() -> Any:
    return aj.lower(product, A, B)


@pytest.mark.parametrize(
    ("move", "said"),
    [
        ({"move": "fuse_axes", "axis": -1}, '"axis" is -1; .* from 0 to 2'),
        ({"move": "fuse_axes", "axis": 2**64 - 1}, '"axis" is 18446744073709551615; '),
        ({"move": "tile", "axis": True, "steps": [2]}, '"axis" is true; it must be an integer'),
        ({"move": "tile", "axis": 0.0, "steps": [2]}, '"axis" is 0.0; it must be an integer'),
        ({"move": "tile", "axis": 0, "steps": 2}, '"steps" is 2; it must be a list'),
        ({"move": "tile", "axis": 0, "steps": [2**62]}, "a step goes too far past the axis"),
        ({"move": "vectorize", "axis": 1, "lanes": 2**16}, '"lanes" is 65536; .* from 2 to 64'),
        ({"move": "vectorize", "axis": 1, "lanes": 2**30}, '"lanes" is 1073741824; '),
        ({"move": "vectorize", "axis": 1, "lanes": 2**32}, '"lanes" is 4294967296; '),
        ({"move": "vectorize", "axis": 1, "lanes": 2**40}, '"lanes" is 1099511627776; '),
        ({"move": "unroll", "axis": 0, "factor": 2**33}, '"factor" is 8589934592; .* to 64'),
        ({"move": "parallel", "loops": -1}, '"loops" is -1; '),
        ({"move": "parallel", "loops": 1, "loop": 2}, 'has no member "loop"; it has "stage", "loo'),
        ({"move": "parallel"}, 'lacks "loops"'),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(move: dict[str, Any], said: str) -> None:
    low = lowered()
    where = f"move 0: {move['move']} of 'matmul'"
    with pytest.raises(aj.ScheduleError, match=f"{where}.*{said}"):
        low.with_schedule(json.dumps([{**move, "stage": "matmul"}]))


def test_names_that_are_not_there() -> None:
    low = lowered()
    no_stage = "move 0: store_nontemporal: .*no stage 'zzz'; there are 'mat"
    with pytest.raises(aj.ScheduleError, match=no_stage):
        low.with_schedule('[{"move": "store_nontemporal", "stage": "zzz"}]')
    with pytest.raises(aj.ScheduleError, match=r'move 1: .*no move "dance"'):
        low.with_schedule('[{"move": "eager_outputs"}, {"move": "dance", "stage": "matmul"}]')
    with pytest.raises(aj.ScheduleError, match=r'move 0: "stage" is there twice'):
        low.with_schedule('[{"move": "store_nontemporal", "stage": "matmul", "stage": "matmul"}]')


@pytest.mark.parametrize(
    "given",
    [None, 5, b"[]", [], {"move": "tile"}, 2.5, "\0", "[]\0", "\ud800"],
    ids=lambda given: repr(given),
)
def test_what_is_no_text_is_refused(given: Any) -> None:
    with pytest.raises(aj.ScheduleError, match=r"with_schedule: schedule_json is .*json\.dumps"):
        lowered().with_schedule(given)


@pytest.mark.parametrize("given", ["", " ", "default", "[", "{}", "[" * 100_000])
def test_text_that_is_no_list_of_moves_is_refused(given: str) -> None:
    with pytest.raises(aj.ScheduleError, match="a schedule"):
        lowered().with_schedule(given)


def test_no_moves_are_a_schedule() -> None:
    np.testing.assert_allclose(
        lowered().with_schedule("[]").compile()(A, B), A @ B, rtol=1e-3, atol=1e-3
    )


def test_widest_vectors_of_every_type() -> None:
    for dtype in (np.float32, np.float64, np.int8, np.int64, np.float16):
        a, b = (np.arange(24 * n).reshape(shape).astype(dtype) % 5 for n, shape in
                ((7, (7, 24)), (130, (24, 130))))  # fmt: skip
        low = aj.lower(product, a, b)
        moves = [{"move": "vectorize", "stage": low.stages[0].name, "axis": 1, "lanes": 64}]
        found = low.with_schedule(json.dumps(moves)).compile()(a, b)
        np.testing.assert_array_equal(found, low.compile()(a, b))
