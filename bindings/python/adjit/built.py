"""A computation that is ready to run, and what becomes of its outputs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ._library import Handle

if TYPE_CHECKING:
    from .transforms import Traced


class Built:
    """A computation ready to run or to be spliced, and what becomes of its outputs.

    Its inputs are the call's leaves, the captured values, the seeds; ``order`` says so where the
    computation takes them otherwise: input k is number order[k] of that list.
    """

    def __init__(
        self,
        traced: Traced,
        computation: Handle,
        title: str,
        rebuild: Callable[[list[Any]], Any],
        seeds: Sequence[Any] = (),
        order: Sequence[int] | None = None,
    ) -> None:
        self.traced = traced
        self.computation = computation
        self.title = title
        self._rebuild = rebuild
        self._plain: Callable[[list[Any]], Any] | None = None  # known after the first result
        self.seeds = list(seeds)  # arrays behind the captured inputs
        self.order = order

    def arranged(self, values: list[Any]) -> list[Any]:
        """Leaves, captured values and seeds as the computation takes them."""
        return values if self.order is None else [values[k] for k in self.order]

    def rebuild(self, outputs: list[Any]) -> Any:
        """What the function returns, from what the computation gives."""
        if self._plain is not None:
            return self._plain(outputs)
        made = self._rebuild(outputs)
        if len(outputs) == 1 and made is outputs[0]:
            self._plain = operator.itemgetter(0)
        elif type(made) is tuple and [*map(id, made)] == [*map(id, outputs)]:
            self._plain = tuple
        return made
