"""Names of the Python array API standard that are no operators of the library's table.

Constants, questions about dtypes, data from outside, and functions that are written with operators.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import arrays, dtypes, operators, scalars, tracing
from .errors import DTypeError

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
    if number == dtypes.NAMES.index("bfloat16"):
        import ml_dtypes

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
    with tracing.Trace("result_type") as trace:
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
        from .errors import DeviceError

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


def _number(value: Any) -> int:
    """The number of a dtype, or of an array's."""
    if isinstance(value, tracing.Tensor):
        return value.dtype_number
    if isinstance(value, np.generic):
        return dtypes.number_of(value.dtype)
    if arrays.is_array(value) and not isinstance(value, type):
        return arrays.view(value).dtype
    return dtypes.number_of(value)
