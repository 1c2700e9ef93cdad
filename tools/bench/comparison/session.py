"""The measuring process of the comparison on a processor: started again where it ended."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable
from typing import Any

from .environment import variables, with_checkout
from .worker_process import WorkerProcess
from .workloads.workload import Work

_PATIENCE = 5.0  # seconds, for it to end by itself


class Session:
    """A worker with one allocator; a row that ends it costs only itself."""

    def __init__(self, allocator: str, threads: int, arguments: list[str], row_limit: float):
        self._allocator = allocator
        self._threads = threads
        self._arguments = arguments
        self._row_limit = row_limit
        self._cache = tempfile.TemporaryDirectory(prefix="adjit-bench-")
        self._process: WorkerProcess | None = None
        self.rows: dict[str, Work] = {}

    def __enter__(self) -> Session:
        self._process = self._start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.end(_PATIENCE)
        self._cache.cleanup()

    def ask(self, row: str, without: Iterable[str] = ()) -> dict[str, Any]:
        """The row's numbers without some frameworks; {"row": {"error": ...}} if it has none."""
        self._process = self._process or self._start()
        answer = self._process.ask([row, list(without)], self._row_limit)
        if isinstance(answer, str):
            self._process = None
            return {"row": {"error": answer}}
        return answer

    def _start(self) -> WorkerProcess:
        environment = with_checkout(variables(self._allocator, self._threads, self._cache.name))
        process = WorkerProcess("comparison.worker", self._arguments, environment, _PATIENCE)
        ready = process.answer(self._row_limit)
        if isinstance(ready, str):
            sys.exit(f"the measuring process does not start: {ready}")
        self.rows = {name: Work(**work) for name, work in ready["rows"].items()}
        return process
