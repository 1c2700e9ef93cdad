"""Steps of several frameworks timed in turn, so that drift of the machine meets all of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_ROUNDS = 5

#: Seconds: steps between looks at the process's time, and the longest wait for it to stand still.
#: OpenBLAS' threads spin for 20 to 100 ms, as the processor's clock has it, and slow down whatever
#: runs beside them by half.
_LOOK = 0.01
_PATIENCE = 1.0


@dataclass(frozen=True)
class Time:
    """Milliseconds of one step."""

    minimum: float
    median: float
    count: int


def interleaved(steps: dict[str, Callable[[], Any]], seconds: float) -> dict[str, Time]:
    """About ``seconds`` for each step, in rounds.

    A round runs each step for its share, once the threads that the step before left spinning have
    gone to sleep. Its first run there is not timed: it brings the caches back.
    """
    samples: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(_ROUNDS):
        for name, step in steps.items():
            wait_until_idle()
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


def wait_until_idle() -> bool:
    """Returns when no thread of this process runs but for this one; false if one never sleeps."""
    end = time.perf_counter() + _PATIENCE
    while time.perf_counter() < end:
        before = time.process_time()
        time.sleep(_LOOK)
        if time.process_time() - before < 0.1 * _LOOK:
            return True
    return False
