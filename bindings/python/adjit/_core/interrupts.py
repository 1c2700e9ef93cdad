"""Signals while the library works: their handlers run, and what they raise ends the call.

The library asks now and then, during calls that take long, in the thread that handles signals; it
takes the interpreter's lock for that by itself.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from ctypes import c_int32, c_uint32, c_uint64, c_void_p


class _Interpreter(ctypes.Structure):
    """adjit_interpreter."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("raised", c_int32),
        ("thread", c_uint64),
        ("acquire", c_void_p),
        ("release", c_void_p),
        ("check_signals", c_void_p),
        ("take", c_void_p),
        ("exception", c_void_p * 3),
    ]


_FUNCTIONS = ("PyGILState_Ensure", "PyGILState_Release", "PyErr_CheckSignals", "PyErr_Fetch")
_KNOWN = sys.implementation.name == "cpython"
_interpreter = _Interpreter(
    ctypes.sizeof(_Interpreter), 0, 0,
    *([ctypes.cast(getattr(ctypes.pythonapi, name), c_void_p) for name in _FUNCTIONS]
      if _KNOWN else []),
)  # fmt: skip


def _use_main_thread() -> None:
    _interpreter.thread = threading.main_thread().ident or 0


_use_main_thread()
os.register_at_fork(after_in_child=_use_main_thread)


def hook(library: ctypes.CDLL) -> tuple[int | None, int | None]:
    """adjit_context_options.cancel and cancel_user."""
    if not _KNOWN:
        return None, None
    return (
        ctypes.cast(library.adjit_interpreter_cancel, c_void_p).value,
        ctypes.addressof(_interpreter),
    )


#: Whether the main thread has not been told yet to ask: the package was imported in another one.
waiting = True


def ask_in_main_thread(library: ctypes.CDLL) -> None:
    """Has long calls that belong to no context ask, too, where this is the main thread."""
    global waiting
    if threading.get_ident() == _interpreter.thread:
        library.adjit_thread_set_cancel(*hook(library))
        waiting = False


def reraise() -> None:
    """Raises what ended the call that has just failed, if a handler of a signal did."""
    if not _interpreter.raised or threading.get_ident() != _interpreter.thread:
        return
    _interpreter.raised = 0
    exception = [c_void_p(pointer) for pointer in _interpreter.exception]
    ctypes.pythonapi.PyErr_Restore(*exception)  # which ctypes then raises
