"""Leaves of what traced functions are given, as tensors of the trace around a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._arrays import arrays
from .._core import dtypes, pytree
from .._core.errors import DTypeError
from .._run.traced import as_tensor
from .._trace import operators, scalars
from .._trace.tensor import Tensor
from .._trace.trace import Trace, current_trace
from .._trace.user_line import user_place


def enclosing_trace() -> Trace:
    """The current trace, where there is one."""
    trace = current_trace()
    assert trace is not None
    return trace


def as_traced(trace: Trace, leaf: Any) -> Tensor:
    """A leaf as a tensor of a trace, which captures arrays and outer tensors."""
    if scalars.is_scalar(leaf):
        return as_tensor(leaf)  # type: ignore[no-any-return]
    if not isinstance(leaf, Tensor) and not arrays.is_array(leaf):
        raise DTypeError(
            f"a {type(leaf).__name__} cannot be traced (at {user_place()}); use arrays, numbers "
            "and containers of them"
        )
    return trace.tensor(trace.resolve(leaf))


def is_weak(tensor: Tensor) -> bool:
    """Whether a tensor stands for a Python number."""
    return tensor.trace.is_weak(tensor.number)


def set_weak(tensors: Sequence[Tensor], weak: Sequence[bool]) -> None:
    """Results that stand for Python numbers do so outside the loop, too."""
    for tensor, one in zip(tensors, weak, strict=True):
        if one:
            tensor.trace.set_weak(tensor.number)


def as_type(tensor: Tensor, dtype: int) -> Tensor:
    """A tensor cast to the dtype of that number, where it has another."""
    if tensor.dtype_number == dtype:
        return tensor
    return operators.apply("astype", [tensor], {"dtype": dtypes.NAMES[dtype]})  # type: ignore[no-any-return]


def type_text(dtype: int, shape: tuple[int, ...]) -> str:
    """Dtype and shape as messages write them: "float32(2, 3)"."""
    return f"{dtypes.NAMES[dtype]}{shape}"


def leaf_names(structure: Any) -> str:
    """How a user would write the leaves of a structure."""
    return "(" + ", ".join(pytree.paths(structure, "carry")) + ")"


def name_of(f: Any) -> str:
    """What a function is called in titles."""
    return getattr(f, "__name__", "f").strip("<>") or "f"
