"""What torch.compile may take in a whole run, so that the run ends in time."""

from __future__ import annotations

from typing import Any


class Allowance:
    """Spent row by row; nothing is compiled in the rows that come after."""

    def __init__(self, whole: float, row: float) -> None:
        """Seconds of the run, and of one row and allocator."""
        self._whole = whole
        self._row = row
        self._spent = 0.0

    def left_out(self) -> dict[str, str]:
        """Frameworks that take no part in the next row, and why."""
        if self._spent < self._whole:
            return {}
        return {"compile": f"left out: the run's {self._whole:g} s of torch.compile are spent"}

    def spend(self, answers: dict[str, dict[str, Any]]) -> None:
        """What the processes, by allocator, say of a row."""
        for answer in answers.values():
            entry = answer.get("compile", {})
            if entry.get("error", "").startswith("BudgetExceeded"):
                self._spent += self._row
            self._spent += entry.get("first_ms", 0) / 1e3
