"""The leaves of a call's arguments: their views, and what a user calls them in messages."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._arrays.view import View
from .._core import dtypes, pytree
from .._core.errors import DTypeError, Error
from . import arrays

#: dtype numbers of Python's numbers, which are weak as arguments, too.
WEAK = {bool: dtypes.BOOL, int: dtypes.INT64, float: dtypes.FLOAT64}


class Names:
    """What to call the leaves of (positional, keyword) arguments: ``p['b'] of argument 0``."""

    def __init__(self, structure: Any, function: Callable[..., Any]) -> None:
        """``function.kept``, where there is one: which arguments the positional ones are."""
        self._structure = structure
        self._function = function

    def __call__(self, position: int) -> str:
        positional, keyword = (s[-1] for s in self._structure[-1])
        kept = getattr(self._function, "kept", range(len(positional)))
        parameters = _parameters(getattr(self._function, "original", self._function))
        names = []
        for number, structure in zip(kept, positional, strict=True):
            parameter = parameters[number] if number < len(parameters) else ""
            names += _of_leaves(structure, parameter, f"argument {number}")
        for name, structure in zip(self._structure[-1][1][1], keyword, strict=True):
            names += _of_leaves(structure, name, f"argument '{name}'")
        return names[position] if position < len(names) else "a captured array"


def _of_leaves(structure: Any, parameter: str, argument: str) -> list[str]:
    if structure == pytree.LEAF:
        return [argument]
    return [f"{path} of {argument}" for path in pytree.paths(structure, parameter)]


def _parameters(function: Callable[..., Any]) -> list[str]:
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def views(leaves: Sequence[Any], title: str, names: Callable[[int], str]) -> list[View]:
    """Views of all leaves; an error names the first that cannot be had."""
    made: list[View] = []
    try:
        for leaf in leaves:
            made.append(view(leaf))
    except Error as error:
        raise type(error)(f"{names(len(made))} of '{title}' {error}") from None
    return made


def view(leaf: Any) -> View:
    """A view of an array or a number. The errors' messages go on after what names the leaf."""
    kind = type(leaf)
    if kind in WEAK:
        try:
            return arrays.view(np.asarray(leaf, dtypes.to_numpy(WEAK[kind])))
        except OverflowError:
            raise DTypeError(f"is {leaf}, which does not fit int64; pass a float") from None
    if isinstance(leaf, np.generic):
        leaf = np.asarray(leaf)
    elif not arrays.is_array(leaf):
        raise DTypeError(
            f"is a {kind.__name__}, which cannot be traced; pass arrays or numbers, or name it "
            "in static_argnums or static_argnames"
        )
    try:
        return arrays.view(leaf)
    except Error as error:
        raise type(error)(f"cannot be taken: {error}") from None
