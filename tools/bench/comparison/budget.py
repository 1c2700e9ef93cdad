"""A limit on the time that a piece of Python may take."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from typing import Any

#: Seconds that torch.compile may take for one row.
torch_compile = 60.0


class BudgetExceeded(BaseException):
    """Not an Exception: compilers that fall back to slow code on errors must not catch it."""


@contextlib.contextmanager
def seconds(limit: float) -> Iterator[None]:
    """Raises BudgetExceeded inside the block once it has run that long (main thread only)."""

    def stop(number: int, frame: Any) -> None:
        raise BudgetExceeded(f"took more than {limit:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
