"""``out=``: results taken into given arrays."""

from __future__ import annotations

import bisect
import itertools
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import arrays, dtypes, pytree
from .built import Built
from .errors import DTypeError, Error, ShapeError


class Into:
    """The arrays that a call's results go to: a tree of the structure of what it returns.

    Row-major memory that overlaps no input is written by the kernels. Other arrays get a copy of
    the results, so an input may be given as its own result.
    """

    def __init__(self, out: Any, title: str) -> None:
        self.out = out
        self.title = title

    def targets(
        self, built: Built, specs: Sequence[tuple[int, tuple[int, ...]]],
        inputs: Sequence[arrays.View], framework: str,
    ) -> Targets:  # fmt: skip
        """Where each output goes.

        ``specs``: its dtype and shape; ``inputs``: those of the same call; ``framework``: of
        results that are not given. Error (ShapeError, DTypeError) where an array cannot take its
        result.
        """
        structure, numbers = built.places(lambda: [arrays.stand_in(framework, *s) for s in specs])
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
        taken = _Taken(inputs)
        made = []
        for number, (dtype, shape) in enumerate(specs):
            target = _Target(dtype, shape)
            if number in wanted:
                leaf, name = wanted[number]
                view = self._writable(leaf, name, dtype, shape)
                target.leaf = leaf
                if view is not None and not taken.by_input(view):
                    taken.add(view, name, self.title)
                    target.direct = view
            made.append(target)
        return Targets(made)

    def _writable(
        self, leaf: Any, name: str, dtype: int, shape: tuple[int, ...]
    ) -> arrays.View | None:
        """The array's memory if kernels may write it as it lies, None if it must be copied to."""
        where = f"{self.title}: {name}"
        if not arrays.is_array(leaf):
            raise DTypeError(f"{where} is a {type(leaf).__name__}; only arrays take results")
        framework = arrays.framework_of(leaf)
        if framework == "jax":
            raise Error(f"{where} is a JAX array, which cannot be written; pass a NumPy array")
        if framework == "torch":
            torch = sys.modules["torch"]
            if leaf.requires_grad and torch.is_grad_enabled():
                raise Error(
                    f"{where} is a torch tensor that requires a gradient, which writing would "
                    "make wrong; call under torch.no_grad(), or pass its .detach()"
                )
            own = leaf
        else:
            own = leaf if isinstance(leaf, np.ndarray) else np.asarray(leaf)
            if not own.flags.writeable:
                raise Error(f"{where} is read-only; pass an array that may be written")
        view = arrays.view(own)
        if view.shape != shape:
            raise ShapeError(f"{where} has shape {view.shape}, but the result has {shape}")
        if view.dtype != dtype:
            raise DTypeError(
                f"{where} is {dtypes.NAMES[view.dtype]}, but the result is {dtypes.NAMES[dtype]}"
            )
        return view if view.owner is own and arrays.is_row_major(view) else None


class _Target:
    """Where one output goes.

    Kernels write the ``direct`` array, or else a fresh one that is copied to ``leaf`` if there is
    one.
    """

    def __init__(self, dtype: int, shape: tuple[int, ...]) -> None:
        self.spec = (dtype, shape)
        self.leaf: Any = None
        self.direct: arrays.View | None = None
        self.fresh: Any = None

    def address(self) -> int:
        if self.direct is not None:
            return self.direct.address
        framework = "numpy" if self.leaf is None else arrays.framework_of(self.leaf)
        self.fresh, address = arrays.empty(framework, *self.spec)
        return address

    def finish(self) -> None:
        if self.leaf is None:
            return
        if arrays.framework_of(self.leaf) == "torch":
            torch = sys.modules["torch"]
            with torch.no_grad():
                if self.direct is None:
                    self.leaf.copy_(self.fresh)
                else:  # autograd must know that what it may have kept is another value now
                    torch.autograd.graph.increment_version(self.leaf)
        elif self.direct is None:
            np.copyto(np.asarray(self.leaf), self.fresh)


class Targets:
    """Where the outputs of one call go."""

    def __init__(self, targets: list[_Target]) -> None:
        self._targets = targets
        self.addresses = [t.address() for t in targets]

    def finish(self) -> None:
        """Called when the outputs are there: what could not be written in place is copied."""
        for target in self._targets:
            target.finish()


class _Taken:
    """Memory that an output must not overlap."""

    def __init__(self, inputs: Sequence[arrays.View]) -> None:
        extents = sorted(filter(None, map(_extent, inputs)))
        self._begins = [begin for begin, _ in extents]
        self._ends = [*itertools.accumulate([end for _, end in extents], max)]
        self._outputs: list[tuple[int, int, str]] = []

    def by_input(self, view: arrays.View) -> bool:
        extent = _extent(view)
        if extent is None:
            return False
        before = bisect.bisect_left(self._begins, extent[1])
        return before > 0 and self._ends[before - 1] > extent[0]

    def add(self, view: arrays.View, name: str, title: str) -> None:
        """Error where it overlaps what was added before."""
        extent = _extent(view)
        if extent is None:
            return
        k = bisect.bisect_left(self._outputs, (*extent, name))
        for begin, end, other in self._outputs[max(0, k - 1) : k + 1]:
            if begin < extent[1] and extent[0] < end:
                raise Error(
                    f"{title}: {other} and {name} overlap; each result needs its own memory"
                )
        self._outputs.insert(k, (*extent, name))


def _extent(view: arrays.View) -> tuple[int, int] | None:
    """The bytes from the lowest to the highest element; None without elements."""
    if not math.prod(view.shape):
        return None
    reaches = [(e - 1) * s for e, s in zip(view.shape, view.strides, strict=True)]
    size = dtypes.ITEM_SIZE[view.dtype]
    low, high = sum(min(r, 0) for r in reaches), sum(max(r, 0) for r in reaches)
    return view.address + low * size, view.address + (high + 1) * size
