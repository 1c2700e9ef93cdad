"""The default schedule never refuses, and leaves nothing out of any row of the benchmarks."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import adjit as aj
import numpy as np
import pytest

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
