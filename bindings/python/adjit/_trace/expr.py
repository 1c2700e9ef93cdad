"""Scalar expressions over axes, of which index notation is made."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._arrays import arrays
from .._core import dtypes
from .._core.errors import DTypeError, Error
from .._core.library import NONE, call, ids
from . import scalars
from .numpy_protocol import NumPyProtocol
from .tensor import Tensor
from .trace import Trace
from .user_line import user_place


class Axis:
    """An axis with ``lo <= value < hi``; in expressions it stands for its value."""

    def __init__(self, lo: int, hi: int, name: str = "") -> None:
        self.lo, self.hi, self.name = lo, hi, name

    def number(self, trace: Trace) -> int:
        found = trace.notation_handles.get(self)
        if found is None:
            out = ids([0])
            call(
                "adjit_axis_create",
                trace.handle.value,
                self.lo,
                self.hi,
                os.fsencode(self.name),
                out,
            )
            found = trace.notation_handles[self] = int(out[0])
        return found


class Expr(NumPyProtocol):
    """A scalar expression: the expressions that it is made of, and what makes it of their numbers.

    It is made when it is computed, once a trace.
    """

    __slots__ = ("make", "operands")

    def __init__(
        self,
        make: Callable[[Trace, list[int]], int],
        operands: Sequence[Expr] = (),
    ) -> None:
        self.make = make
        self.operands = operands

    def build(self, trace: Trace) -> int:
        """Its number in a trace, made with all that it stands on.

        Loops of any length write terms, so this does not recur.
        """
        known = trace.notation_handles
        waiting = [self]
        while waiting:
            expr = waiting[-1]
            if expr.make in known:
                waiting.pop()
                continue
            missing = [o for o in expr.operands if o.make not in known]
            if missing:
                waiting.extend(reversed(missing))
                continue
            waiting.pop()
            known[expr.make] = expr.make(trace, [known[o.make] for o in expr.operands])
        return int(known[self.make])

    def __bool__(self) -> bool:
        raise Error(
            f"Python control flow at {user_place()} on a scalar expression of the index notation; "
            "use aj.select(condition, a, b)"
        )

    def __array__(self, *unused: Any, **also_unused: Any) -> Any:
        raise Error(
            f"NumPy at {user_place()} is given a scalar expression of the index notation; read its "
            "arrays with aj.at(x, i, j), or pass them to the function as arguments"
        )

    def _no_number(self) -> Any:
        raise Error(
            f"a scalar expression of the index notation at {user_place()} has no value while it is "
            "written down; use adjit's functions (aj.exp, ...) and aj.at(x, i, j) on it"
        )

    __float__ = __int__ = __index__ = _no_number

    def __hash__(self) -> int:
        return id(self)

    def astype(self, dtype: Any) -> Expr:
        """A cast."""
        return cast(self, dtype)


def axis_expr(axis: Axis) -> Expr:
    """The axis's value."""

    def make(trace: Trace, _: list[int]) -> int:
        out = ids([0])
        call("adjit_expr_axis", trace.handle.value, axis.number(trace), out)
        return int(out[0])

    return Expr(make)


class ReduceAxis(Expr):
    """A reduction axis: an expression that stands for its value."""

    __slots__ = ("axis",)

    def __init__(self, axis: Axis) -> None:
        self.axis = axis
        super().__init__(axis_expr(axis).make)


def is_expr(value: Any) -> bool:
    """Whether a value belongs to the index notation."""
    return isinstance(value, Expr)


def _literal(value: Any) -> Expr:
    def make(trace: Trace, _: list[int]) -> int:
        out = ids([0])
        if isinstance(value, bool):
            call("adjit_expr_bool", trace.handle.value, int(value), out)
        elif isinstance(value, int):
            call("adjit_expr_int", trace.handle.value, value, out)
        else:
            call("adjit_expr_float", trace.handle.value, float(value), out)
        return int(out[0])

    return Expr(make)


