"""The shared library: where it is found, its functions in one table, statuses as exceptions."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from ctypes import (
    POINTER,
    c_char_p,
    c_double,
    c_int,
    c_int32,
    c_int64,
    c_uint32,
    c_uint64,
    c_void_p,
)
from pathlib import Path
from typing import Any

from . import interrupts
from .errors import BY_STATUS, Error

ABI_VERSION = 1
NONE = 0xFFFFFFFF


class DLTensor(ctypes.Structure):
    """DLPack's borrowed array."""

    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class ContextOptions(ctypes.Structure):
    """adjit_context_options."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("num_threads", c_int32),
        ("cache_directory", c_char_p),
        ("cache_mode", c_char_p),
        ("target_features", c_char_p),
        ("log", c_void_p),
        ("log_user", c_void_p),
        ("check_nan", c_int32),
        ("reserved", c_int32),
        ("keep_subnormals", c_int32),
        ("reserved_too", c_int32),
        ("cancel", c_void_p),
        ("cancel_user", c_void_p),
    ]


class LowerOptions(ctypes.Structure):
    """adjit_lower_options."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("target", c_char_p),
        ("title", c_char_p),
        ("schedule_json", c_char_p),
        ("trace_ms", c_double),
        ("memory_budget", c_int64),
    ]


class RunOptions(ctypes.Structure):
    """adjit_run_options."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("device", c_int32),
        ("stream", c_void_p),
        ("allocate", c_void_p),
        ("free", c_void_p),
        ("user", c_void_p),
        ("cancel", c_void_p),
        ("wait_for_checks", c_int32),
        ("reserved", c_int32),
    ]


class ObjectForm(ctypes.Structure):
    """adjit_object_form."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_int32),
        ("data", c_int32),
        ("rank", c_int32),
        ("shape", c_int32),
        ("strides", c_int32),
        ("dtype", c_int32),
        ("flags", c_int32),
        ("writable", c_int32),
        ("count", c_int32),
        ("items", c_int32),
        ("kind_value", c_void_p),
        ("dtype_values", c_void_p * 10),
    ]


