"""Traces: computations under construction, one stack of them a thread."""

from __future__ import annotations

import ctypes
import json
import math
import os
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arrays import arrays
from .._core import dtypes
from .._core.errors import Error
from .._core.library import Handle, call, ids, longs
from .tensor import Tensor
from .user_line import user_line, user_place


class _Stack(threading.local):
    def __init__(self) -> None:
        self.traces: list[Trace] = []


stack = _Stack()  # of this thread


def current_trace() -> Trace | None:
    """The innermost trace that this thread is building, or None."""
    return stack.traces[-1] if stack.traces else None


class Trace:
    """A computation under construction. Use as a context manager: the innermost one is current."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.handle = Handle("trace", lambda out: call("adjit_trace_create", name.encode(), out))
        self.finished = False
        self.captured: list[Any] = []  # outer tensors and arrays that became hidden inputs
        self._captured_ids: dict[int, int] = {}
        # What index notation's parts have become here; weak, since ids of dead parts come again.
        self.notation_handles: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        # What the library writes a tensor's dtype, rank and shape to: made once, since a trace
        # asks after every operator. A trace belongs to one thread.
        self._info = ctypes.c_int(), ctypes.c_int32(), ctypes.POINTER(ctypes.c_int64)()
        self._info_out = tuple(map(ctypes.byref, self._info))

    def __enter__(self) -> Trace:
        stack.traces.append(self)
        return self

    def __exit__(self, *unused: object) -> None:
        stack.traces.remove(self)
        self.finished = True

    def mark(self, operation: str) -> None:
        """Tells the library where in the user's program the next stages come from."""
        file, line = user_line()
        name = os.fsencode(file)  # the bytes that it has on disk
        call("adjit_trace_set_source", self.handle.value, name, line, operation.encode())

    def tensor(self, number: int) -> Tensor:
        """The traced tensor of that number."""
        call("adjit_trace_tensor_info", self.handle.value, number, *self._info_out)
        dtype, rank, shape = self._info
        return Tensor(self, number, tuple(shape[: rank.value]), dtype.value)

    def input(self, name: str, dtype: int, shape: Sequence[int], weak: bool = False) -> Tensor:
        """The next parameter."""
        out = ids([0])
        call(
            "adjit_trace_input", self.handle.value, name.encode(), dtype, len(shape),
            longs(shape), int(weak), out,
        )  # fmt: skip
        return Tensor(self, out[0], tuple(shape), dtype)

    def is_weak(self, number: int) -> bool:
        """Whether a tensor stands for a Python number, whose dtype adapts."""
        weak = ctypes.c_int32()
        call("adjit_trace_tensor_is_weak", self.handle.value, number, ctypes.byref(weak))
        return weak.value != 0

    def set_weak(self, number: int) -> None:
        """Makes a tensor stand for a Python number."""
        call("adjit_trace_tensor_set_weak", self.handle.value, number)

    def capture(self, value: Any) -> int:
        """The number of a hidden input that stands for an outer tensor or a concrete array."""
        known = self._captured_ids.get(id(value))
        if known is not None:
            return known
        weak = False
        if isinstance(value, Tensor):
            dtype, shape = value.dtype_number, value.shape
            weak = value.trace.is_weak(value.number)
        else:
            try:
                view = arrays.view(value)
            except Error as error:
                raise type(error)(
                    f"'{self.name}' at {user_place()} uses an array: {error}"
                ) from None
            dtype, shape = view.dtype, view.shape
        number = self.input(f"captured{len(self.captured)}", dtype, shape, weak).number
        self.captured.append(value)  # keeps it alive, so that its id stays its own
        self._captured_ids[id(value)] = number
        return number

    def resolve(self, value: Any) -> int:
        """The number here of a tensor (of this or an enclosing trace) or array."""
        if isinstance(value, Tensor):
            if value.trace is self:
                return value.number
            if value.trace.finished or value.trace not in stack.traces:
                raise Error(
                    f"a traced value of '{value.trace.name}' (shape {value.shape}, dtype "
                    f"{value.dtype}) is used after its trace has ended; return it from the "
                    "function instead of keeping it in a variable outside"
                )
            return self.capture(value)
        return self.capture(value)

    def apply(
        self, name: str, tensors: Sequence[Any], attributes: dict[str, Any] | None = None
    ) -> list[Tensor]:
        """An operator on tensors and arrays."""
        numbers = [self.resolve(t) for t in tensors]
        self.mark(name)
        count = ctypes.c_int32(_most_results(name, tensors, attributes or {}))
        out = (ctypes.c_uint32 * count.value)()
        text = attributes_text(attributes).encode() if attributes else None
        call(
            "adjit_trace_operator", self.handle.value, name.encode(), len(numbers), ids(numbers),
            text, ctypes.byref(count), out,
        )  # fmt: skip
        return [self.tensor(out[k]) for k in range(count.value)]

    def finish(self, outputs: Sequence[int]) -> Handle:
        """Ends the trace; the computation's handle."""
        self.finished = True
        return Handle(
            "computation",
            lambda out: call(
                "adjit_trace_finish", self.handle.value, len(outputs), ids(outputs), out
            ),
        )


def _most_results(name: str, tensors: Sequence[Any], attributes: dict[str, Any]) -> int:
    """At least as many results as the operator has."""
    if name == "split":
        sections = attributes["sections_or_indices"]
        return min(max(1, int(sections)), 1 << 20) if np.ndim(sections) == 0 else len(sections) + 1
    if name == "unstack":
        return max([1, *map(int, tensors[0].shape)])
    return max(8, len(tensors))


def attributes_text(attributes: dict[str, Any]) -> str:
    """Attributes as JSON, which has no infinities and NaN: they are strings of that name."""
    try:
        return _encoder.encode(attributes)
    except ValueError:
        return _encoder.encode(_finite(attributes))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(v) for name, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    if isinstance(value, np.floating | np.ndarray):
        return _finite(value.tolist())
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    """JSON form of attribute values that json does not know."""
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.floating):
        return float(value)
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    return dtypes.NAMES[dtypes.number_of(value)]


_encoder = json.JSONEncoder(default=_plain, sort_keys=True, allow_nan=False)
