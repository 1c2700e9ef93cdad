"""``out=``: results taken into given arrays."""

from __future__ import annotations

import bisect
import itertools
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arrays import arrays, gpu
from .._arrays.view import View, row_major
from .._core import dtypes, pytree
from .._core.errors import DeviceError, DTypeError, Error, ShapeError
from .traced_call import TracedCall


class OutArguments:
    """The arrays that a call's results go to: a tree of the structure of what it returns.

    Row-major memory that overlaps no input is written by the kernels. Other arrays get a copy of
    the results, so an input may be given as its own result. On a GPU they lie there or in CPU
    memory, for which the call waits.
    """

    def __init__(self, out: Any, title: str) -> None:
        self.out = out
        self.title = title

    def buffers(
        self, traced_call: TracedCall, specs: Sequence[tuple[int, tuple[int, ...]]],
        inputs: Sequence[View], framework: str, device: int,
    ) -> OutBuffers:  # fmt: skip
        """Where each output goes.

        ``specs``: its dtype and shape; ``inputs``: those of the same call; ``framework``: of what
        containers are shown; ``device``: the GPU that the call runs on, -1 for the CPU. Error
        (ShapeError, DTypeError, DeviceError) where an array cannot take its result.
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
            self._check_device(name, view, device)
            memory.append((array, name))
            buffer.device = view.device
            if view.owner is leaf and arrays.is_row_major(view) and not _overlaps(view, taken):
                buffer.direct = view
            elif not _can_copy(leaf):
                raise Error(
                    f"{self.title}: {name} is a {type(leaf).__name__} on a GPU that is not "
                    "row-major or overlaps an input; only PyTorch's and CuPy's get a copy of the "
                    "results then: pass a row-major array of its own"
                )
        self._check_apart(memory)
        return OutBuffers(buffers, framework, device)

    def _check_device(self, name: str, view: View, device: int) -> None:
        if view.device < 0 or view.device == device:
            return
        raise DeviceError(
            f"{self.title}: {name} lies on cuda:{view.device}, but the function runs on "
            + (
                'the CPU, where its arguments lie; pass these on that GPU, or target="cuda", or '
                "take results in CPU memory"
                if device < 0
                else f"cuda:{device}; results lie there or in CPU memory"
            )
        )

    def _writable(
        self, leaf: Any, name: str, dtype: int, shape: tuple[int, ...]
    ) -> tuple[Any, View]:
        """An ndarray on the array's memory (of a GPU's, never to be read), and its view.

        The view's owner is another array where kernels cannot write this one as it lies.
        """
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
        elif gpu.has_interface(leaf):
            if leaf.__cuda_array_interface__["data"][1]:
                raise Error(f"{where} is read-only; pass an array that may be written")
        else:
            raise DTypeError(
                f"{where} is a {type(leaf).__name__}; NumPy arrays, torch tensors and arrays on a "
                "GPU take results"
            )
        try:
            view = arrays.view(leaf)
        except Error as error:
            raise type(error)(f"{where}: {error}") from None
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
        return array, view

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
        self.device = -1  # of the leaf
        self.direct: View | None = None
        self.fresh: Any = None

    def place(self, framework: str, device: int) -> View:
        """What kernels write: on that GPU, or -1, in a call of that framework."""
        if self.direct is not None:
            return self.direct
        if self.leaf is not None:
            framework, device = arrays.framework_of(self.leaf), self.device
        if device >= 0:
            self.fresh = gpu.empty(framework, *self.spec, device)
        if self.fresh is not None:
            return arrays.view(self.fresh)
        kind = "torch" if framework == "torch" else "numpy"
        self.fresh, address = arrays.empty(kind, *self.spec)
        return View(address, *self.spec, row_major(self.spec[1]), self.fresh)

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
            if isinstance(self.leaf, np.ndarray):
                np.copyto(self.leaf, self.fresh)
            else:
                gpu.copy(self.leaf, self.fresh)


class OutBuffers:
    """Where the outputs of one call go."""

    def __init__(self, buffers: list[_OutBuffer], framework: str, device: int) -> None:
        self._buffers = buffers
        self.views = [buffer.place(framework, device) for buffer in buffers]

    def finish(self) -> None:
        """Called when the outputs are there, or will be in the order of the call's stream.

        What could not be written in place is copied.
        """
        for buffer in self._buffers:
            buffer.finish()


def _can_copy(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray) or arrays.framework_of(leaf) in ("torch", "cupy")


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
