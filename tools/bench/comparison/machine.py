"""What this machine can do at most, measured by bench_machine (tools/bench/machine.cpp)."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Machine:
    """For all threads of the report together."""

    flops: float  # multiply-adds count as two; a second
    bandwidth: float  # bytes a second of a triad in main memory
    gathers: float  # float32 numbers a second, from the second level cache


def program() -> Path | None:
    """bench_machine: beside the library that ADJIT_LIBRARY names, else in the release build."""
    places = [Path(__file__).parents[3] / "build" / "release"]
    if library := os.environ.get("ADJIT_LIBRARY"):
        places.insert(0, Path(library).resolve().parent)
    return next((p / "bench_machine" for p in places if (p / "bench_machine").exists()), None)


def measured(path: Path, threads: int) -> Machine:
    """Takes a few seconds, on the cores this process may use. The best of five runs counts."""
    answer = subprocess.run(
        [
            path, f"--benchmark_filter=/threads:{threads}$", "--benchmark_format=json",
            "--benchmark_repetitions=5", "--benchmark_min_time=0.2",
        ],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    best: dict[str, float] = {}
    for run in json.loads(answer.stdout)["benchmarks"]:
        if run["run_type"] == "iteration":
            name = run["name"].split("/")[0]
            best[name] = max(best.get(name, 0), run["per_second"])
    return Machine(best["fma"], best["triad"], best["gather"])
