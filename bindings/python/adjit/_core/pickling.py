"""Pickling: a function goes by its name where it has one, else without what it has compiled."""

from __future__ import annotations

import sys
from typing import Any


def name_in_module(value: Any) -> str | None:
    """The name under which a value is found again in its module; None where it is not.

    A decorated function is: the name that its function has is the decorated one's.
    """
    name = getattr(value, "__qualname__", None)
    found: Any = sys.modules.get(getattr(value, "__module__", None) or "")
    if not isinstance(name, str) or found is None:
        return None
    for part in name.split("."):
        found = getattr(found, part, None)
    return name if found is value else None


class ByName:
    """Pickled and copied by name where that finds it, else by its state."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        return name_in_module(self) or super().__reduce_ex__(protocol)
