"""The process that measures: rows on standard input, their numbers on standard output, as JSON.

It is a process of its own because allocator and threads are settled when one starts, and because
a row that ends it must not end the report.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any


def main() -> None:
    """One line {"rows": {name: work}} when ready; then an answer for each [name, left out]."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--compile-budget", type=float, required=True)
    parser.add_argument("--frameworks", required=True)
    parser.add_argument("--rows", required=True)
    parser.add_argument("--gradients", action="store_true")
    options = parser.parse_args()

    # What libraries print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    from . import budget
    from .measure import warm_up

    budget.torch_compile = options.compile_budget
    kinds = {"primal": _primal, "phrasings": _phrasings}
    works, measured = kinds.get(options.rows, _compared)(options)
    warm_up()
    print(json.dumps({"rows": works}), file=answers, flush=True)
    for line in sys.stdin:
        name, left_out = json.loads(line)
        try:
            answer = measured(name, left_out)
        except Exception as error:
            answer = {"row": {"error": f"{type(error).__name__}: {error}"}}
        print(json.dumps(answer), file=answers, flush=True)


def _compared(options: argparse.Namespace) -> tuple[dict[str, Any], Callable[..., Any]]:
    """Name of a row -> its work; and what measures it in all frameworks but some."""
    from .measure import measure
    from .workloads import catalogue

    rows = {w.name: w for w in catalogue.SETS[options.rows]()}
    with_value = not options.gradients

    def measured(name: str, left_out: list[str]) -> dict[str, Any]:
        names = [f for f in options.frameworks.split(",") if f not in left_out]
        return measure(rows[name], names, options.seconds, with_value)

    return {name: asdict(row.least(with_value)) for name, row in rows.items()}, measured


def _primal(options: argparse.Namespace) -> tuple[dict[str, Any], Callable[..., Any]]:
    """The same of value and gradient; rows without works."""
    from . import primal

    rows = {p.name: p for p in primal.programs()}
    return {name: {} for name in rows}, lambda name, _: primal.measure(rows[name], options.seconds)


def _phrasings(options: argparse.Namespace) -> tuple[dict[str, Any], Callable[..., Any]]:
    """The same of one computation in several phrasings."""
    # Equal programs would come from disk, where first calls are to be cold.
    os.environ["ADJIT_CACHE"] = "off"
    from . import phrasings

    rows = {p.name: p for p in phrasings.phrased()}
    measure = phrasings.measure
    return {name: {} for name in rows}, lambda name, _: measure(rows[name], options.seconds)


if __name__ == "__main__":
    main()
