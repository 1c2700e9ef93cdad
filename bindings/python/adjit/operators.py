"""The operator table, and operators by name."""

from __future__ import annotations

from ._trace.operators import TABLE, Row, apply, install, names

__all__ = ["TABLE", "Row", "apply", "install", "names"]
