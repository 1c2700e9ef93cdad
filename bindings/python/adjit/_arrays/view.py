"""An array as an address with a layout."""

from __future__ import annotations

from typing import Any, NamedTuple


class View(NamedTuple):
    """A borrowed array: ``owner`` keeps the memory alive. Strides count elements.

    ``device`` is the ordinal of the GPU that it lies on, -1 in the host's memory.
    """

    address: int
    dtype: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    owner: Any
    device: int = -1

    @property
    def layout(self) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        """What code depends on of one array."""
        return (self.dtype, self.shape, self.strides)

    @property
    def signature(self) -> tuple[Any, ...]:
        """The same, and the GPU that it is for."""
        return self.layout if self.device < 0 else (*self.layout, self.device)


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of elements that lie one after the other, the last dimension's first."""
    strides = [1]
    for extent in shape[:0:-1]:
        strides.append(strides[-1] * max(extent, 1))
    return tuple(reversed(strides[: len(shape)]))
