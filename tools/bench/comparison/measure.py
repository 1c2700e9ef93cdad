"""One row measured: every framework's step prepared, checked against torch's, and timed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

import adjit as aj
import numpy as np

from . import timing
from .budget import BudgetExceeded
from .frameworks import FRAMEWORKS, float64_for, torch_eager
from .row import Row, row_of
from .workloads.workload import TOLERANCE, Workload, is_float


def measure(
    workload: Workload, names: Iterable[str], seconds: float, with_value: bool = True
) -> dict[str, Any]:
    """Name of a framework -> its numbers, or {"error": why it has none}; as JSON holds them."""
    row = row_of(workload, with_value)
    wanted = torch_eager(_in_float32(row)).results()
    found: dict[str, dict[str, Any]] = {}
    steps: dict[str, Callable[[], Any]] = {}
    with float64_for(row):
        for name in names:
            entry = _prepared(name, row, wanted, steps)
            if entry is not None:
                found[name] = entry
        for name, times in timing.interleaved(steps, seconds).items():
            found[name].update(asdict(times))
    return found


def _in_float32(row: Row) -> Row:
    """The row itself, but for half types: the same numbers as float32."""
    if row.workload.dtype not in ("float16", "bfloat16"):
        return row
    inputs = [x.astype(np.float32) if is_float(x.dtype) else x for x in row.inputs]
    return Row(row.workload, inputs, row.cotangent.astype(np.float32), row.with_value)


def warm_up() -> None:
    """The library's own first time: what it starts once a process is no row's compile time."""
    aj.jit(lambda x: x + 1)(np.zeros(8, np.float32))


def _prepared(
    name: str, row: Row, wanted: list[Any], steps: dict[str, Callable[[], Any]]
) -> dict[str, Any] | None:
    """Puts the framework's step into ``steps`` if it is right."""
    compiled = len(aj.compilations)
    start = time.perf_counter()
    try:
        step = FRAMEWORKS[name](row)
        if step is None:
            return None
        results = step.results()
        first = time.perf_counter() - start
        workspace = None if step.workspace is None else step.workspace()
    except (Exception, BudgetExceeded) as error:
        return {"error": f"{type(error).__name__}: {error}"}
    entry: dict[str, Any] = {"first_ms": 1e3 * first}
    entry["difference"] = difference_of_results(row, results, wanted)
    if not entry["difference"] <= TOLERANCE[row.workload.dtype]:
        entry["error"] = f"differs from torch by {entry['difference']:.1e}"
        return entry
    if name == "adjit":
        entry.update(_report(list(aj.compilations)[compiled:]))
    elif workspace is not None:
        entry["workspace_bytes"] = workspace
    steps[name] = step.run
    return entry


def difference_of_results(row: Row, results: list[Any], wanted: list[Any]) -> float:
    """The larger one of the value and of the gradients: neither's size excuses the other."""
    values = int(row.with_value)
    parts = [slice(0, values), slice(values, None)] if values else [slice(None)]
    return max(difference(results[p], wanted[p]) for p in parts)


def difference(gradients: list[Any], wanted: list[Any]) -> float:
    """The largest over all gradients; infinite where a shape differs or a number is missing.

    A gradient that is far smaller than the row's largest one counts as if it were not so small:
    it is zero but for rounding (of queries and keys, say, where there is one token).
    """
    worst = 0.0
    least = 1e-3 * max(float(np.abs(g).max(initial=0)) for g in wanted) + 1e-30
    for mine, theirs in zip(gradients, wanted, strict=True):
        if mine.shape != theirs.shape or not np.isfinite(mine).all():
            return float("inf")
        if mine.size:
            worst = max(worst, np.abs(mine - theirs).max() / max(np.abs(theirs).max(), least))
    return float(worst)


def _report(compilations: list[dict[str, Any]]) -> dict[str, Any]:
    """What the library says of the compilations that a step needed (one, for our rows)."""
    sums = ("trace_ms", "derive_ms", "schedule_ms", "compile_ms", "load_ms")
    entry: dict[str, Any] = {k: sum(r.get(k) or 0 for r in compilations) for k in sums}
    entry["workspace_bytes"] = sum(r.get("workspace_bytes") or 0 for r in compilations)
    kernels = [r.get("kernels") for r in compilations]
    entry["kernels"] = sum(k if isinstance(k, int) else len(k or ()) for k in kernels)
    return entry
