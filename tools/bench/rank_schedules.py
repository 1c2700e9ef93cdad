#!/usr/bin/env python3
"""How well the cost model ranks schedules.

    python tools/bench/rank_schedules.py [--rows listed|shapes] [--only NAME,...] [--trials N]

Compiles several schedules of each row of the comparison (the default one, what the model predicts
to be best, random ones), measures them, and prints for each row: measured and predicted
microseconds of the default schedule, Spearman's rank correlation between predicted and measured
times, and the time of the schedule that the model would choose over the default one's, beside that
of the best that was measured. At last R^2 of the logarithms over all kernels of default schedules.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

from comparison.environment import use_checkout

use_checkout()

import adjit as aj  # noqa: E402
import numpy as np  # noqa: E402
from adjit import tuning  # noqa: E402
from comparison.workloads.catalogue import SETS  # noqa: E402
from comparison.workloads.workload import Workload, of_floats  # noqa: E402


def spearman(a: list[float], b: list[float]) -> float:
    """Rank correlation; nan for fewer than three pairs."""
    if len(a) < 3:
        return math.nan
    ranks = [np.argsort(np.argsort(x)) for x in (a, b)]
    return float(np.corrcoef(*ranks)[0, 1])


def step_of(workload: Workload) -> tuple[Any, list[Any]]:
    """The gradient step of a row, and its arguments."""
    inputs = workload.draw()
    shape = np.shape(aj.jit(workload.ours)(*inputs))
    cotangent = np.random.default_rng(1).standard_normal(shape).astype(np.float32)

    def pull(cotangent: Any, *inputs: Any) -> Any:
        f, floats = of_floats(workload.ours, list(inputs))
        return aj.vjp(f, *floats)[1](cotangent)

    return pull, [cotangent, *inputs]


def measured(workload: Workload, trials: int) -> tuple[list[tuple[float, float]], list[Any]]:
    """(predicted, measured) of each schedule, the default one first; its kernels."""
    f, args = step_of(workload)
    low = aj.lower(f, *args)
    kernels = low.compile().profile(*args, repeats=10)
    report = aj.tune(f, *args, trials=trials)
    tuning.keep(low, None)
    return [(t.predicted, t.measured) for t in report.trials if t.measured is not None], kernels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", choices=list(SETS), default="listed")
    parser.add_argument("--only", help="names of rows, separated by commas")
    parser.add_argument("--trials", type=int, default=12)
    arguments = parser.parse_args()
    only = arguments.only.split(",") if arguments.only else None
    print(f"{'row':22}{'us':>10}{'predicted':>11}{'rank':>7}{'model':>8}{'best':>8}")
    ranks, chosen, best, kernels = [], [], [], []
    for workload in SETS[arguments.rows]():
        if only and workload.name not in only:
            continue
        pairs, profile = measured(workload, arguments.trials)
        kernels += [(k.predicted, k.microseconds) for k in profile if k.microseconds > 1]
        predicted, times = [p for p, _ in pairs], [m for _, m in pairs]
        # The schedule that the model would take, were it to decide.
        choice = times[int(np.argmin(predicted))]
        ranks.append(spearman(predicted, times))
        chosen.append(choice / times[0])
        best.append(min(times) / times[0])
        print(
            f"{workload.name:22}{times[0]:10.1f}{predicted[0]:11.1f}{ranks[-1]:7.2f}"
            f"{chosen[-1]:8.2f}{best[-1]:8.2f}",
            flush=True,
        )
    p, m = (np.log([k[i] for k in kernels]) for i in (0, 1))
    r2 = 1 - np.sum((p - m) ** 2) / np.sum((m - m.mean()) ** 2)
    print(f"mean rank correlation {np.nanmean(ranks):.2f}")
    print(f"model / default {np.exp(np.mean(np.log(chosen))):.3f} (geometric mean)")
    print(f"best / default {np.exp(np.mean(np.log(best))):.3f} (geometric mean)")
    print(f"{len(kernels)} kernels: R^2 of log time {r2:.3f}")


if __name__ == "__main__":
    main()
