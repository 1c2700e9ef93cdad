"""Functions traced for one signature."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from .._arrays import arguments, arrays
from .._arrays.arguments import WEAK, Names
from .._core import dtypes, pytree
from .._core.errors import Error
from .._trace import operators, scalars
from .._trace.tensor import Tensor
from .._trace.trace import Trace


class Traced:
    """A function traced for one signature."""

    def __init__(self, function: Callable[..., Any], args: Any, name: str) -> None:
        """``args`` is a pair (positional, keyword) whose leaves are arrays, scalars, tensors."""
        started = time.perf_counter()
        leaves, structure = pytree.flatten(args)
        self.name = name
        self.specs = abstract(leaves, name, Names(structure, function))
        with Trace(name) as trace:
            inputs = [
                trace.input(f"x{k}", spec.dtype, spec.shape, spec.weak)
                for k, spec in enumerate(self.specs)
            ]
            positional, keyword = pytree.unflatten(structure, inputs)
            result = function(*positional, **keyword)
            outputs, self.structure = pytree.flatten(result)
            numbers = [output_number(trace, leaf) for leaf in outputs]
            # Which outputs stand for Python numbers; an ended trace does not tell.
            self.weak = [trace.is_weak(number) for number in numbers]
        self.input_count = len(leaves)
        self.captured = trace.captured
        self.output_count = len(numbers)
        self.computation = trace.finish(numbers)
        self.trace_ms = 1e3 * (time.perf_counter() - started)


class Abstract:
    """Stands for an argument of which only dtype (its number), shape and weakness matter."""

    def __init__(self, dtype: int, shape: tuple[int, ...], weak: bool = False) -> None:
        self.dtype = dtype
        self.shape = shape
        self.weak = weak


def abstract(leaves: Sequence[Any], name: str, names: Callable[[int], str]) -> list[Abstract]:
    """What tracing needs to know of the leaves of arguments of the function ``name``."""
    found = []
    for k, leaf in enumerate(leaves):
        if isinstance(leaf, Abstract):
            found.append(leaf)
        elif isinstance(leaf, Tensor):
            found.append(Abstract(leaf.dtype_number, leaf.shape, leaf.trace.is_weak(leaf.number)))
        else:
            (view,) = arguments.views([leaf], name, lambda _, k=k: names(k))  # type: ignore[misc]
            found.append(Abstract(view.dtype, view.shape, weak=type(leaf) in WEAK))
    return found


def output_number(trace: Trace, leaf: Any) -> int:
    """The number in a trace of a leaf that a function returns."""
    if scalars.is_scalar(leaf):
        return as_tensor(leaf).number  # type: ignore[no-any-return]
    if not isinstance(leaf, Tensor) and not arrays.is_array(leaf):
        raise Error(
            f"'{trace.name}' returns a {type(leaf).__name__}; traced functions return arrays, "
            "numbers, and containers of them"
        )
    return trace.resolve(leaf)


def as_tensor(leaf: Any) -> Any:
    """A number as a tensor of the current trace; anything else as it is.

    A NumPy scalar keeps its dtype; a Python number adapts to the dtypes that it meets.
    """
    if not scalars.is_scalar(leaf):
        return leaf
    weak = scalars.is_weak(leaf)
    dtype = arguments.view(leaf).dtype
    tensor = operators.apply("full", [leaf], {"shape": [], "dtype": dtypes.NAMES[dtype]})
    if weak:
        tensor.trace.set_weak(tensor.number)
    return tensor
