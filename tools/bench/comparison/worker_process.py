"""A process that answers lines of JSON, seen from outside: asked, and ended where it hangs."""

from __future__ import annotations

import contextlib
import json
import selectors
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class WorkerProcess:
    """It is asked one thing at a time. Once there is no answer, it has been ended."""

    def __init__(
        self, module: str, arguments: list[str], environment: Mapping[str, str], patience: float
    ) -> None:
        """``patience``: seconds to end by itself where it gave no answer."""
        self._patience = patience
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=Path(__file__).parents[1], env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def ask(self, question: Any, seconds: float) -> dict[str, Any] | str:
        """The answer, or why there is none in that time."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended: the answer will say so
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
        return self.answer(seconds)

    def answer(self, seconds: float) -> dict[str, Any] | str:
        """To nothing that was asked: that it is ready."""
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._process.stdout, selectors.EVENT_READ)
            late = not waiting.select(seconds)
        line = "" if late else self._process.stdout.readline()
        if line:
            return dict(json.loads(line))
        status = self.end(self._patience)
        return f"took more than {round(seconds, 1):g} s" if late else f"the process ended: {status}"

    def kill(self) -> None:
        self._process.kill()

    def end(self, patience: float) -> int:
        """Its exit status; negative for a signal, which it gets after so many seconds."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            status = self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self._process.stdout.close()
        return status
