"""Names of the Python array API standard that are not as the library's table has them.

Constants, questions about dtypes, data from outside, and functions that are written with operators.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import arrays
from .._core import dtypes
from .._core.errors import DeviceError, DTypeError, ShapeError
from . import operators, scalars
from .tensor import Tensor
from .trace import Trace, current_trace

e, inf, nan, pi, newaxis = math.e, math.inf, math.nan, math.pi, None

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8",),
    "integral": ("int8", "int16", "int32", "int64", "uint8"),
    "real floating": ("float16", "bfloat16", "float32", "float64"),
    "complex floating": (),
    "numeric": tuple(name for name in dtypes.NAMES if name != "bool"),
}


def finfo(type: Any) -> Any:
    """NumPy's of a float dtype or an array's; bfloat16's from ml_dtypes."""
    number = _number(type)
    if number == dtypes.BFLOAT16:
        import ml_dtypes  # optional

        return ml_dtypes.finfo(ml_dtypes.bfloat16)  # type: ignore[no-untyped-call]
    return np.finfo(dtypes.to_numpy(number))


def iinfo(type: Any) -> Any:
    """NumPy's of an integer dtype or an array's."""
    return np.iinfo(dtypes.to_numpy(_number(type)))


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is another, or of a kind ("real floating", ...), or of one of a tuple."""
    name = dtypes.NAMES[dtypes.number_of(dtype)]
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return name in _KINDS[kind]
    return name == dtypes.NAMES[dtypes.number_of(kind)]


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype of what these make together, as docs/promotion.md says."""
    if not arrays_and_dtypes:
        raise TypeError("result_type takes at least one array, number or dtype")
    with Trace("result_type") as trace:
        operands = [
            v if scalars.is_scalar(v) else trace.input(f"x{k}", _number(v), ())
            for k, v in enumerate(arrays_and_dtypes)
        ]
        found = operators.apply("stack", operands, {"axis": 0})
        return found.dtype


def can_cast(from_: Any, to: Any) -> bool:
    """Whether a dtype, or an array's, becomes another by promotion."""
    wanted = dtypes.to_numpy(_number(to))
    try:
        return bool(result_type(from_, wanted) == wanted)
    except DTypeError:
        return False


def from_dlpack(x: Any, device: Any = None, copy: bool | None = None) -> Any:
    """An array of NumPy on the memory of one that speaks DLPack, which lies on the CPU."""
    if device not in (None, "cpu"):
        raise DeviceError(f"from_dlpack: arrays go to the CPU only, not to {device!r}")
    view = arrays.view(x)
    array = arrays.memory_of(view).view(dtypes.to_numpy(view.dtype))
    return array.copy() if copy else array


def signbit(x: Any) -> Any:
    """Whether the sign is negative, of -0 too; NaN counts as positive."""
    return operators.apply("less", [operators.apply("copysign", [1.0, x], {}), 0], {})


def diff(x: Any, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours along an axis, ``n`` times over."""
    parts = [v for v in (prepend, x, append) if v is not None]
    if len(parts) > 1:
        x = operators.apply("concat", parts, {"axis": axis})
    for _ in range(n):
        extent = np.shape(x)[axis]
        cuts = {"sections_or_indices": [extent - 1], "axis": axis}
        first = operators.apply("split", [x], cuts)[0]
        later = operators.apply("split", [x], {**cuts, "sections_or_indices": [1]})[1]
        x = operators.apply("subtract", [later, first], {})
    return x


@operators.by_hand
def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """An array of one value, which may be a traced scalar."""
    extents = [shape] if isinstance(shape, int) else list(shape)
    return operators.apply("full", [fill_value], {"shape": extents, **_dtype(dtype)})


@operators.by_hand
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    """As the array API's."""
    if stop is None:
        start, stop = 0, start
    return operators.apply(
        "arange", [], {"start": start, "stop": stop, "step": step, **_dtype(dtype)}
    )


def asarray(obj: Any, dtype: Any = None, copy: bool | None = None) -> Any:
    """As the array API's: an array of numbers, nested lists of them, or an array of a framework.

    Floats of Python become float32, ints int64, as in creation; arrays and NumPy's scalars keep
    their dtype. Arrays are copied where their dtype changes, or where ``copy`` asks for it.
    """
    (value,) = scalars.checked("asarray", [obj])
    if dtype is None and scalars.is_weak(value):
        kind = np.asarray(value).dtype
        dtype = "float32" if kind == np.float64 else kind
    if scalars.is_scalar(value):
        return operators.apply("full", [value], {"shape": [], **_dtype(dtype)})
    if isinstance(value, scalars.Weak):
        value = value.view(np.ndarray)
    if current_trace() is None and not isinstance(value, Tensor):
        seen = arrays.view(value)
        if copy is not True and (dtype is None or dtypes.number_of(dtype) == seen.dtype):
            return value
    elif dtype is None:
        return operators.apply("positive", [value], {})
    name = dtypes.NAMES[seen.dtype] if dtype is None else dtypes.NAMES[dtypes.number_of(dtype)]
    return operators.apply("astype", [value], {"dtype": name})


def empty(shape: Any, dtype: Any = "float32") -> Any:
    """As the array API's; the elements are 0."""
    return full(shape, 0, dtype)


def empty_like(x: Any, dtype: Any = None) -> Any:
    """As the array API's; the elements are 0."""
    return operators.apply("zeros_like", [x], _dtype(dtype))


@operators.by_hand
def einsum(subscripts: str, *operands: Any) -> Any:
    """As NumPy's: any number of operands, repeated and missing indices.

    Three operands or more are joined pair by pair, in the order in which a gradient takes the
    fewest multiply-adds.
    """
    return operators.apply("einsum", operands, {"subscripts": subscripts})


def cumulative_sum(x: Any, *, axis: int | None = None, include_initial: bool = False) -> Any:
    """As the array API's: the running sum, with a leading 0 on request. Linear in time."""
    return _cumulative("cumsum", x, axis, include_initial, 0)


def cumulative_prod(x: Any, *, axis: int | None = None, include_initial: bool = False) -> Any:
    """As the array API's: the running product, with a leading 1 on request. Linear in time."""
    return _cumulative("cumprod", x, axis, include_initial, 1)


def _cumulative(name: str, x: Any, axis: int | None, include_initial: bool, first: int) -> Any:
    if axis is None:
        if len(x.shape) != 1:
            raise ShapeError(f"{name}: axis is needed for an array of {len(x.shape)} dimensions")
        axis = 0
    result = operators.apply(name, [x], {"axis": axis})
    if not include_initial:
        return result
    extents = list(result.shape)
    extents[axis] = 1
    return operators.apply(
        "concat", [full(extents, first, dtype=result.dtype), result], {"axis": axis}
    )


@operators.by_hand
def broadcast_arrays(*tensors: Any) -> Any:
    """All tensors at their common shape."""
    return operators.apply("broadcast_arrays", tensors, {})


@operators.by_hand
def meshgrid(*tensors: Any, indexing: str = "xy") -> Any:
    """Coordinate grids of vectors."""
    return operators.apply("meshgrid", tensors, {"indexing": indexing})


def _number(value: Any) -> int:
    """The number of a dtype, or of an array's."""
    if isinstance(value, Tensor):
        return value.dtype_number
    if isinstance(value, np.generic):
        return dtypes.number_of(value.dtype)
    if arrays.is_array(value) and not isinstance(value, type):
        return arrays.view(value).dtype
    return dtypes.number_of(value)


def _dtype(dtype: Any) -> dict[str, Any]:
    return {} if dtype is None else {"dtype": dtypes.NAMES[dtypes.number_of(dtype)]}
