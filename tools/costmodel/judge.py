"""How good predictions are: of the level, of the order of schedules, as a basis for a choice."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .model import Batch

_SPREAD = 1.05  # slowest over fastest schedule from which an order of a program's counts


def spearman(a: Any, b: Any) -> float:
    """Rank correlation; nan where one side does not vary."""
    ranks = [np.argsort(np.argsort(x)) for x in (a, b)]
    return float(np.corrcoef(*ranks)[0, 1])


def r_squared(predicted: Any, measured: Any) -> float:
    """Of logarithms."""
    p, m = np.log(predicted), np.log(measured)
    return float(1 - np.sum((p - m) ** 2) / np.sum((m - m.mean()) ** 2))


def choices(batch: Batch, predicted: Any, margin: float) -> Any:
    """For each program: time of the schedule chosen over the default's.

    That is the one predicted to be the fastest, if by more than `margin`.
    """
    ratios = []
    for program in range(batch.program.max() + 1):
        members = np.flatnonzero(batch.program == program)
        default = batch.default[members[0]]
        best = members[int(np.argmin(predicted[members]))]
        if predicted[best] * (1 + margin) >= predicted[default]:
            best = default
        ratios.append(batch.schedule_us[best] / batch.schedule_us[default])
    return np.array(ratios)


def quality(batch: Batch, kernels: Any, schedules: Any) -> dict[str, float]:
    """The numbers of the report."""
    ranks = []
    for program in range(batch.program.max() + 1):
        members = np.flatnonzero(batch.program == program)
        us = batch.schedule_us[members]
        if len(members) >= 4 and us.max() > _SPREAD * us.min():
            ranks.append(spearman(schedules[members], us))
    long = batch.kernel_us > 1
    found = {
        "r2_kernels": r_squared(kernels[long], batch.kernel_us[long]),
        "r2_schedules": r_squared(schedules, batch.schedule_us),
        "rank": float(np.nanmean(ranks)),
        "chosen": math.exp(float(np.mean(np.log(choices(batch, schedules, 0))))),
        "best": math.exp(float(np.mean(np.log(choices(batch, batch.schedule_us, 0))))),
    }
    return {name: round(value, 3) for name, value in found.items()}


def text(found: dict[str, float]) -> str:
    """One line."""
    return "  ".join(f"{name} {value:6.3f}" for name, value in found.items())


def print_margins(batch: Batch, schedules: Any) -> None:
    """What a choice by these predictions gains, by how much must be predicted for it."""
    for margin in (0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5):
        ratios = choices(batch, schedules, margin)
        changed = ratios[ratios != 1]
        worst = np.sort(ratios)[::-1][:5]
        print(
            f"margin {margin:4.2f}: {np.exp(np.mean(np.log(ratios))):.3f} of the default's time, "
            f"{len(changed)} of {len(ratios)} programs change, {np.sum(changed > 1.1)} slower by "
            f"more than a tenth, worst {' '.join(f'{x:.2f}' for x in worst)}"
        )
