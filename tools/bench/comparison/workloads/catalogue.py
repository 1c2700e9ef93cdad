"""The sets of rows that can be asked for."""

from __future__ import annotations

from collections.abc import Callable

from .dtypes import dtypes
from .growth import growth
from .listed import listed
from .parts import parts
from .shapes import shapes
from .workload import Workload

SETS: dict[str, Callable[[], list[Workload]]] = {
    "listed": listed,
    "shapes": shapes,
    "parts": parts,
    "growth": growth,
    "dtypes": dtypes,
}
