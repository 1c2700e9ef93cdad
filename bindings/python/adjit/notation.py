"""Index notation: scalar expressions over axes, compute, scatter, reductions, custom reducers."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import arrays, dtypes, scalars, tracing
from ._library import NONE, call, ids, longs
from .errors import DTypeError, Error, ShapeError
from .numpy_protocol import NumPyProtocol

# Operators of the table that are operations on expressions, too.
_OPERATIONS = {
    "abs": "abs", "sign": "sign", "negative": "neg", "exp": "exp", "exp2": "exp2",
    "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sqrt": "sqrt", "rsqrt": "rsqrt", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin",
    "acos": "acos", "atan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
    "asinh": "asinh", "acosh": "acosh", "atanh": "atanh", "sigmoid": "sigmoid",
    "nn.sigmoid": "sigmoid", "nn.tanh": "tanh", "erf": "erf", "erfc": "erfc",
    "erfinv": "erfinv", "lgamma": "lgamma", "digamma": "digamma", "floor": "floor",
    "ceil": "ceil", "trunc": "trunc", "round": "round", "isnan": "isnan", "isinf": "isinf",
    "maximum": "max", "minimum": "min", "pow": "pow", "atan2": "atan2", "fmod": "fmod",
    "remainder": "mod", "floor_divide": "floordiv", "add": "add", "subtract": "sub",
    "multiply": "mul", "divide": "div", "logical_and": "and", "logical_or": "or",
    "logical_not": "not", "where": "select", "equal": "eq", "not_equal": "ne", "less": "lt",
    "less_equal": "le", "greater": "gt", "greater_equal": "ge", "bitwise_and": "bitand",
    "bitwise_or": "bitor", "bitwise_xor": "bitxor",
}  # fmt: skip
_REDUCERS = ("sum", "prod", "max", "min", "argmax", "argmin", "any", "all")


def _here() -> str:
    return "{}:{}".format(*tracing.user_line())


class Axis:
    """An axis with ``lo <= value < hi``; in expressions it stands for its value."""

    def __init__(self, lo: int, hi: int, name: str = "") -> None:
        self.lo, self.hi, self.name = lo, hi, name

    def number(self, trace: tracing.Trace) -> int:
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
        make: Callable[[tracing.Trace, list[int]], int],
        operands: Sequence[Expr] = (),
    ) -> None:
        self.make = make
        self.operands = operands

    def build(self, trace: tracing.Trace) -> int:
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
            f"Python control flow at {_here()} on a scalar expression of the index notation; "
            "use aj.select(condition, a, b)"
        )

    def __array__(self, *unused: Any, **also_unused: Any) -> Any:
        raise Error(
            f"NumPy at {_here()} is given a scalar expression of the index notation; read its "
            "arrays with aj.at(x, i, j), or pass them to the function as arguments"
        )

    def _no_number(self) -> Any:
        raise Error(
            f"a scalar expression of the index notation at {_here()} has no value while it is "
            "written down; use adjit's functions (aj.exp, ...) and aj.at(x, i, j) on it"
        )

    __float__ = __int__ = __index__ = _no_number

    def __hash__(self) -> int:
        return id(self)

    def astype(self, dtype: Any) -> Expr:
        """A cast."""
        return cast(self, dtype)


def _axis_expr(axis: Axis) -> Expr:
    def make(trace: tracing.Trace, _: list[int]) -> int:
        out = ids([0])
        call("adjit_expr_axis", trace.handle.value, axis.number(trace), out)
        return int(out[0])

    return Expr(make)


class ReduceAxis(Expr):
    """A reduction axis: an expression that stands for its value."""

    __slots__ = ("axis",)

    def __init__(self, axis: Axis) -> None:
        self.axis = axis
        super().__init__(_axis_expr(axis).make)


def reduce_axis(lo: int, hi: int | None = None) -> ReduceAxis:
    """``reduce_axis(K)`` or ``reduce_axis(lo, hi)``."""
    first, last = (0, int(lo)) if hi is None else (int(lo), int(hi))
    return ReduceAxis(Axis(first, last, f"reduce_axis of {_here()}"))


def is_expr(value: Any) -> bool:
    """Whether a value belongs to the index notation."""
    return isinstance(value, Expr)


def _literal(value: Any) -> Expr:
    def make(trace: tracing.Trace, _: list[int]) -> int:
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
    if isinstance(value, tracing.Tensor) or arrays.is_array(value):
        return read(value, ())
    if isinstance(value, slice) or value is Ellipsis:
        raise Error(
            f"a slice at {_here()} beside a scalar expression: index notation reads one element "
            "at a time; give every dimension an index, or slice the tensor before"
        )
    raise DTypeError(
        f"a {type(value).__name__} at {_here()} is no scalar expression; index notation takes "
        "expressions, numbers, and tensors of rank 0"
    )


def apply_operation(name: str, operands: Sequence[Any]) -> Expr:
    """An operation by its name in the C interface."""
    exprs = [to_expr(o) for o in operands]

    def make(trace: tracing.Trace, numbers: list[int]) -> int:
        out = ids([0])
        trace.mark(name)
        call("adjit_expr_apply", trace.handle.value, name.encode(), len(numbers), ids(numbers), out)
        return int(out[0])

    return Expr(make, exprs)


def cast(value: Expr, dtype: Any) -> Expr:
    """A cast of an expression."""
    number = dtypes.number_of(dtype)

    def make(trace: tracing.Trace, numbers: list[int]) -> int:
        out = ids([0])
        call("adjit_expr_cast", trace.handle.value, numbers[0], number, out)
        return int(out[0])

    return Expr(make, [value])


def read(tensor: Any, index: Sequence[Any], mode: str = "error") -> Expr:
    """tensor[index...] for a traced tensor or an array."""
    exprs = [to_expr(i) for i in index]

    def make(trace: tracing.Trace, numbers: list[int]) -> int:
        number = trace.resolve(tensor)
        out = ids([0])
        trace.mark("read")
        call(
            "adjit_expr_read", trace.handle.value, number, len(numbers), ids(numbers),
            mode.encode(), out,
        )  # fmt: skip
        return int(out[0])

    return Expr(make, exprs)


def at(tensor: Any, *index: Any, mode: str = "error") -> Expr:
    """``tensor[index...]`` as an expression, for NumPy's and torch's own arrays as well.

    ``mode`` ("clip", "wrap", "drop", "error") chooses for indices that only the data tells.
    """
    return read(tensor, index, mode)


def select(condition: Any, a: Any, b: Any) -> Any:
    """``condition ? a : b`` on expressions; aj.where on tensors and arrays."""
    if any(is_expr(v) for v in (condition, a, b)):
        return apply_operation("select", [condition, a, b])
    from . import operators

    return operators.apply("where", [condition, a, b], {})


def _axes_of(axis: Any) -> list[Axis]:
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    for one in axes:
        if not isinstance(one, ReduceAxis):
            raise Error(
                f"the reduction of an expression at {_here()} needs axis=: the reduce_axis(...) to "
                f"reduce over, or a tuple of them, not {one!r}"
            )
    return [one.axis for one in axes]


def reduce(name: str, body: Any, axis: Any, where: Any = None, ties: str | None = None) -> Expr:
    """A reduction of an expression over reduction axes, where ``where`` holds."""
    axes = _axes_of(axis)
    expr = to_expr(body)
    guard = None if where is None else to_expr(where)

    def make(trace: tracing.Trace, made: list[int]) -> int:
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


def pop_reduction_arguments(
    name: str, args: Sequence[Any], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """``where`` and ``ties``, which reductions take when they reduce an expression."""
    if name not in _REDUCERS or not args or not is_expr(args[0]):
        return {}
    return {n: kwargs.pop(n) for n in ("where", "ties") if n in kwargs}


def apply_function(name: str, operands: Sequence[Any], bound: dict[str, Any]) -> Expr | None:
    """An operator's function called with expressions; None when there are none."""
    if not any(is_expr(o) for o in operands):
        return None
    if name in _REDUCERS:
        return reduce(name, operands[0], bound.get("axis"), bound.get("where"), bound.get("ties"))
    if name == "astype":
        return cast(to_expr(operands[0]), bound["dtype"])
    if name == "square":
        return apply_operation("mul", [operands[0], operands[0]])
    if name == "nn.relu":
        return apply_operation("max", [operands[0], 0])
    if name == "clip":
        return _clip(to_expr(operands[0]), bound.get("min"), bound.get("max"))
    if name not in _OPERATIONS:
        raise Error(
            f"'{name}' at {_here()} takes tensors, not scalar expressions; make a tensor with "
            "aj.compute and apply it to that"
        )
    return apply_operation(_OPERATIONS[name], operands)


