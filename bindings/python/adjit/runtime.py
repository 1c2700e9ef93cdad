"""This process's context: what has been compiled in it, and its cache."""

from __future__ import annotations

from ._run.context import context, flush
from ._run.program import compilations

__all__ = ["compilations", "context", "flush"]
