"""How much of a run's time is left: it ends by itself."""

from __future__ import annotations

import time


class Clock:
    """Seconds since it was made, of so many."""

    def __init__(self, seconds: float) -> None:
        self._start = time.monotonic()
        self._whole = seconds

    def spent(self) -> float:
        return time.monotonic() - self._start

    def left(self) -> float:
        return self._whole - self.spent()
