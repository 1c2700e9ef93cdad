"""The comparison on a GPU as a whole: what takes part, the rates of the card, the table."""

from __future__ import annotations

import importlib.util
from dataclasses import asdict
from typing import Any

from ..workloads import gpu
from ..workloads.workload import Workload
from . import rates, run, table
from .clock import Clock
from .driver import Driver
from .frameworks import NAMES

_MODULES = {"torch": "torch", "compile": "torch", "jax": "jax"}


def taking_part(wanted: str | None) -> list[str]:
    """Frameworks: those that are named, else all that are installed."""
    if wanted:
        return wanted.split(",")
    missing = {n for n, module in _MODULES.items() if importlib.util.find_spec(module) is None}
    for name in sorted(missing):
        print(f"without {name}: not installed")
    return [n for n in NAMES if n not in missing]


def benchmark(
    driver: Driver, clock: Clock, rows: str, only: list[str] | None, names: list[str],
    seconds: float,
) -> dict[str, Any]:  # fmt: skip
    """Prints the table, and gives what stands in it; "wrong": rows of which ours is not right."""
    found = None if driver.emulates else rates.measured(driver)
    if found is None:
        print("the driver emulates a GPU: times and ratios mean nothing, results do")
    else:
        print(
            f"limits: {found.flops / 1e12:.1f} TFLOP/s of multiply-adds in float32, "
            f"{found.bandwidth / 1e9:.0f} GB/s of a copy"
        )
    print(table.header(names), flush=True)
    workloads = chosen(gpu.SETS[rows](), only)

    def show(row: run.Row) -> None:
        print(table.line(row, names), flush=True)

    made, left_out = run.measured(workloads, rows, names, clock, seconds, found, show)
    print(table.summary(made, left_out), flush=True)
    return {
        "rates": found and asdict(found), "rows": [table.as_json(r) for r in made],
        "left_out": left_out, "wrong": table.wrong(made), "times_mean_nothing": driver.emulates,
    }  # fmt: skip


def chosen(workloads: list[Workload], only: list[str] | None) -> list[Workload]:
    """Those named, in their order."""
    return [w for w in workloads if only is None or w.name in only]
