"""The default schedule never refuses, and leaves nothing out of any row of the benchmarks."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import adjit as aj
import numpy as np
import pytest
from adjit import tuning

ROOT = Path(__file__).resolve().parents[3]


def compiled(f: Any, *args: Any) -> Any:
    return aj.lower(f, *args).compile()


@pytest.mark.parametrize("pool", ["max_pool2d", "avg_pool2d"])
@pytest.mark.parametrize("shape", [(1, 4, 1, 5), (2, 3, 2, 7), (1, 16, 3, 33), (1, 2, 1, 64)])
def test_pools_of_joined_images(pool: str, shape: tuple[int, ...]) -> None:
    import torch

    def f(x: Any) -> Any:
        return getattr(aj.nn, pool)(aj.concat([x, aj.sin(x)], axis=2), 3, stride=1, padding=1)

    x = np.random.default_rng(0).standard_normal(shape)
    t = torch.tensor(x, requires_grad=True)
    want = getattr(torch.nn.functional, pool)(
        torch.cat([t, torch.sin(t)], 2), 3, stride=1, padding=1
    )
    want.sum().backward()
    run = compiled(f, x)
    assert run.report["fallbacks"] == []
    np.testing.assert_allclose(run(x), want.detach().numpy(), rtol=1e-12)
    gradient = aj.grad(lambda x: aj.sum(f(x)))(x)
    np.testing.assert_allclose(gradient, t.grad.numpy(), rtol=1e-10, atol=1e-12)


def test_what_is_described_is_what_was_compiled() -> None:
    """A kept schedule unrolls more than the emitter does: plain loops are compiled instead."""

    def f(x: Any) -> Any:
        return aj.exp(aj.sin(x) * aj.tanh(x)) + aj.lgamma(x)

    x = np.random.default_rng(0).standard_normal((9, 9, 9, 35)).astype(np.float32)
    low = aj.lower(f, x)
    inner = ["sin", "tanh", "multiply", "exp", "lgamma"]
    moves: list[dict[str, Any]] = [{"move": "inline", "stages": inner}]
    moves += [{"move": "vectorize", "stage": "add", "axis": 3, "lanes": 16}]
    moves += [{"move": "unroll", "stage": "add", "axis": axis, "factor": 8} for axis in range(3)]
    tuning.keep(low, json.dumps(moves))
    with pytest.raises(aj.Error, match="unroll less"):
        low.with_schedule(json.dumps(moves)).compile()
    plain = low.with_schedule("[]").compile()
    low = aj.lower(f, x)
    run = low.compile()
    (refused,) = run.report["fallbacks"]
    assert refused.startswith("all loops: ")
    assert refused in low.explain()
    assert low.schedule_json == "[]"
    assert not run.report["kept_schedule"]
    tuning.keep(low, None)  # an executable goes on describing itself
    assert (run.llvm, run.asm) == (plain.llvm, plain.asm)
    assert [k.tasks for k in run.profile(x)] == [k.tasks for k in plain.profile(x)]
    np.testing.assert_array_equal(run(x), plain(x))


def test_the_rows_of_the_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "bench"))
    catalogue = importlib.import_module("comparison.workloads.catalogue")
    workload = importlib.import_module("comparison.workloads.workload")
    rows = [w for name in ("listed", "parts") for w in catalogue.SETS[name]()]
    assert len(rows) > 50
    for row in rows:
        f, floats = workload.of_floats(row.ours, row.draw())
        step = aj.value_and_grad(lambda *x, f=f: aj.sum(f(*x)), argnums=tuple(range(len(floats))))
        specs = [aj.ShapeDtype(x.shape, x.dtype) for x in floats]
        assert compiled(step, *specs).report["fallbacks"] == [], row.name
