"""Programs that run at once: what operators and index notation are outside a trace.

Compiling stands above them, and registers itself here when it is imported (transforms/jit.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .trace import Trace

_registered: dict[str, Callable[..., Any]] = {}


def register(
    compiled: Callable[[Callable[..., Any]], Callable[..., Any]],
    run_once: Callable[[Callable[[Trace], Any]], Any],
) -> None:
    """Says how to do what the two functions below do."""
    _registered.update(compiled=compiled, run_once=run_once)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function compiled, for arrays."""
    result: Callable[..., Any] = _registered["compiled"](function)
    return result


def run_once(build: Callable[[Trace], Any]) -> Any:
    """What ``build`` makes in a trace of its own, which captures arrays only: compiled and run."""
    return _registered["run_once"](build)
