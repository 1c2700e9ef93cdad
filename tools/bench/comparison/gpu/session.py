"""A measuring process of one framework seen from outside: asked, and ended where it hangs."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
from pathlib import Path
from typing import Any

from ..environment import with_checkout


class Session:
    """One that ends, or takes too long, loses what it had compiled and is started again."""

    def __init__(self, framework: str, rows: str, budget: float, patience: float = 1) -> None:
        """``patience``: seconds at the end; what it puts into a cache it writes beside answers."""
        self.framework = framework
        self._patience = patience
        self._arguments = [f"--framework={framework}", f"--rows={rows}", f"--budget={budget}"]
        self._process: subprocess.Popen[str] | None = None
        self.prepared: set[str] = set()
        #: Compiled by a process that has ended since.
        self.lost: set[str] = set()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._end(self._patience)

    def ask(self, job: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The answer; {"error": why} where there is none in that time."""
        if self._process is None:
            ready = self._start(seconds)
            if "error" in ready:
                self._end()  # the next one that asks starts another
                return ready
        assert self._process is not None and self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended: the answer will say so
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()
        return self._answer(seconds)

    def _start(self, seconds: float) -> dict[str, Any]:
        environment = with_checkout({
            **os.environ, "PYTHONWARNINGS": "ignore", "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        })  # fmt: skip
        self._process = subprocess.Popen(
            [sys.executable, "-m", "comparison.gpu.worker", *self._arguments],
            cwd=Path(__file__).parents[2], env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        return self._answer(seconds)

    def _answer(self, seconds: float) -> dict[str, Any]:
        assert self._process is not None and self._process.stdout is not None
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._process.stdout, selectors.EVENT_READ)
            late = not waiting.select(max(0.1, seconds))
        line = "" if late else self._process.stdout.readline()
        if line:
            return dict(json.loads(line))
        status = self._end()
        return {"error": f"took more than {seconds:.0f} s" if late else f"it ended: {status}"}

    def _end(self, patience: float = 0) -> int:
        """Its exit status; negative for a signal."""
        process, self._process = self._process, None
        self.lost |= self.prepared
        self.prepared.clear()
        if process is None:
            return 0
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        try:
            status = process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            status = process.wait()
        process.stdout.close()
        return status
