"""Steps of several frameworks timed in turn, so that drift of the machine meets all of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_ROUNDS = 5


@dataclass(frozen=True)
class Time:
    """Milliseconds of one step."""

    minimum: float
    median: float
    count: int


def interleaved(steps: dict[str, Callable[[], Any]], seconds: float) -> dict[str, Time]:
    """About ``seconds`` for each step, in rounds.

    A round runs each step for its share. Its first run there is not timed: it brings the caches
    back, and the threads that the step before left spinning go to sleep meanwhile.
    """
    samples: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(_ROUNDS):
        for name, step in steps.items():
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