class ScanOptions(ctypes.Structure):
    """adjit_scan_options."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("carries", c_int32),
        ("scanned", c_int32),
        ("reverse", c_int32),
        ("steps", c_int64),
        ("segment", c_int64),
    ]


_handle = c_void_p
_out = POINTER(c_void_p)
_text = POINTER(c_char_p)
_ids = POINTER(c_uint32)
_ints = POINTER(c_int32)
_longs = POINTER(c_int64)
_tensors = POINTER(POINTER(DLTensor))

# Every function that gives a status, with its argument types.
_FUNCTIONS: dict[str, list[Any]] = {
    "adjit_context_create": [POINTER(ContextOptions), _out],
    "adjit_context_flush": [_handle],
    "adjit_context_info": [_handle, _text],
    "adjit_gpu_of": [c_void_p, _ints],
    "adjit_thread_set_cancel": [c_void_p, c_void_p],
    "adjit_trace_create": [c_char_p, _out],
    "adjit_trace_set_source": [_handle, c_char_p, c_int32, c_char_p],
    "adjit_trace_input": [_handle, c_char_p, c_int, c_int32, _longs, c_int32, _ids],
    "adjit_trace_constant": [_handle, c_char_p, POINTER(DLTensor), _ids],
    "adjit_trace_tensor_info": [_handle, c_uint32, POINTER(c_int), _ints, POINTER(_longs)],
    "adjit_trace_tensor_is_weak": [_handle, c_uint32, _ints],
    "adjit_trace_tensor_set_weak": [_handle, c_uint32],
    "adjit_trace_operator": [_handle, c_char_p, c_int32, _ids, c_char_p, _ints, _ids],
    "adjit_trace_call": [_handle, _handle, c_int32, _ids, c_int32, _ids],
    "adjit_trace_scan": [_handle, _handle, POINTER(ScanOptions), c_int32, _ids, c_int32, _ids],
    "adjit_trace_while": [_handle, _handle, c_int32, c_int32, _ids, c_int32, _ids],
    "adjit_trace_checkpoint": [_handle, _handle, c_int32, _ids, c_int32, _ids],
    "adjit_trace_custom_vjp": [
        _handle, _handle, _handle, _handle, c_int32, c_int32, _ids, c_int32, _ids,
    ],
    "adjit_trace_finish": [_handle, c_int32, _ids, _out],
    "adjit_axis_create": [_handle, c_int64, c_int64, c_char_p, _ids],
    "adjit_expr_axis": [_handle, c_uint32, _ids],
    "adjit_expr_int": [_handle, c_int64, _ids],
    "adjit_expr_float": [_handle, c_double, _ids],
    "adjit_expr_bool": [_handle, c_int32, _ids],
    "adjit_expr_read": [_handle, c_uint32, c_int32, _ids, c_char_p, _ids],
    "adjit_expr_apply": [_handle, c_char_p, c_int32, _ids, _ids],
    "adjit_expr_cast": [_handle, c_uint32, c_int, _ids],
    "adjit_expr_dtype": [_handle, c_uint32, POINTER(c_int)],
    "adjit_expr_reduce": [_handle, c_char_p, c_uint32, c_int32, _ids, c_uint32, c_char_p, _ids],
    "adjit_expr_argument": [_handle, c_int32, c_int, _ids],
    "adjit_expr_reduce_custom": [
        _handle, c_int32, _ids, _ids, _ids, c_int32, _ids, c_uint32, _ids,
    ],
    "adjit_trace_compute": [_handle, c_char_p, c_int32, _ids, c_int32, _ids, _ids],
    "adjit_trace_scatter": [
        _handle, c_char_p, c_int32, _longs, c_int32, _ids, _ids, c_uint32, c_char_p, c_uint32,
        c_char_p, c_uint32, _ids,
    ],
    "adjit_text_module_create": [c_char_p, c_char_p, _out],
    "adjit_text_module_definitions": [_handle, _text],
    "adjit_text_module_instantiate": [
        _handle, c_char_p, c_int32, POINTER(c_int), _ints, _longs, _out,
    ],
    "adjit_computation_counts": [_handle, _ints, _ints],
    "adjit_computation_tensor": [
        _handle, c_int32, c_int32, POINTER(c_int), _ints, POINTER(_longs), _text,
    ],
    "adjit_computation_text": [_handle, _text],
    "adjit_computation_stages": [_handle, _text],
    "adjit_computation_vjp": [_handle, c_int32, _ints, c_int32, _ints, c_int32, _out],
    "adjit_computation_gradient": [_handle, c_int32, _ints, c_int32, c_int32, _out],
    "adjit_computation_jvp": [_handle, c_int32, _ints, c_int32, _out],
    "adjit_computation_vmap": [_handle, c_int32, _ints, c_int64, c_int32, _ints, _out],
    "adjit_computation_partition": [_handle, c_int32, c_int32, c_int64, _out, _out],
    "adjit_computation_lower": [
        _handle, _handle, c_int32, _tensors, POINTER(LowerOptions), _out,
    ],
    "adjit_lowered_text": [_handle, _text],
    "adjit_lowered_stages": [_handle, _text],
    "adjit_lowered_schedule": [_handle, _text],
    "adjit_lowered_schedule_json": [_handle, _text],
    "adjit_lowered_explain": [_handle, _text],
    "adjit_lowered_cost": [_handle, _text],
    "adjit_lowered_proposals": [_handle, c_int32, c_uint64, _text],
    "adjit_lowered_keep_schedule": [_handle, c_char_p],
    "adjit_lowered_compile": [_handle, _out],
    "adjit_lowered_export": [c_char_p, c_int32, _out, _text, c_char_p],
    "adjit_executable_run": [_handle, c_int32, _tensors, c_int32, _tensors],
    "adjit_executable_run_with": [
        _handle, c_int32, _tensors, c_int32, _tensors, POINTER(RunOptions),
    ],
    "adjit_executable_synchronize": [_handle],
    "adjit_executable_profile": [
        _handle, c_int32, c_void_p, c_int32, c_void_p, c_int32, _text,
    ],
    "adjit_executable_run_raw": [_handle, c_void_p, c_void_p],
    "adjit_executable_run_objects": [_handle, c_void_p, c_void_p, c_void_p],
    "adjit_executable_report": [_handle, _text],
    "adjit_executable_llvm": [_handle, _text],
    "adjit_executable_assembly": [_handle, _text],
    "adjit_executable_ptx": [_handle, _text],
}  # fmt: skip

_DESTROYERS = ("context", "trace", "text_module", "computation", "lowered", "executable")


def _find() -> str:
    named = os.environ.get("ADJIT_LIBRARY")
    if named:
        return named
    bundled = Path(__file__).parents[1] / "lib" / "libadjit.so"
    return str(bundled) if bundled.exists() else "libadjit.so.0"


def _load() -> ctypes.CDLL:
    path = _find()
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"the adjit library cannot be loaded from {path!r} ({error}); "
            "install the package, or set ADJIT_LIBRARY to the path of libadjit.so"
        ) from error
    for name, arguments in _FUNCTIONS.items():
        function = getattr(library, name, None)
        if function is None:
            raise ImportError(
                f"{path!r} has no {name}: it is of another version than this Python package; "
                "build or install both from the same source"
            )
        function.argtypes = arguments
        function.restype = c_int
    for noun in _DESTROYERS:
        function = getattr(library, f"adjit_{noun}_destroy")
        function.argtypes = [c_void_p]
        function.restype = None
    for name in ("adjit_version", "adjit_last_error_message", "adjit_operators"):
        getattr(library, name).argtypes = []
        getattr(library, name).restype = c_char_p
    library.adjit_abi_version.restype = c_uint32
    found = library.adjit_abi_version()
    if found != ABI_VERSION:
        raise ImportError(
            f"{path!r} has ABI version {found}, this package needs {ABI_VERSION}; "
            "install package and library of one release"
        )
    return library


library = _load()
interrupts.ask_in_main_thread(library)
os.register_at_fork(after_in_child=lambda: interrupts.ask_in_main_thread(library))


def failure(status: int) -> Error:
    """The exception of a status, with this thread's last message.

    Raises what a handler of a signal raised during the call, such as KeyboardInterrupt.
    """
    interrupts.reraise()
    message = library.adjit_last_error_message().decode("utf-8", "replace")
    return BY_STATUS.get(status, Error)(message)


def call(name: str, *arguments: Any) -> None:
    """Calls a function of the table; raises what its status says."""
    if interrupts.waiting:
        interrupts.ask_in_main_thread(library)
    try:
        status = getattr(library, name)(*arguments)
    except ctypes.ArgumentError as error:
        raise _raised_in_conversion(error) from None
    if status:
        raise failure(status)


def _raised_in_conversion(error: ctypes.ArgumentError) -> BaseException:
    """What was raised while ctypes converted an argument, whose type it hides in a message.

    The stack's end, a lack of memory or an interrupt may come there as anywhere.
    """
    _, _, rest = str(error).partition(": ")
    kind, _, message = rest.partition(": ")
    for known in (RecursionError, MemoryError, KeyboardInterrupt):
        if kind == known.__name__:
            return known(message)
    return error


class Handle:
    """Owns one opaque handle of the C interface."""

    __slots__ = ("__weakref__", "_destroy", "value")

    def __init__(self, noun: str, make: Callable[[Any], None]) -> None:
        self._destroy = getattr(library, f"adjit_{noun}_destroy")
        self.value = c_void_p()
        make(ctypes.byref(self.value))

    def __del__(self) -> None:
        if getattr(self, "value", None):
            self._destroy(self.value)
            self.value = c_void_p()

    def __reduce__(self) -> Any:
        raise TypeError(
            "what was lowered or compiled cannot be copied or pickled: it is of this process; "
            "pickle the function, whose code other processes find in the cache, or export it"
        )

    def text(self, name: str) -> str:
        """What a function with one string result says of this handle."""
        result = c_char_p()
        call(name, self.value, ctypes.byref(result))
        return (result.value or b"").decode("utf-8", "replace")


def ids(values: Any) -> Any:
    """An array of tensor, axis or expression numbers."""
    values = list(values)
    return (c_uint32 * max(1, len(values)))(*values)


def ints(values: Any) -> Any:
    """An array of int32."""
    values = list(values)
    return (c_int32 * max(1, len(values)))(*values)


def longs(values: Any) -> Any:
    """An array of int64."""
    values = list(values)
    return (c_int64 * max(1, len(values)))(*values)