def _clip(value: Expr, low: Any, high: Any) -> Expr:
    """``value`` within its bounds, its slope 1 at them (as aj.clip's on tensors); NaN stays."""
    bounded = value
    if high is not None:
        bounded = apply_operation("select", [value > high, high, bounded])
    if low is not None:
        bounded = apply_operation("select", [value < low, low, bounded])
    return bounded


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


def _compute(trace: tracing.Trace, axes: Sequence[Axis], bodies: Sequence[Expr], name: str) -> Any:
    numbers = [b.build(trace) for b in bodies]
    axis_numbers = [a.number(trace) for a in axes]
    trace.mark(name)
    out = ids([NONE] * len(numbers))
    call(
        "adjit_trace_compute", trace.handle.value, b"t", len(axis_numbers), ids(axis_numbers),
        len(numbers), ids(numbers), out,
    )  # fmt: skip
    return [trace.tensor(out[k]) for k in range(len(numbers))]


def _in_trace(build: Callable[[tracing.Trace], Any]) -> Any:
    """Runs in the current trace, or at once as a program of its own when there is none."""
    trace = tracing.current()
    if trace is not None:
        return build(trace)
    from .transforms import run_once

    return run_once(build)


def _axis_names(function: Callable[..., Any], rank: int) -> list[str]:
    """What the function calls its arguments; ShapeError unless it takes one an axis."""
    signature = inspect.signature(function)
    try:
        signature.bind(*range(rank))
    except TypeError as error:
        raise ShapeError(
            f"compute at {_here()}: the shape has {rank} axes, so the function is called with "
            f"{rank} indices, but it is {signature}"
        ) from error
    return [p.name for p in signature.parameters.values()]


