"""The process that measures one framework on a GPU: jobs on standard input, answers as JSON.

{"do": "prepare", "row": NAME} compiles the row's step and runs it once; {"do": "time", "row": NAME,
"seconds": S} gives its time and what it computed; {"do": "lower", "row": NAME}, of adjit, compiles
it for the target alone.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import asdict
from typing import Any

import adjit as aj

from .. import budget
from ..workloads import gpu
from ..workloads.workload import Workload, differentiated
from . import frameworks
from .arrays import cotangent, drawn, sets_of
from .driver import ATTRIBUTES, Driver


def main() -> None:
    """One line {"ready": true} or {"error": why} at first; then an answer for each job."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--framework", required=True)
    parser.add_argument("--rows", required=True)
    parser.add_argument("--budget", type=float, required=True)
    options = parser.parse_args()

    # What libraries print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(value: dict[str, Any]) -> None:
        print(json.dumps(value), file=answers, flush=True)

    try:
        worker = Worker(options.framework, options.rows, options.budget)
    except Exception as error:
        answer({"error": f"{type(error).__name__}: {error}"})
        return
    answer({"ready": True})
    for line in sys.stdin:
        job = json.loads(line)
        try:
            answer(getattr(worker, job.pop("do"))(**job))
        except (Exception, budget.BudgetExceeded) as error:
            answer({"error": f"{type(error).__name__}: {error}"})


class Worker:
    """A framework with the steps that it has compiled."""

    def __init__(self, name: str, rows: str, seconds: float) -> None:
        self._driver = Driver()
        self._framework = frameworks.framework(name, self._driver)
        self._is_adjit = name == "adjit"
        self._rows = {w.name: w for w in gpu.SETS[rows]()}
        self._budget = seconds
        self._steps: dict[str, Any] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}

    def prepare(self, row: str) -> dict[str, Any]:
        """Seconds until the first results were there; {"none": true} of what it cannot express."""
        workload = self._rows[row]
        inputs = drawn(workload, 0)
        step = self._framework.step(workload, inputs)
        if step is None:
            return {"none": True}
        compiled = len(aj.compilations)
        start = time.perf_counter()
        try:
            with budget.seconds(self._budget):
                results = step(*self._put(row, 0))
                self._arrays.sketch(results[0])  # waits
            self._steps[row] = step
            answer: dict[str, Any] = {"seconds": time.perf_counter() - start}
            if self._is_adjit:
                answer["compilations"] = list(aj.compilations)[compiled:]
            return answer
        finally:
            results = None
            self._arrays.free()

    def time(self, row: str, seconds: float) -> dict[str, Any]:
        """Milliseconds, a sketch of the results, and whether two runs gave the same bits."""
        count = sets_of(self._rows[row], self._driver.attribute(ATTRIBUTES["l2_bytes"]))
        try:
            sets = [self._put(row, copy) for copy in range(count)]
            step = self._steps[row]
            results = step(*sets[0])
            answer: dict[str, Any] = {"sketch": [self._arrays.sketch(r) for r in results]}
            if self._is_adjit:
                kept = [self._arrays.kept(r) for r in results]
                answer["same_bits"] = all(map(self._arrays.same, kept, step(*sets[0])))
            results = kept = None
            times = self._arrays.timed(step, sets, seconds)
            return {**answer, **asdict(times)}
        finally:
            sets = []
            self._arrays.free()

    def lower(self, row: str) -> dict[str, Any]:
        """Where there need not be a GPU that runs it: into the cache; and what it is predicted to
        take, in milliseconds.
        """
        workload = self._rows[row]
        specs = [aj.ShapeDtype(i.shape, _dtype(workload, i.kind)) for i in workload.inputs]
        out = aj.ShapeDtype(self._shape(row), workload.dtype)
        step = frameworks.pulled_back(workload)
        start = time.perf_counter()
        lowered = aj.lower(step, out, *specs, target="cuda")
        executable = lowered.compile()
        seconds = time.perf_counter() - start
        cost = lowered.cost
        return {
            "seconds": seconds, "cache": executable.report["cache"],
            "kernels": len(cost["kernels"]), "predicted": 1e-3 * cost["microseconds"],
        }  # fmt: skip

    @property
    def _arrays(self) -> Any:
        return self._framework.arrays

    def _put(self, row: str, copy: int) -> list[Any]:
        """The cotangent, and the inputs."""
        workload = self._rows[row]
        inputs = drawn(workload, copy)
        where = set(differentiated(inputs))
        placed = [self._arrays.put(x, k in where) for k, x in enumerate(inputs)]
        seed = cotangent(workload, self._shape(row), copy)
        return [self._arrays.put(seed, False), *placed]

    def _shape(self, row: str) -> tuple[int, ...]:
        """Of the value, as adjit's tracing says."""
        if row not in self._shapes:
            workload = self._rows[row]
            specs = [aj.ShapeDtype(i.shape, _dtype(workload, i.kind)) for i in workload.inputs]

            def traced(*inputs: Any) -> Any:
                out = workload.ours(*inputs)
                self._shapes[row] = tuple(int(e) for e in out.shape)
                return out

            aj.lower(traced, *specs, target="cpu")
        return self._shapes[row]


def _dtype(workload: Workload, kind: str) -> str:
    return "int64" if kind == "index" else workload.dtype


if __name__ == "__main__":
    main()
