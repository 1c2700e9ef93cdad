"""Element types: numbers of the C interface, NumPy dtypes, torch dtypes."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .errors import DTypeError

# (number, NumPy name, DLPack code, bits), as in adjit.h.
_ROWS = (
    (0, "bool", 6, 8),
    (1, "uint8", 1, 8),
    (2, "int8", 0, 8),
    (3, "int16", 0, 16),
    (4, "int32", 0, 32),
    (5, "int64", 0, 64),
    (6, "float16", 2, 16),
    (7, "bfloat16", 4, 16),
    (8, "float32", 2, 32),
    (9, "float64", 2, 64),
)
NAMES = tuple(row[1] for row in _ROWS)
BOOL, INT64, BFLOAT16, FLOAT64 = map(NAMES.index, ("bool", "int64", "bfloat16", "float64"))
_FIRST_FLOAT = NAMES.index("float16")  # floats have the highest numbers
DLPACK = {row[0]: (row[2], row[3]) for row in _ROWS}
ITEM_SIZE = tuple(row[3] // 8 for row in _ROWS)
_BY_NUMPY: dict[Any, int] = {np.dtype(row[1]): row[0] for row in _ROWS if row[1] != "bfloat16"}


def bfloat16() -> Any:
    """NumPy's bfloat16 from ml_dtypes, which is only needed where bfloat16 arrays occur."""
    try:
        import ml_dtypes  # optional, and takes longer than all of this package
    except ImportError as error:
        raise DTypeError("bfloat16 arrays in NumPy need the package ml_dtypes") from error
    return np.dtype(ml_dtypes.bfloat16)


def is_float(number: int) -> bool:
    """Whether a dtype number is a float type."""
    return number >= _FIRST_FLOAT


def to_numpy(number: int) -> Any:
    """The NumPy dtype of a number."""
    return bfloat16() if number == BFLOAT16 else np.dtype(NAMES[number])


def of_numpy(dtype: Any) -> int:
    """The number of a native-endian NumPy dtype; DTypeError for one that adjit lacks."""
    number = _BY_NUMPY.get(dtype)
    if number is not None:
        return number
    if dtype.name == "bfloat16":
        return BFLOAT16
    raise DTypeError(
        f"arrays of dtype {dtype} are not supported; convert to one of {', '.join(NAMES)}"
    )


def number_of(dtype: Any) -> int:
    """The number of anything that names a dtype: a string, a NumPy or torch dtype, a type."""
    if isinstance(dtype, str) and dtype in NAMES:
        return NAMES.index(dtype)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(dtype, torch.dtype):
        return NAMES.index(str(dtype).removeprefix("torch."))
    try:
        return of_numpy(np.dtype(dtype))
    except (TypeError, ValueError) as error:
        raise DTypeError(f"{dtype!r} is no dtype; use one of {', '.join(NAMES)}") from error