def compute(shape: Any, function: Callable[..., Any]) -> Any:
    """result[i, j, ...] = function(i, j, ...); a tuple of bodies gives a tuple of results.

    Reductions may stand anywhere in the body. Outside a trace it runs at once.
    """
    extents = [int(shape)] if isinstance(shape, int | np.integer) else [int(e) for e in shape]
    names = _axis_names(function, len(extents))
    axes = [Axis(0, e, names[k] if k < len(names) else "") for k, e in enumerate(extents)]
    body = function(*[_axis_expr(a) for a in axes])
    several = isinstance(body, tuple)
    bodies = [to_expr(b) for b in (body if several else (body,))]

    def build(trace: tracing.Trace) -> Any:
        results = _compute(trace, axes, bodies, "compute")
        return tuple(results) if several else results[0]

    return _in_trace(build)


def scatter(
    shape: Any,
    axes: Any,
    function: Callable[..., Any],
    combine: str = "add",
    init: Any = 0,
    mode: str | None = None,
    where: Any = None,
    axis: int = -1,
) -> Any:
    """result[target] (+)= value over all points of the axes: function(r...) -> (target, value).

    ``init``: a tensor of that shape, a number, or 0 for the combiner's identity.
    Called with three tensors, ``scatter(x, indices, src, axis=-1)``, it is the operator of that
    name; torch's order, ``scatter(x, axis, indices, src)``, is understood.
    """
    if not callable(function):
        from . import operators

        if type(axes) is int and not isinstance(combine, str):
            axes, function, axis = function, combine, axes
        attributes = {"axis": axis, "mode": mode or "raise"}
        return operators.apply("scatter", [shape, axes, function], attributes)
    extents = [int(shape)] if isinstance(shape, int | np.integer) else [int(e) for e in shape]
    over = axes if isinstance(axes, tuple | list) else (axes,)
    own = _axes_of(list(over))
    target, value = function(*over)
    targets = [to_expr(t) for t in (target if isinstance(target, tuple | list) else (target,))]
    body = to_expr(value)
    guard = None if where is None else to_expr(where)

    def build(trace: tracing.Trace) -> Any:
        numbers = [t.build(trace) for t in targets]
        result = body.build(trace)
        initial = NONE
        if not isinstance(init, int | float):
            initial = trace.resolve(init)
        elif init != 0:
            from . import operators

            dtype = dtypes.NAMES[expr_dtype(trace, result)]
            initial = operators.full(tuple(extents), init, dtype=dtype).number
        condition = NONE if guard is None else guard.build(trace)
        out = ids([NONE])
        axis_numbers = [a.number(trace) for a in own]
        trace.mark("scatter")
        call(
            "adjit_trace_scatter", trace.handle.value, b"t", len(extents), longs(extents),
            len(axis_numbers), ids(axis_numbers), ids(numbers), result, combine.encode(), initial,
            (mode or "error").encode(), condition, out,
        )  # fmt: skip
        return trace.tensor(out[0])

    return _in_trace(build)


def expr_dtype(trace: tracing.Trace, number: int) -> int:
    """The dtype number of a scalar expression of a trace."""
    import ctypes

    dtype = ctypes.c_int()
    call("adjit_expr_dtype", trace.handle.value, number, ctypes.byref(dtype))
    return dtype.value
