"""A measuring process of one framework on a GPU: asked, and ended where it hangs."""

from __future__ import annotations

import os
from typing import Any

from ..environment import with_checkout
from ..worker_process import WorkerProcess


class Session:
    """One that ends, or takes too long, loses what it had compiled and is started again."""

    def __init__(self, framework: str, rows: str, budget: float, patience: float = 1) -> None:
        """``patience``: seconds at the end; what it puts into a cache it writes beside answers."""
        self.framework = framework
        self._patience = patience
        self._arguments = [f"--framework={framework}", f"--rows={rows}", f"--budget={budget}"]
        self._process: WorkerProcess | None = None
        self.prepared: set[str] = set()
        #: Compiled by a process that has ended since.
        self.lost: set[str] = set()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._end(self._patience)

    def ask(self, job: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The answer; {"error": why} where there is none in that time."""
        seconds = max(0.1, seconds)
        if self._process is None:
            self._process = self._start()
            ready = self._kept(self._process.answer(seconds))
            if "error" in ready:
                self._end(0)  # the next one that asks starts another
                return ready
        return self._kept(self._process.ask(job, seconds))

    def _start(self) -> WorkerProcess:
        environment = with_checkout({
            **os.environ, "PYTHONWARNINGS": "ignore", "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        })  # fmt: skip
        return WorkerProcess("comparison.gpu.worker", self._arguments, environment, 0)

    def _end(self, patience: float) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.end(patience)

    def _kept(self, answer: dict[str, Any] | str) -> dict[str, Any]:
        """The answer, and what is left where there was none: no process."""
        if not isinstance(answer, str):
            return answer
        self._process = None
        self.lost |= self.prepared
        self.prepared.clear()
        return {"error": answer}
