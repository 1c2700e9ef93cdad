"""Steps of several frameworks timed in turn, so that drift of the machine meets all of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_ROUNDS = 5

#: Seconds. OpenBLAS' threads spin for 20 ms, and slow down whatever runs beside them by half.
_PAUSE = 0.05


@dataclass(frozen=True)
class Time:
    """Milliseconds of one step."""

    minimum: float
    median: float
    count: int


def interleaved(steps: dict[str, Callable[[], Any]], seconds: float) -> dict[str, Time]:
    """About ``seconds`` for each step, in rounds.

    A round runs each step for its share, after a pause in which the threads that the step before
    left spinning go to sleep. Its first run there is not timed: it brings the caches back.
    """
    samples: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(_ROUNDS):
        for name, step in steps.items():
            time.sleep(_PAUSE)
            step()
            end = time.perf_counter() + seconds / _ROUNDS
            while True:
                start = time.perf_counter()
                step()
                stop = time.perf_counter()
                samples[name].append(1e3 * (stop - start))
                if stop > end:
                    break
    return {k: Time(min(s), statistics.median(s), len(s)) for k, s in samples.items()}
