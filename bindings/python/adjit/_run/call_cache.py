"""What a function has been compiled for, and how calls like the latest ones run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._arrays import arrays
from .._arrays.arguments import WEAK
from .._arrays.view import View
from .._core import pytree
from .compiled import Compiled, FastPath


class CallCache:
    """By layouts, where arrays are taken as they are; else by all that code depends on."""

    __slots__ = ("_by_layouts", "_compiled", "_last", "hot")

    def __init__(self) -> None:
        self._compiled: dict[Any, Compiled] = {}
        self._by_layouts: dict[Any, FastPath] = {}
        self._last: FastPath | None = None  # the one that ran last
        #: The same, if it ran before that, too: calls that change layouts every time do not try it.
        self.hot: FastPath | None = None

    def __len__(self) -> int:
        return len(self._compiled)

    def run(self, args: tuple[Any, ...]) -> tuple[bool, Any]:
        """Whether arguments laid out as those of a call before were run as they are; the result."""
        if self._by_layouts:
            leaves, structure = pytree.flatten(args)
            fast_path = self._by_layouts.get((structure, arrays.layouts_of(leaves)))
            if fast_path is not None and (made := fast_path.run(args)) is not None:
                self._ran(fast_path)
                return True, fast_path.rebuild(made)
        return False, None

    def compiled(
        self,
        structure: Any,
        static: Any,
        leaves: Sequence[Any],
        views: Sequence[View],
        compiled_now: Callable[[], Compiled],
    ) -> Compiled:
        """For arguments of a structure with these leaves; ``static``: the values of the others."""
        signatures = [(v.signature, type(x) in WEAK) for v, x in zip(views, leaves, strict=True)]
        key = structure, static, tuple(signatures)
        found = self._compiled.get(key)
        if found is None or not found.still_matches():
            found = self._compiled[key] = compiled_now()
        return found

    def keep_fast_path(
        self,
        compiled: Compiled,
        structure: Any,
        leaves: Sequence[Any],
        views: Sequence[View],
    ) -> None:
        """For calls by position with arrays like these, if they can be taken as they are."""
        fast_path = compiled.fast_path(leaves, structure, views)
        if fast_path is not None:
            self._by_layouts[structure, arrays.layouts_of(leaves)] = fast_path
            self._ran(fast_path)

    def _ran(self, fast_path: FastPath) -> None:
        self.hot = fast_path if fast_path is self._last else None
        self._last = fast_path
