"""What operators take where a tensor is welcome: tensors, arrays, lists, numbers.

Python's numbers are weak: they take the dtype of what they meet. So are lists of them. NumPy's
scalars keep their dtype. The rule is docs/promotion.md's; this sorts operands for the library.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arrays import arrays
from .._core import dtypes
from .._core.errors import DTypeError
from .tensor import Tensor
from .trace import Trace

_PYTHON = (bool, int, float)


# What most calls are given.
_USUAL = frozenset((np.ndarray, Tensor, bool, int, float, type(None)))


class Weak(np.ndarray):
    """An array of Python numbers."""


def is_scalar(value: Any) -> bool:
    """Whether a value is a number of Python or a scalar of NumPy, as an operand."""
    return isinstance(value, (*_PYTHON, np.generic))


def is_weak(value: Any) -> bool:
    """Whether an operand takes the dtype of what it meets."""
    return isinstance(value, Weak) or (
        isinstance(value, _PYTHON) and not isinstance(value, np.generic)
    )


def checked(operation: str, values: Sequence[Any]) -> list[Any]:
    """Operands with lists as arrays; DTypeError names what is neither array nor number."""
    if _USUAL.issuperset(map(type, values)):
        return list(values)
    return [
        v
        if v is None or isinstance(v, Tensor) or is_scalar(v) or arrays.is_array(v)
        else _array_of(operation, v)
        for v in values
    ]


def _array_of(operation: str, value: Any) -> Any:
    if isinstance(value, range):
        value = list(value)
    if not isinstance(value, list | tuple):
        raise DTypeError(f"{operation}: {_refusal(value)}")
    leaves = list(_leaves(value))
    for leaf in leaves:
        if isinstance(leaf, Tensor) or (arrays.is_array(leaf) and np.ndim(leaf) > 0):
            raise DTypeError(
                f"{operation}: an operand is a {type(value).__name__} of arrays; join them with "
                "aj.stack or aj.concat"
            )
        if not is_scalar(leaf) and not arrays.is_array(leaf):
            raise DTypeError(f"{operation}: in a {type(value).__name__}, {_refusal(leaf)}")
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError) as error:
        raise DTypeError(f"{operation}: {value!r} is no array of numbers: {error}") from error
    if array.dtype == object:
        raise DTypeError(f"{operation}: an int of {value!r} does not fit int64; write a float")
    weak = array.dtype != bool and all(is_weak(leaf) for leaf in leaves)
    return array.view(Weak) if weak else array


def _leaves(value: Any) -> Any:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _refusal(value: Any) -> str:
    if isinstance(value, complex):
        return (
            f"the operand {value!r} is complex; there are no complex numbers: compute with the "
            "real and the imaginary part"
        )
    return f"an operand is a {type(value).__name__}; operators take tensors, arrays and numbers"


def literal(value: Any) -> Any:
    """A scalar as the library reads it: a number is weak, {dtype, value} is not."""
    if isinstance(value, np.generic):
        name = dtypes.NAMES[dtypes.number_of(value.dtype)]
        return {"dtype": name, "value": value.item()}
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        try:
            return float(value)
        except OverflowError as error:
            raise DTypeError(f"the number {value!r} is out of every dtype's range") from error
    return value


def split(
    trace: Trace, values: Sequence[Any], attributes: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Tensors apart, scalars as an attribute; None stands for an operand that is left out."""
    tensors = [v for v in values if v is not None and not is_scalar(v)]
    for k, v in enumerate(tensors):
        if isinstance(v, Weak):
            tensors[k] = trace.tensor(trace.resolve(v))
            trace.set_weak(tensors[k].number)
    if len(tensors) < len(values):
        scalars = [literal(v) if is_scalar(v) else None for v in values]
        attributes = {**attributes, "scalars": scalars}
    return tensors, attributes
