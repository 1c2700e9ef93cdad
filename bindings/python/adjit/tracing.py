"""Traces and traced tensors: what user functions are called with while they are traced."""

from __future__ import annotations

import ctypes
import functools
import json
import math
import os
import sys
import threading
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import arrays, dtypes
from ._library import NONE, Handle, ScanOptions, call, ids, longs
from .errors import Error
from .numpy_protocol import NumPyProtocol

if TYPE_CHECKING:
    from types import FrameType

_PACKAGE = str(Path(__file__).parent)


class _Stack(threading.local):
    def __init__(self) -> None:
        self.traces: list[Trace] = []


stack = _Stack()  # of this thread


def current() -> Trace | None:
    """The innermost trace that this thread is building, or None."""
    return stack.traces[-1] if stack.traces else None


def user_line() -> tuple[str, int]:
    """File and line of the innermost frame outside this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not _is_ours(file):
            return file, frame.f_lineno
        frame = frame.f_back
    return "", 0


@functools.lru_cache(maxsize=4096)
def _is_ours(file: str) -> bool:
    return file.startswith(_PACKAGE) and not file.startswith(_PACKAGE + "/demo")


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
                where = "{}:{}".format(*user_line())
                raise type(error)(f"'{self.name}' at {where} uses an array: {error}") from None
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

    def call(self, computation: Handle, arguments: Sequence[int], results: int) -> list[Tensor]:
        """Splices a finished computation."""
        out = ids([NONE] * results)
        call(
            "adjit_trace_call", self.handle.value, computation.value, len(arguments),
            ids(arguments), results, out,
        )  # fmt: skip
        return [self.tensor(out[k]) for k in range(results)]

    def scan(
        self,
        step: Handle,
        operands: Sequence[int],
        counts: tuple[int, int],
        steps: int,
        results: int,
        reverse: bool = False,
        segment: int = 0,
    ) -> list[Tensor]:
        """A loop over time. ``counts``: carries and scanned operands; the others are fixed."""
        carries, scanned = counts
        options = ScanOptions(
            ctypes.sizeof(ScanOptions), carries, scanned, int(reverse), steps, segment
        )
        out = ids([NONE] * results)
        call(
            "adjit_trace_scan", self.handle.value, step.value, ctypes.byref(options),
            len(operands), ids(operands), results, out,
        )  # fmt: skip
        return [self.tensor(out[k]) for k in range(results)]

    def while_loop(self, body: Handle, carries: int, operands: Sequence[int]) -> list[Tensor]:
        """A loop as long as its last carry is true."""
        out = ids([NONE] * carries)
        call(
            "adjit_trace_while", self.handle.value, body.value, carries, len(operands),
            ids(operands), carries, out,
        )  # fmt: skip
        return [self.tensor(out[k]) for k in range(carries)]

    def checkpoint(
        self, computation: Handle, arguments: Sequence[int], results: int
    ) -> list[Tensor]:
        """A call whose intermediates the derivative computes again."""
        out = ids([NONE] * results)
        call(
            "adjit_trace_checkpoint", self.handle.value, computation.value, len(arguments),
            ids(arguments), results, out,
        )  # fmt: skip
        return [self.tensor(out[k]) for k in range(results)]

    def custom_vjp(
        self,
        computations: tuple[Handle, Handle, Handle],
        arguments: Sequence[int],
        closed: int,
        results: int,
    ) -> list[Tensor]:
        """A call with a gradient by hand: (primal, forward, backward)."""
        primal, forward, backward = computations
        out = ids([NONE] * results)
        call(
            "adjit_trace_custom_vjp", self.handle.value, primal.value, forward.value,
            backward.value, closed, len(arguments), ids(arguments), results, out,
        )  # fmt: skip
        return [self.tensor(out[k]) for k in range(results)]

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


class Tensor(NumPyProtocol):
    """A value of a trace: shape and dtype are known, elements are not."""

    __slots__ = ("dtype_number", "number", "shape", "trace")
    __array_priority__ = 1000

    def __init__(self, trace: Trace, number: int, shape: tuple[int, ...], dtype: int) -> None:
        self.trace = trace
        self.number = number
        self.shape = shape
        self.dtype_number = dtype

    @property
    def dtype(self) -> Any:
        return dtypes.to_numpy(self.dtype_number)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    @property
    def T(self) -> Any:  # noqa: N802 (the array API's name)
        return _apply("transpose", [self])

    @property
    def mT(self) -> Any:  # noqa: N802 (the array API's name)
        return _apply("matrix_transpose", [self])

    def __repr__(self) -> str:
        return f"Tensor(shape={self.shape}, dtype={self.dtype}, trace='{self.trace.name}')"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a traced value of rank 0")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        items = key if isinstance(key, tuple) else (key,)
        if any(notation.is_expr(item) for item in items):
            return notation.read(self, items)
        return _getitem(self, items)

    def at(self, *index: Any, mode: str = "error") -> Any:
        """Index notation's read with a mode for indices that only the data tells."""
        return notation.read(self, index, mode)

    def _no_value(self, what: str, remedy: str) -> Error:
        file, line = user_line()
        return Error(
            f"{what} at {file}:{line} needs the value of a traced tensor (shape {self.shape}, "
            f"dtype {self.dtype}), which is not known while '{self.trace.name}' is traced; {remedy}"
        )

    def __bool__(self) -> bool:
        raise self._no_value(
            "Python control flow (if, while, and, or, not)",
            "use aj.where or aj.select, or make the deciding argument static (static_argnums)",
        )

    def __int__(self) -> int:
        raise self._no_value("int()", "keep it a tensor (astype), or pass it as a static argument")

    def __index__(self) -> int:
        raise self._no_value("use as an index", "use aj.take, or pass it as a static argument")

    def __float__(self) -> float:
        raise self._no_value("float()", "keep it a tensor, or pass it as a static argument")

    def __array__(self, *unused: Any, **also_unused: Any) -> Any:
        raise self._no_value("conversion to a NumPy array", "use adjit's functions on it")

    def __hash__(self) -> int:
        return id(self)

    def astype(self, dtype: Any) -> Any:
        """A cast."""
        return _apply("astype", [self], {"dtype": dtypes.NAMES[dtypes.number_of(dtype)]})

    def reshape(self, *shape: Any) -> Any:
        """As NumPy's: one extent may be -1."""
        extents = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        return _apply("reshape", [self], {"shape": [int(e) for e in extents]})

    def transpose(self, *axes: Any) -> Any:
        """As NumPy's."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple | list) else axes
        return _apply("transpose", [self], {"axes": list(order)} if order else {})

    def flatten(self) -> Any:
        """All elements along one axis."""
        return self.reshape(-1)

    ravel = flatten

    def squeeze(self, axis: Any = None) -> Any:
        """Drops dimensions of extent 1."""
        return _apply("squeeze", [self], {"axis": axis})

    def dot(self, other: Any) -> Any:
        """NumPy's dot."""
        return _binary("dot", self, other)

    def __pow__(self, other: Any) -> Any:
        if type(other) in (int, float) and other == 2:
            return _apply("square", [self])
        return _binary("pow", self, other)


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
        raise value._no_value("a slice", "use aj.take, or pass the bound as a static argument")
    return None if value is None else int(value)


