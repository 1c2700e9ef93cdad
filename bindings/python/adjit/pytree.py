"""Nested containers of arrays: flattening, rebuilding, and containers of one's own."""

from __future__ import annotations

from ._core.pytree import flatten, leaf_count, paths, register_pytree, unflatten

__all__ = ["flatten", "leaf_count", "paths", "register_pytree", "unflatten"]
