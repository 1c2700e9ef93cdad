"""A computation that is ready to run, and what becomes of its outputs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from .._core import pytree
from .._core.library import Handle
from .traced import Traced

_FIRST = operator.itemgetter(0)


class TracedCall:
    """A computation ready to run or to be spliced, and what becomes of its outputs.

    Its inputs are the call's leaves, the captured values, the seeds; ``order`` says so where the
    computation takes them otherwise: input k is number order[k] of that list.
    """

    def __init__(
        self,
        traced: Traced,
        computation: Handle,
        title: str,
        rebuild: Callable[[Sequence[Any]], Any],
        seeds: Sequence[Any] = (),
        order: Sequence[int] | None = None,
        weak: Sequence[bool] | None = None,
    ) -> None:
        self.traced = traced
        self.computation = computation
        self.title = title
        self._rebuild = rebuild
        self._plain: Callable[[Sequence[Any]], Any] | None = None  # known after the first result
        self._leaf_outputs: tuple[Any, list[int | None]] | None = None
        self.seeds = list(seeds)  # arrays behind the captured inputs
        self.order = order
        self.weak = traced.weak if weak is None else weak  # outputs that stand for Python numbers

    def spliced(self, outputs: Sequence[Any]) -> Any:
        """What the function returns inside a trace, where numbers stay numbers."""
        for tensor, weak in zip(outputs, self.weak, strict=False):
            if weak:
                tensor.trace.set_weak(tensor.number)
        return self.rebuild(outputs)

    def order_inputs(self, values: list[Any]) -> list[Any]:
        """Leaves, captured values and seeds as the computation takes them."""
        return values if self.order is None else [values[k] for k in self.order]

    def rebuild(self, outputs: Sequence[Any]) -> Any:
        """What the function returns, from what the computation gives."""
        if self._plain is not None:
            return self._plain(outputs)
        made = self._rebuild(outputs)
        self._look_at(made, outputs)
        return made

    def _look_at(self, made: Any, outputs: Sequence[Any]) -> None:
        """Finds the fastest way to rebuild in a result."""
        self._plain = self._rebuild
        if len(outputs) == 1 and made is outputs[0]:
            self._plain = operator.itemgetter(0)
        elif type(made) is tuple and [*map(id, made)] == [*map(id, outputs)]:
            self._plain = tuple

    def outputs_of(self, result: Any, count: int) -> tuple[Any, ...] | None:
        """The computation's ``count`` outputs from a tree like what the function returns.

        None where it has another structure, or is not known to hold each output once.
        """
        if self._plain is tuple:
            return result if type(result) is tuple and len(result) == count else None
        if type(self._plain) is operator.itemgetter:
            return (result,)
        if self._leaf_outputs is None:
            return None
        structure, numbers = self._leaf_outputs
        leaves, found = pytree.flatten(result)
        if found != structure or len(numbers) != count or None in numbers:
            return None
        return tuple([leaf for _, leaf in sorted(zip(numbers, leaves, strict=True), key=_FIRST)])

    def leaf_outputs(self, outputs: Callable[[], Sequence[Any]]) -> tuple[Any, list[int | None]]:
        """The structure of what the function returns; of each leaf, which output it is.

        None for a leaf that a container makes itself, or gives twice. ``outputs`` makes arrays like
        the outputs, whose values do not matter: containers may look at their arrays.
        """
        if self._leaf_outputs is None:
            given = outputs()
            made = self._rebuild(given)
            self._look_at(made, given)
            leaves, structure = pytree.flatten(made)
            numbers = {id(array): k for k, array in enumerate(given)}
            self._leaf_outputs = structure, [numbers.pop(id(leaf), None) for leaf in leaves]
        return self._leaf_outputs
