"""Modules that a machine may be without: a framework that is missing measures nothing."""

from __future__ import annotations

import importlib
from typing import Any


class Missing:
    """Stands for a module that is not installed, and for all in it: an error once it is called."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, part: str) -> Missing:
        if part.startswith("__"):
            raise AttributeError(part)
        return Missing(f"{self._name}.{part}")

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise ModuleNotFoundError(f"{self._name} is not installed")

    def __bool__(self) -> bool:
        return False


def module(name: str) -> Any:
    """The module, or what stands for it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return Missing(name)
