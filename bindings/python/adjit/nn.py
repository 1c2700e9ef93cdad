"""Neural-network functions with PyTorch's functional names and arguments (NCHW, OIHW)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import operators

if TYPE_CHECKING:
    # The functions are made from the library's table; type checkers see them as Any.
    def __getattr__(name: str) -> Any: ...


__all__ = operators.install(globals(), "nn.")
