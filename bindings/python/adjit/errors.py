"""The error hierarchy; adjit itself has the same names."""

from __future__ import annotations

from ._core.errors import (
    BoundsError,
    CacheError,
    CancelledError,
    CompileError,
    DeviceError,
    DTypeError,
    Error,
    InternalError,
    NotDifferentiableError,
    OutOfMemoryError,
    ParseError,
    ScheduleError,
    ShapeError,
)

__all__ = [
    "BoundsError",
    "CacheError",
    "CancelledError",
    "CompileError",
    "DTypeError",
    "DeviceError",
    "Error",
    "InternalError",
    "NotDifferentiableError",
    "OutOfMemoryError",
    "ParseError",
    "ScheduleError",
    "ShapeError",
]
