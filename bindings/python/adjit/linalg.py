"""Linear algebra: what the operator table has of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import operators

if TYPE_CHECKING:
    # The functions are made from the library's table; type checkers see them as Any.
    def __getattr__(name: str) -> Any: ...


__all__ = operators.install(globals(), "linalg.")

# The array API has these in both places.
_ALSO = ("diagonal", "matmul", "matrix_transpose", "outer", "tensordot", "trace", "vecdot")
__all__ += operators.install(globals(), only=_ALSO)
