"""What traced tensors compute with: Python's operators, indexing, NumPy's methods.

They are operators, which stand above the tensors that they make: so they are installed on Tensor
here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .._arrays import arrays
from .._core import dtypes
from .._core.errors import Error
from . import expr, operators
from .tensor import Tensor, needs_value

# Python's operators by the operator that they stand for.
_BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
_COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
_UNARY = {"neg": "negative", "pos": "positive", "abs": "abs", "invert": "bitwise_invert"}
_PROPERTIES = {"T": "transpose", "mT": "matrix_transpose"}
_REDUCTIONS = ("sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "argmax", "argmin")


_methods: dict[str, Any] = {}


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    _methods[function.__name__] = function
    return function


def _apply(name: str, tensors: Sequence[Any], attributes: dict[str, Any] | None = None) -> Any:
    return operators.apply(name, tensors, attributes or {})


def _binary(name: str, left: Any, right: Any) -> Any:
    if expr.is_expr(left) or expr.is_expr(right):
        return NotImplemented
    return operators.apply(name, [left, right], {})


@_method
def __iter__(self: Tensor) -> Iterator[Tensor]:  # noqa: N807
    return (self[k] for k in range(len(self)))


@_method
def __getitem__(self: Tensor, key: Any) -> Any:  # noqa: N807
    items = key if isinstance(key, tuple) else (key,)
    if any(expr.is_expr(item) for item in items):
        return expr.read(self, items)
    return _getitem(self, items)


def _getitem(tensor: Tensor, items: tuple[Any, ...]) -> Any:
    plain: list[Any] = []
    indices: list[Any] = []
    for item in items:
        if item is None:
            plain.append("newaxis")
        elif item is Ellipsis:
            plain.append("...")
        elif isinstance(item, slice):
            plain.append([_bound(item.start), _bound(item.stop), _bound(item.step)])
        elif isinstance(item, int | np.integer) and not isinstance(item, bool):
            plain.append(int(item))
        elif isinstance(item, Tensor) or arrays.is_array(item) or isinstance(item, list):
            plain.append({"tensor": len(indices)})
            indices.append(np.asarray(item) if isinstance(item, list) else item)
        else:
            raise Error(f"{item!r} is no index of a tensor")
    return _apply("getitem", [tensor, *indices], {"items": plain})


def _bound(value: Any) -> int | None:
    if isinstance(value, Tensor):
        raise needs_value(value, "a slice", "use aj.take, or pass the bound as a static argument")
    return None if value is None else int(value)


@_method
def at(self: Tensor, *index: Any, mode: str = "error") -> Any:
    """Index notation's read with a mode for indices that only the data tells."""
    return expr.read(self, index, mode)


@_method
def astype(self: Tensor, dtype: Any) -> Any:
    """A cast."""
    return _apply("astype", [self], {"dtype": dtypes.NAMES[dtypes.number_of(dtype)]})


@_method
def reshape(self: Tensor, *shape: Any) -> Any:
    """As NumPy's: one extent may be -1."""
    extents = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    return _apply("reshape", [self], {"shape": [int(e) for e in extents]})


@_method
def transpose(self: Tensor, *axes: Any) -> Any:
    """As NumPy's."""
    order = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple | list) else axes
    return _apply("transpose", [self], {"axes": list(order)} if order else {})


@_method
def flatten(self: Tensor) -> Any:
    """All elements along one axis."""
    return reshape(self, -1)


@_method
def ravel(self: Tensor) -> Any:
    """All elements along one axis."""
    return reshape(self, -1)


@_method
def squeeze(self: Tensor, axis: Any = None) -> Any:
    """Drops dimensions of extent 1."""
    return _apply("squeeze", [self], {"axis": axis})


@_method
def dot(self: Tensor, other: Any) -> Any:
    """NumPy's dot."""
    return _binary("dot", self, other)


@_method
def __pow__(self: Tensor, other: Any) -> Any:  # noqa: N807
    if type(other) in (int, float) and other == 2:
        return _apply("square", [self])
    return _binary("pow", self, other)


def _of_two(name: str, swapped: bool) -> Callable[..., Any]:
    if swapped:
        return lambda self, other: _binary(name, other, self)
    return lambda self, other: _binary(name, self, other)


def _of_one(name: str) -> Callable[..., Any]:
    return lambda self: _apply(name, [self])


def _reduction(name: str) -> Callable[..., Any]:
    return lambda self, axis=None, keepdims=False, **more: _apply(
        name, [self], {"axis": axis, "keepdims": keepdims, **more}
    )


def install() -> None:
    """Gives Tensor its methods."""
    for python, name in _BINARY.items():
        _methods[f"__{python}__"] = _of_two(name, False)
        _methods[f"__r{python}__"] = _of_two(name, True)
    _methods["__rpow__"] = _of_two("pow", True)
    for python, name in _COMPARISONS.items():
        _methods[f"__{python}__"] = _of_two(name, False)
    for python, name in _UNARY.items():
        _methods[f"__{python}__"] = _of_one(name)
    for name in _REDUCTIONS:
        _methods[name] = _reduction(name)
    for name, method in _methods.items():
        method.__name__, method.__qualname__ = name, f"Tensor.{name}"  # what messages call it
        setattr(Tensor, name, method)
    for name, operator in _PROPERTIES.items():
        setattr(Tensor, name, property(_of_one(operator)))
