"""memory_budget=: what is computed a second time instead of kept, and budgets that cannot be."""

from __future__ import annotations

import math
from typing import Any

import adjit as aj
import numpy as np
import pytest
from adjit._core import dtypes
from adjit._run.computation import tensor_specs
from adjit.transforms.grad import vjp_of
from adjit.transforms.vjp import _Joint, _partition

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


def kept_between(f: Any, budget: int | None, *args: Any) -> int:
    """Bytes that the forward leaves to the pullback, its arguments not counted."""
    joint = _Joint(f, args, False)
    handle = vjp_of(joint.traced.computation, joint.wrt, joint.seeded, True)
    inputs = len(joint.leaves) + len(joint.traced.captured)
    forward, _ = _partition(handle, inputs, len(joint.outputs), budget)
    made = list(tensor_specs(forward, True)[len(joint.outputs) :])
    for given in tensor_specs(forward, False):
        if given in made:
            made.remove(given)
    return sum(math.prod(s) * np.dtype(dtypes.to_numpy(dtype)).itemsize for dtype, s in made)


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
    assert aj.lower(loss, weights, x, memory_budget=2**64).schedule
    assert aj.lower(loss, weights, x, memory_budget=np.int64(10**9)).schedule
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
        assert kept_between(loss, budget, weights, x) <= budget
        assert kept_between(loss, None, weights, x) >= LAYERS * ACTIVATION
        again, pull = aj.vjp(loss, weights, x, memory_budget=budget)
        np.testing.assert_allclose(again, value, rtol=1e-6)
        for found, expected in zip(pull(1.0)[0], wanted[0], strict=True):
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-7)


def test_vjp_refuses_what_cannot_be_computed_again() -> None:
    kept = aj.checkpoint(aj.exp)
    x = np.ones((64, 64), np.float32)
    with pytest.raises(aj.ScheduleError, match=r"between forward and backward.*16384 of '"):
        aj.vjp(lambda x: aj.sum(kept(x) ** 2), x, memory_budget=100)


def test_what_a_refusal_allows_will_do() -> None:
    weights, x = data()

    def bias(weights: list[Any], x: Any) -> Any:
        for k, w in enumerate(weights):
            x = aj.nn.silu(x @ w + float(k)) + x
        return aj.mean(x**2)

    for f in (loss, bias):
        with pytest.raises(aj.ScheduleError) as e:
            aj.lower(aj.grad(f), weights, x, memory_budget=1).compile()
        allowed = int(str(e.value).split("allow ")[1].split()[0])
        assert workspace(aj.lower(aj.grad(f), weights, x, memory_budget=allowed)) <= allowed


def test_starts_of_scatters_do_not_wait() -> None:
    """The zeros that an embedding's gradient starts from are made when it is."""
    table, ids = RNG.standard_normal((500, WIDTH)).astype(np.float16), np.arange(128)
    weights = [(RNG.standard_normal((WIDTH, WIDTH)) / 8).astype(np.float16) for _ in range(6)]

    def f(table: Any, weights: list[Any], ids: Any) -> Any:
        return loss(weights, aj.take(table, ids, axis=0))

    g = aj.grad(f, argnums=(0, 1))
    usual = workspace(aj.lower(g, table, weights, ids))
    bounded = aj.lower(g, table, weights, ids, memory_budget=usual * 9 // 10)
    kernels = [line for line in bounded.schedule.splitlines() if line.startswith("kernel ")]
    starts = [k for k, line in enumerate(kernels) if "_start (" in line]
    assert starts and min(starts) > len(kernels) // 2


def test_sixty_layers_in_a_quarter_of_the_memory() -> None:
    weights = [(RNG.standard_normal((16, 16)) / 4).astype(np.float32) for _ in range(60)]
    x = RNG.standard_normal((32, 16)).astype(np.float32)
    usual = aj.lower(aj.grad(loss), weights, x)
    quarter = workspace(usual) // 4
    bounded = aj.lower(aj.grad(loss), weights, x, memory_budget=quarter)
    assert workspace(bounded) <= quarter
    for found, wanted in zip(
        bounded.compile()(weights, x), usual.compile()(weights, x), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-9)