def to_expr(value: Any) -> Expr:
    """Expressions as they are, Python numbers as literals, rank-0 tensors as reads."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, np.generic):
        return cast(_literal(value.item()), value.dtype)
    if scalars.is_scalar(value):
        return _literal(scalars.literal(value))
    if isinstance(value, Tensor) or arrays.is_array(value):
        return read(value, ())
    if isinstance(value, slice) or value is Ellipsis:
        raise Error(
            f"a slice at {user_place()} beside a scalar expression: index notation reads one "
            "element at a time; give every dimension an index, or slice the tensor before"
        )
    raise DTypeError(
        f"a {type(value).__name__} at {user_place()} is no scalar expression; index notation takes "
        "expressions, numbers, and tensors of rank 0"
    )


def apply_operation(name: str, operands: Sequence[Any]) -> Expr:
    """An operation by its name in the C interface."""
    exprs = [to_expr(o) for o in operands]

    def make(trace: Trace, numbers: list[int]) -> int:
        out = ids([0])
        trace.mark(name)
        call("adjit_expr_apply", trace.handle.value, name.encode(), len(numbers), ids(numbers), out)
        return int(out[0])

    return Expr(make, exprs)


def cast(value: Expr, dtype: Any) -> Expr:
    """A cast of an expression."""
    number = dtypes.number_of(dtype)

    def make(trace: Trace, numbers: list[int]) -> int:
        out = ids([0])
        call("adjit_expr_cast", trace.handle.value, numbers[0], number, out)
        return int(out[0])

    return Expr(make, [value])


def read(tensor: Any, index: Sequence[Any], mode: str = "error") -> Expr:
    """tensor[index...] for a traced tensor or an array."""
    exprs = [to_expr(i) for i in index]

    def make(trace: Trace, numbers: list[int]) -> int:
        number = trace.resolve(tensor)
        out = ids([0])
        trace.mark("read")
        call(
            "adjit_expr_read", trace.handle.value, number, len(numbers), ids(numbers),
            mode.encode(), out,
        )  # fmt: skip
        return int(out[0])

    return Expr(make, exprs)


def axes_of(axis: Any) -> list[Axis]:
    """The axes of ``axis=``: one reduce_axis, or several."""
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    for one in axes:
        if not isinstance(one, ReduceAxis):
            raise Error(
                f"the reduction of an expression at {user_place()} needs axis=: the "
                f"reduce_axis(...) to reduce over, or a tuple of them, not {one!r}"
            )
    return [one.axis for one in axes]


def reduce(name: str, body: Any, axis: Any, where: Any = None, ties: str | None = None) -> Expr:
    """A reduction of an expression over reduction axes, where ``where`` holds."""
    axes = axes_of(axis)
    expr = to_expr(body)
    guard = None if where is None else to_expr(where)

    def make(trace: Trace, made: list[int]) -> int:
        value, condition = made if len(made) == 2 else (made[0], NONE)
        numbers = [a.number(trace) for a in axes]
        out = ids([0])
        trace.mark(name)
        call(
            "adjit_expr_reduce", trace.handle.value, name.encode(), value, len(numbers),
            ids(numbers), condition, None if ties is None else ties.encode(), out,
        )  # fmt: skip
        return int(out[0])

    return Expr(make, [expr] if guard is None else [expr, guard])


def expr_dtype(trace: Trace, number: int) -> int:
    """The dtype number of a scalar expression of a trace."""
    dtype = ctypes.c_int()
    call("adjit_expr_dtype", trace.handle.value, number, ctypes.byref(dtype))
    return dtype.value


def _operators() -> None:
    binary = {
        "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floordiv",
        "mod": "mod", "pow": "pow", "lshift": "lshift", "rshift": "rshift",
    }  # fmt: skip

    def two(name: str, swapped: bool) -> Any:
        if swapped:
            return lambda self, other: apply_operation(name, [other, self])
        return lambda self, other: apply_operation(name, [self, other])

    def one(name: str) -> Any:
        return lambda self: apply_operation(name, [self])

    for python, name in binary.items():
        setattr(Expr, f"__{python}__", two(name, False))
        setattr(Expr, f"__r{python}__", two(name, True))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(Expr, f"__{name}__", two(name, False))
    # On expressions & | ~ are logical: conditions are what they are written for.
    for python, name in {"and": "and", "or": "or", "xor": "bitxor"}.items():
        setattr(Expr, f"__{python}__", two(name, False))
        setattr(Expr, f"__r{python}__", two(name, True))
    for python, name in {"invert": "not", "neg": "neg", "abs": "abs"}.items():
        setattr(Expr, f"__{python}__", one(name))


_operators()
