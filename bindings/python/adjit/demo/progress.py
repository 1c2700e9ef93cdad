"""Progress bars: rich's on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any


class Progress:
    """Makes tasks."""

    def task(self, title: str, total: int) -> Task:
        """A task of that many steps: a context manager."""
        if sys.stdout.isatty():
            try:
                return _RichTask(title, total)
            except ImportError:
                pass
        return Task(title, total)


class Task:
    """Plain text: one line every few seconds."""

    def __init__(self, title: str, total: int) -> None:
        self.title, self.total, self.done = title, total, 0
        self._last = time.monotonic()

    def __enter__(self) -> Task:
        print(f"{self.title} ...", flush=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        state = "done" if kind is None else "stopped"
        print(f"{self.title}: {state} after {self.done} of {self.total} steps", flush=True)

    def advance(self, note: str) -> None:
        """One step more."""
        self.done += 1
        if time.monotonic() - self._last > 3:
            self._last = time.monotonic()
            print(f"  {self.done}/{self.total}  {note}", flush=True)


class _RichTask(Task):
    def __init__(self, title: str, total: int) -> None:
        super().__init__(title, total)
        # Optional: there is plain text without it.
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        self._bars: Any = Bars(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
            TimeRemainingColumn(), TextColumn("{task.fields[note]}"),
        )  # fmt: skip
        self._task = self._bars.add_task(title, total=total, note="")

    def __enter__(self) -> Task:
        self._bars.start()
        return self

    def __exit__(self, *unused: Any) -> None:
        self._bars.stop()

    def advance(self, note: str) -> None:
        self.done += 1
        self._bars.update(self._task, advance=1, note=note)
