"""The error hierarchy: one class per status of the C interface."""

from __future__ import annotations

import re


class Error(Exception):
    """Base of all errors of adjit. The message names operation, source line, values and remedy."""


class ShapeError(Error, ValueError):
    """Ranks or extents that do not fit."""


class DTypeError(Error, TypeError):
    """An element type that the operation does not take."""


class BoundsError(Error, IndexError):
    """An index out of range."""


class NotDifferentiableError(Error):
    """A derivative that does not exist."""


class ParseError(Error, SyntaxError):
    """Text notation that cannot be read; ``line`` and ``column`` count from 1."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        found = re.search(r":(\d+):(\d+): ", message)
        self.line = int(found.group(1)) if found else 0
        self.column = int(found.group(2)) if found else 0


class ScheduleError(Error):
    """A schedule that is illegal or belongs to another computation."""


class CompileError(Error):
    """Code that could not be generated."""


class DeviceError(Error):
    """A target that is not there."""


class CacheError(Error):
    """A cache that cannot be used as asked."""


class OutOfMemoryError(Error, MemoryError):
    """An allocation that failed."""


class InternalError(Error):
    """A bug in adjit: please report it."""


class CancelledError(Error):
    """A call that the caller's interrupt function ended; a signal raises Python's own exception."""


# By number of adjit_status.
BY_STATUS: dict[int, type[Error]] = {
    1: Error,
    2: ShapeError,
    3: DTypeError,
    4: BoundsError,
    5: NotDifferentiableError,
    6: ParseError,
    7: ScheduleError,
    8: CompileError,
    9: DeviceError,
    10: CacheError,
    11: OutOfMemoryError,
    12: InternalError,
    13: CancelledError,
}
#: The number of each.
STATUS = {kind: number for number, kind in BY_STATUS.items()}
