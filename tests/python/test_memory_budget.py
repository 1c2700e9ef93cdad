"""memory_budget=: what is computed a second time instead of kept, and budgets that cannot be."""

from __future__ import annotations

from typing import Any

import adjit as aj
import numpy as np
import pytest

RNG = np.random.default_rng(5)
LAYERS, BATCH, WIDTH = 8, 64, 32
ACTIVATION = BATCH * WIDTH * 4


def loss(weights: list[Any], x: Any) -> Any:
    for w in weights:
        x = aj.tanh(x @ w)
    return aj.mean(x**2)


def data() -> tuple[list[Any], Any]:
    weights = [(RNG.standard_normal((WIDTH, WIDTH)) / 5).astype(np.float32) for _ in range(LAYERS)]
    return weights, RNG.standard_normal((BATCH, WIDTH)).astype(np.float32)


def workspace(low: Any) -> int:
    return int(low.compile().report["workspace_bytes"])


def test_jit_keeps_the_budget_and_gives_the_same() -> None:
    weights, x = data()
    usual = workspace(aj.lower(aj.grad(loss), weights, x))
    expected = aj.jit(aj.grad(loss))(weights, x)
    assert usual > LAYERS * ACTIVATION
    for budget in (usual, usual * 3 // 4, 6 * ACTIVATION):
        step = aj.jit(aj.grad(loss), memory_budget=budget)
        low = aj.lower(step, weights, x)
        assert workspace(low) <= budget
        assert ("rematerialize" in low.schedule_json) == (budget == 6 * ACTIVATION)
        for found, wanted in zip(step(weights, x), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-7)
        replayed = low.with_schedule(low.schedule_json)
        assert replayed.schedule_json == low.schedule_json


def test_a_budget_has_an_entry_of_its_own() -> None:
    weights, x = data()
    low = aj.lower(aj.grad(loss), weights, x, memory_budget=6 * ACTIVATION)
    usual = aj.lower(aj.grad(loss), weights, x)
    assert workspace(low) < workspace(usual)
    component = {"name": "memory budget", "value": str(6 * ACTIVATION)}
    assert component in low.compile().report["key"]
    assert component not in usual.compile().report["key"]


def test_impossible_budgets_name_the_stage_and_its_bytes() -> None:
    weights, x = data()
    with pytest.raises(
        aj.ScheduleError, match=r"1000 bytes is not enough: '.*' .*test_memory"
    ) as e:
        aj.jit(aj.grad(loss), memory_budget=1000)(weights, x)
    assert f"{ACTIVATION} of '" in str(e.value)
    with pytest.raises(aj.ScheduleError, match="bytes is not enough"):
        low = aj.lower(aj.grad(loss), weights, x)
        aj.lower(aj.grad(loss), weights, x, memory_budget=1000).with_schedule(low.schedule_json)
    for wrong in (0, -5):
        with pytest.raises(aj.Error, match="number of bytes from 1 on"):
            aj.jit(loss, memory_budget=wrong)
    for no_number in (1.5, "1 GB", True):
        with pytest.raises(TypeError, match="memory_budget is a number of bytes"):
            aj.lower(loss, weights, x, memory_budget=no_number)  # type: ignore[arg-type]


def test_scans_are_not_computed_again() -> None:
    def run(x: Any) -> Any:
        return aj.sum(aj.scan(lambda c, _: (aj.sin(c), None), x, None, length=50)[0])

    with pytest.raises(aj.ScheduleError, match="checkpoint="):
        aj.jit(aj.grad(run), memory_budget=4096)(np.ones(1000, np.float32))


def test_vjp_keeps_no_more_between_its_parts() -> None:
    weights, x = data()
    value, pull = aj.vjp(loss, weights, x)
    wanted = pull(1.0)
    for budget in (3 * ACTIVATION, 64):
        again, pull = aj.vjp(loss, weights, x, memory_budget=budget)
        np.testing.assert_allclose(again, value, rtol=1e-6)
        for found, expected in zip(pull(1.0)[0], wanted[0], strict=True):
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-7)


def test_vjp_refuses_what_cannot_be_computed_again() -> None:
    kept = aj.checkpoint(aj.exp)
    x = np.ones((64, 64), np.float32)
    with pytest.raises(aj.ScheduleError, match=r"between forward and backward.*16384 of '"):
        aj.vjp(lambda x: aj.sum(kept(x) ** 2), x, memory_budget=100)
