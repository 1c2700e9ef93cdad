"""Samples: schedules of random programs, measured kernel by kernel, with what the model looks at.

A sample is one JSON line:

    program   seed of programs.draw
    kind      what it is
    cores     that the process had
    schedule  moves that replay it; changes: the same in words, "" for what compiling takes
    us        microseconds of each kernel, all its calls in one run
    kernels   as in Lowered.cost: calls, parallel, tasks, cores, nests with analytic and inputs
    machine   as in Lowered.cost
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import adjit as aj
from adjit import tuning

from . import programs

_MOST_KERNELS = 24
_SECONDS = 0.008  # of runs for each schedule
_TURNS = 2
_FEWEST, _MOST = 3, 75  # runs of one turn


def drawn(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Samples of one program without their times, compiled into the cache.

    Half of them are what the model prefers, the rest random ones. Nothing for a program of many
    kernels.
    """
    program = programs.draw(seed)
    lowered = aj.lower(program.run, *program.arguments)
    if len(lowered.cost["kernels"]) > _MOST_KERNELS:
        return
    for proposal in tuning._proposals(lowered, count, seed):
        low = lowered.with_schedule(proposal.schedule_json)
        low.compile()
        yield {
            "program": seed, "kind": program.kind, "cores": len(os.sched_getaffinity(0)),
            "schedule": json.loads(proposal.schedule_json), "changes": proposal.changes,
            **described(low.cost),
        }  # fmt: skip


def measured(samples: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The samples of one program with their times, taken in turn."""
    program = programs.draw(samples[0]["program"])
    lowered = aj.lower(program.run, *program.arguments)
    codes = [lowered.with_schedule(json.dumps(s["schedule"])).compile() for s in samples]
    first = codes[0].profile(*program.arguments, repeats=2)
    runs = round(1e6 * _SECONDS / max(sum(k.microseconds for k in first), 1) / _TURNS)
    runs = min(max(runs, _FEWEST), _MOST)
    best: list[list[float]] = [[] for _ in samples]
    for _ in range(_TURNS):
        for k, code in enumerate(codes):
            times = [x.microseconds for x in code.profile(*program.arguments, repeats=runs)]
            best[k] = times if not best[k] else [min(*x) for x in zip(best[k], times, strict=True)]
    for sample, times in zip(samples, best, strict=True):
        yield {**sample, "us": [round(x, 3) for x in times]}


def described(cost: dict[str, Any]) -> dict[str, Any]:
    """Of Lowered.cost, what a sample keeps."""
    kernels = [
        {
            **{key: kernel[key] for key in ("calls", "parallel", "tasks", "cores")},
            "nests": [
                {
                    "analytic": [_short(x) for x in nest["analytic"]],
                    "inputs": [_short(x) for x in nest["inputs"]],
                }
                for nest in kernel["nests"]
            ],
        }
        for kernel in cost["kernels"]
    ]
    return {"kernels": kernels, "machine": cost["machine"]}


def _short(x: float) -> float:
    return float(f"{x:.6g}")


def refreshed(samples: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The samples of one program with the inputs of this version of the library."""
    program = programs.draw(samples[0]["program"])
    low = aj.lower(program.run, *program.arguments)
    for sample in samples:
        cost = low.with_schedule(json.dumps(sample["schedule"])).cost
        yield {**sample, **described(cost)}


def default_numbers(samples: list[dict[str, Any]]) -> dict[tuple[int, int], int]:
    """By program and cores, which sample is the default schedule: first, or said to be."""
    found: dict[tuple[int, int], int] = {}
    for number, sample in enumerate(samples):
        key = (sample["program"], sample["cores"])
        if sample["changes"] == "the default schedule" or (
            sample["changes"] == "" and key not in found
        ):
            found[key] = number
    return found


def read(paths: list[Path]) -> list[dict[str, Any]]:
    """All samples of the files."""
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]
