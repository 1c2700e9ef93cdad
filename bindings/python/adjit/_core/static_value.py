"""Values that are part of a signature: what is compiled for one must not be taken for another."""

from __future__ import annotations

from typing import Any


class StaticValue:
    """A hashable value, equal to another of the same type and value only.

    Python's 1, 1.0 and True are equal, as are 0.0 and -0.0, but functions give other results for
    them.
    """

    __slots__ = ("_key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._key = _exact(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticValue) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _exact(value: Any) -> Any:
    kind = type(value)
    if kind is tuple:
        return (kind, tuple([_exact(v) for v in value]))
    return (kind, repr(value) if kind is float else value)
