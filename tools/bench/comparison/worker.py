"""The process that measures: rows on standard input, their numbers on standard output, as JSON.

It is a process of its own because allocator and threads are settled when one starts, and because
a row that ends it must not end the report.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict


def main() -> None:
    """One line {"rows": {name: work}} when ready; then an answer for each [name, left out]."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--compile-budget", type=float, required=True)
    parser.add_argument("--frameworks", required=True)
    parser.add_argument("--rows", required=True)
    options = parser.parse_args()

    # What libraries print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    from . import budget, catalogue
    from .measure import measure, warm_up

    budget.torch_compile = options.compile_budget
    rows = {w.name: w for w in catalogue.SETS[options.rows]()}
    warm_up()
    print(
        json.dumps({"rows": {k: asdict(w.work) for k, w in rows.items()}}), file=answers, flush=True
    )
    for line in sys.stdin:
        name, left_out = json.loads(line)
        try:
            names = [f for f in options.frameworks.split(",") if f not in left_out]
            answer = measure(rows[name], names, options.seconds)
        except Exception as error:
            answer = {"row": {"error": f"{type(error).__name__}: {error}"}}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
