"""NumPy's arrays as objects whose fields the library reads by itself.

A call on arrays of layouts seen before passes the addresses of the objects: reading dtype, shape,
strides and address of an array in Python takes longer than a small kernel.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.errors import STATUS, DTypeError, Error, ShapeError
from .._core.library import Handle, ObjectForm, library

_POINTER = ctypes.sizeof(ctypes.c_void_p)
_HEADER = object.__basicsize__  # reference count and class
_WRITABLE = 0x0400  # NPY_ARRAY_WRITEABLE

# The fields of an ndarray, part of NumPy's binary interface: data, rank, shape, strides, base,
# dtype, flags. The items of a tuple lie in it, those of a list elsewhere.
_DATA, _RANK, _SHAPE, _STRIDES = [_HEADER + k * _POINTER for k in range(4)]
_DTYPE, _FLAGS = _HEADER + 5 * _POINTER, _HEADER + 6 * _POINTER
_ITEMS = tuple.__basicsize__
_COUNT = _HEADER


def _at(address: int, kind: Any = ctypes.c_void_p) -> Any:
    return kind.from_address(address).value


def _describes(array: Any) -> bool:
    """Whether the fields of an ndarray are where they are expected."""
    first = id(array)
    rank = array.ndim
    return (
        _at(first + _HEADER - _POINTER) == id(np.ndarray)
        and _at(first + _RANK, ctypes.c_int) == rank
        and (_at(first + _DATA) or 0) == array.__array_interface__["data"][0]
        and _at(first + _DTYPE) == id(array.dtype)
        and bool(_at(first + _FLAGS, ctypes.c_int) & _WRITABLE) == array.flags.writeable
        and all(
            _at(_at(first + field) + 8 * d, ctypes.c_int64) == value
            for field, values in ((_SHAPE, array.shape), (_STRIDES, array.strides))
            for d, value in enumerate(values)
        )
    )


def _form_is_known() -> bool:
    if sys.implementation.name != "cpython":
        return False
    plain = np.arange(24.0).reshape(4, 6)
    kept = np.zeros((3, 2), np.int8)
    kept.flags.writeable = False
    probes = (plain, plain[1:, ::2], plain[::-1], np.zeros((), np.int8), np.empty((0, 3)), kept)
    return (
        all(map(_describes, probes))
        and _at(id(probes) + _COUNT) == len(probes)
        and all(_at(id(probes) + _ITEMS + k * _POINTER) == id(x) for k, x in enumerate(probes))
    )


_KNOWN = _form_is_known()
_kinds = [None if name == "bfloat16" else np.dtype(name) for name in dtypes.NAMES]
_form = ObjectForm(
    ctypes.sizeof(ObjectForm), _HEADER - _POINTER, _DATA, _RANK, _SHAPE, _STRIDES, _DTYPE, _FLAGS,
    _WRITABLE, _COUNT, _ITEMS, id(np.ndarray),
    tuple(None if kind is None else id(kind) for kind in _kinds),
)  # fmt: skip


def _address_by_interface(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def _address_by_form(array: Any) -> int:
    return _at(id(array) + _DATA) or 0


#: The address of an ndarray's first element. Building the array interface takes ten times as long
#: as reading the field.
address_of: Callable[[Any], int] = _address_by_form if _KNOWN else _address_by_interface

#: Statuses that say that an object was not as the executable wants it, and nothing has run.
UNFIT = frozenset(STATUS[kind] for kind in (Error, ShapeError, DTypeError))


def runner(executable: Handle) -> Callable[[int, int], int]:
    """What runs an executable on tuples of ndarrays, given by their ids, for a status.

    The first tuple is of inputs, the second of outputs. Where NumPy's or CPython's objects are not
    those known, no objects fit.
    """
    if not _KNOWN:
        unfit = STATUS[Error]
        return lambda inputs, outputs: unfit
    if _kinds[dtypes.BFLOAT16] is None and "ml_dtypes" in sys.modules:
        _kinds[dtypes.BFLOAT16] = dtypes.bfloat16()
        _form.dtype_values[dtypes.BFLOAT16] = id(_kinds[dtypes.BFLOAT16])
    return functools.partial(
        library.adjit_executable_run_objects, executable.value.value, ctypes.addressof(_form)
    )
