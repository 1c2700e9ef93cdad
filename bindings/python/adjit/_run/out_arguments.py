"""``out=``: results taken into given arrays."""

from __future__ import annotations

import bisect
import itertools
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arrays import arrays
from .._arrays.view import View
from .._core import dtypes, pytree
from .._core.errors import DeviceError, DTypeError, Error, ShapeError
from .traced_call import TracedCall


class OutArguments:
    """The arrays that a call's results go to: a tree of the structure of what it returns.

    Row-major memory that overlaps no input is written by the kernels. Other arrays get a copy of
    the results, so an input may be given as its own result.
    """

    def __init__(self, out: Any, title: str) -> None:
        self.out = out
        self.title = title

    def buffers(
        self, traced_call: TracedCall, specs: Sequence[tuple[int, tuple[int, ...]]],
        inputs: Sequence[View], framework: str,
    ) -> OutBuffers:  # fmt: skip
        """Where each output goes.

        ``specs``: its dtype and shape; ``inputs``: those of the same call; ``framework``: of what
        containers are shown. Error (ShapeError, DTypeError) where an array cannot take its result.
        """
        structure, numbers = traced_call.leaf_outputs(
            lambda: [arrays.stand_in(framework, *s) for s in specs]
        )
        leaves, found = pytree.flatten(self.out)
        names = pytree.paths(structure, "out")
        if found != structure:
            raise ShapeError(
                f"{self.title}: out has another structure than the result, whose arrays are "
                f"{', '.join(names) or 'none'}; give one array for each"
            )
        if None in numbers:
            raise Error(
                f"{self.title}: {names[numbers.index(None)]} is made by a container of the result, "
                "not computed; call without out="
            )
        wanted = dict(zip(numbers, zip(leaves, names, strict=True), strict=True))
        taken = _extents(inputs)
        buffers = [_OutBuffer(*spec) for spec in specs]
        memory = []
        for number, (leaf, name) in wanted.items():
            assert number is not None
            buffer = buffers[number]
            buffer.leaf = leaf
            array, view = self._writable(leaf, name, *buffer.spec)
            memory.append((array, name))
            if view is not None and not _overlaps(view, taken):
                buffer.direct = view
        self._check_apart(memory)
        return OutBuffers(buffers)

    def _writable(
        self, leaf: Any, name: str, dtype: int, shape: tuple[int, ...]
    ) -> tuple[Any, View | None]:
        """An ndarray on the array's memory, and a view if kernels may write it as it lies."""
        where = f"{self.title}: {name}"
        if arrays.is_torch(leaf):
            torch = sys.modules["torch"]
            if leaf.requires_grad and torch.is_grad_enabled():
                raise Error(
                    f"{where} is a torch tensor that requires a gradient, which writing would "
                    "make wrong; call under torch.no_grad(), or pass its .detach()"
                )
        elif isinstance(leaf, np.ndarray):
            if not leaf.flags.writeable:
                raise Error(f"{where} is read-only; pass an array that may be written")
        elif arrays.framework_of(leaf) == "jax":
            raise Error(f"{where} is a JAX array, which cannot be written; pass a NumPy array")
        else:
            raise DTypeError(
                f"{where} is a {type(leaf).__name__}; NumPy arrays and torch tensors take results"
            )
        try:
            view = arrays.view(leaf)
        except Error as error:
            raise type(error)(f"{where}: {error}") from None
        if view.device >= 0:
            raise DeviceError(
                f"{where} lies on cuda:{view.device}; out= takes arrays in CPU memory"
            )
        if view.shape != shape:
            raise ShapeError(f"{where} has shape {view.shape}, but the result has {shape}")
        if view.dtype != dtype:
            raise DTypeError(
                f"{where} is {dtypes.NAMES[view.dtype]}, but the result is {dtypes.NAMES[dtype]}"
            )
        array = leaf if isinstance(leaf, np.ndarray) else arrays.memory_of(view)
        repeats = any(e > 1 and s == 0 for e, s in zip(array.shape, array.strides, strict=True))
        if repeats and array.size:
            raise Error(f"{where} has several elements in one place; pass an array of its own")
        return array, view if view.owner is leaf and arrays.is_row_major(view) else None

    def _check_apart(self, memory: list[tuple[Any, str]]) -> None:
        """Error where two arrays have memory in common."""
        placed = sorted(
            ((*_bytes_of(array), k) for k, (array, _) in enumerate(memory) if array.size),
        )
        for k, (_, end, first) in enumerate(placed):
            for begin, _, second in itertools.islice(placed, k + 1, None):
                if begin >= end:
                    break
                if np.shares_memory(memory[first][0], memory[second][0]):
                    one, other = (memory[n][1] for n in sorted((first, second)))
                    raise Error(
                        f"{self.title}: {one} and {other} overlap; each result needs its own memory"
                    )


class _OutBuffer:
    """Where one output goes.

    Kernels write the ``direct`` array, or else a fresh one that is copied to ``leaf`` if there is
    one.
    """

    def __init__(self, dtype: int, shape: tuple[int, ...]) -> None:
        self.spec = (dtype, shape)
        self.leaf: Any = None
        self.direct: View | None = None
        self.fresh: Any = None

    def address(self) -> int:
        if self.direct is not None:
            return self.direct.address
        framework = "torch" if arrays.is_torch(self.leaf) else "numpy"
        self.fresh, address = arrays.empty(framework, *self.spec)
        return address

    def finish(self) -> None:
        if self.leaf is None:
            return
        if arrays.is_torch(self.leaf):
            torch = sys.modules["torch"]
            with torch.no_grad():
                if self.direct is None:
                    self.leaf.copy_(self.fresh)
                else:  # autograd must know that what it may have kept is another value now
                    torch.autograd.graph.increment_version(self.leaf)
        elif self.direct is None:
            np.copyto(self.leaf, self.fresh)


class OutBuffers:
    """Where the outputs of one call go."""

    def __init__(self, buffers: list[_OutBuffer]) -> None:
        self._buffers = buffers
        self.addresses = [buffer.address() for buffer in buffers]

    def finish(self) -> None:
        """Called when the outputs are there: what could not be written in place is copied."""
        for buffer in self._buffers:
            buffer.finish()


def _bytes_of(array: Any) -> tuple[int, int]:
    """From the lowest to behind the highest element of an ndarray that has some."""
    reaches = [(e - 1) * s for e, s in zip(array.shape, array.strides, strict=True)]
    first = array.__array_interface__["data"][0]
    low, high = sum(min(r, 0) for r in reaches), sum(max(r, 0) for r in reaches)
    return first + low, first + high + array.itemsize


def _extents(views: Sequence[View]) -> tuple[list[int], list[int]]:
    """Where arrays begin, ascending, and the farthest end of those up to there."""
    extents = sorted(_bytes_of(arrays.memory_of(v)) for v in views if math.prod(v.shape))
    ends = itertools.accumulate([end for _, end in extents], max)
    return [begin for begin, _ in extents], [*ends]


def _overlaps(view: View, taken: tuple[list[int], list[int]]) -> bool:
    if not math.prod(view.shape):
        return False
    begin, end = _bytes_of(arrays.memory_of(view))
    before = bisect.bisect_left(taken[0], end)
    return before > 0 and taken[1][before - 1] > begin
