"""Where in the user's program a call comes from: the innermost frame outside this package."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path
from types import FrameType

_PACKAGE = str(Path(__file__).parents[1]) + os.sep
#: What a user could have written, too.
_EXAMPLES = _PACKAGE + "demo" + os.sep


def user_line() -> tuple[str, int]:
    """File and line of the innermost frame outside this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not _is_ours(file):
            return file, frame.f_lineno
        frame = frame.f_back
    return "", 0


@functools.lru_cache(maxsize=4096)
def _is_ours(file: str) -> bool:
    return file.startswith(_PACKAGE) and not file.startswith(_EXAMPLES)


def user_place() -> str:
    """The same as messages write it: "file:line"."""
    return "{}:{}".format(*user_line())
