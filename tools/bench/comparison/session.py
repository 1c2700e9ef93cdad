"""A measuring process seen from outside: started, asked, stopped when it hangs."""

from __future__ import annotations

import contextlib
import json
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .environment import variables, with_checkout
from .workloads.workload import Work


class Session:
    """A worker with one allocator; a row that ends it costs only itself."""

    def __init__(self, allocator: str, threads: int, arguments: list[str], row_limit: float):
        self._allocator = allocator
        self._threads = threads
        self._arguments = arguments
        self._row_limit = row_limit
        self._cache = tempfile.TemporaryDirectory(prefix="adjit-bench-")
        self._process: subprocess.Popen[str] | None = None
        self.rows: dict[str, Work] = {}

    def __enter__(self) -> Session:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self._cache.cleanup()

    def ask(self, row: str, without: Iterable[str] = ()) -> dict[str, Any]:
        """The row's numbers without some frameworks; {"row": {"error": ...}} if it has none."""
        if self._process is None:
            self._start()
        assert self._process is not None and self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended: the answer will say so
            self._process.stdin.write(json.dumps([row, list(without)]) + "\n")
            self._process.stdin.flush()
        answer = self._answer()
        return {"row": {"error": answer}} if isinstance(answer, str) else answer

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "comparison.worker", *self._arguments],
            cwd=Path(__file__).parents[1],
            env=with_checkout(variables(self._allocator, self._threads, self._cache.name)),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        ready = self._answer()
        if isinstance(ready, str):
            sys.exit(f"the measuring process does not start: {ready}")
        self.rows = {name: Work(**work) for name, work in ready["rows"].items()}

    def _answer(self) -> Any:
        """The next line, or why there is none."""
        assert self._process is not None and self._process.stdout is not None
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._process.stdout, selectors.EVENT_READ)
            late = not waiting.select(self._row_limit)
        line = "" if late else self._process.stdout.readline()
        if line:
            return json.loads(line)
        status = self._stop()
        return f"took more than {self._row_limit:g} s" if late else f"the process ended: {status}"

    def _stop(self) -> int:
        """Its exit status; negative for a signal."""
        process, self._process = self._process, None
        if process is None:
            return 0
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        try:
            status = process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            status = process.wait()
        process.stdout.close()
        return status