def _apply(name: str, tensors: Sequence[Any], attributes: dict[str, Any] | None = None) -> Any:
    return operators.apply(name, tensors, attributes or {})


def _binary(name: str, left: Any, right: Any) -> Any:
    if notation.is_expr(left) or notation.is_expr(right):
        return NotImplemented
    return operators.apply(name, [left, right], {})


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
_METHODS = ("sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "argmax", "argmin")


def _install() -> None:
    def binary(name: str, swapped: bool) -> Any:
        if swapped:
            return lambda self, other: _binary(name, other, self)
        return lambda self, other: _binary(name, self, other)

    def unary(name: str) -> Any:
        return lambda self: _apply(name, [self])

    def reduction(name: str) -> Any:
        return lambda self, axis=None, keepdims=False, **more: _apply(
            name, [self], {"axis": axis, "keepdims": keepdims, **more}
        )

    for python, name in _BINARY.items():
        setattr(Tensor, f"__{python}__", binary(name, False))
        setattr(Tensor, f"__r{python}__", binary(name, True))
    for python, name in _COMPARISONS.items():
        setattr(Tensor, f"__{python}__", binary(name, False))
    for python, name in _UNARY.items():
        setattr(Tensor, f"__{python}__", unary(name))
    for name in _METHODS:
        setattr(Tensor, name, reduction(name))
    Tensor.__rpow__ = binary("pow", True)  # type: ignore[attr-defined]


_install()

# These import this module; they are needed when a tensor is computed with.
from . import notation, operators  # noqa: E402
