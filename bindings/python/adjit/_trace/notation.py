"""Index notation: tensors computed element by element from expressions over axes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.errors import ShapeError
from .._core.library import NONE, call, ids, longs
from . import eager, operators
from .expr import (
    Axis,
    Expr,
    ReduceAxis,
    apply_operation,
    axes_of,
    axis_expr,
    expr_dtype,
    is_expr,
    read,
    to_expr,
)
from .trace import Trace, current_trace
from .user_line import user_place


def reduce_axis(lo: int, hi: int | None = None) -> ReduceAxis:
    """``reduce_axis(K)`` or ``reduce_axis(lo, hi)``."""
    first, last = (0, int(lo)) if hi is None else (int(lo), int(hi))
    return ReduceAxis(Axis(first, last, f"reduce_axis of {user_place()}"))


def at(tensor: Any, *index: Any, mode: str = "error") -> Expr:
    """``tensor[index...]`` as an expression, for NumPy's and torch's own arrays as well.

    ``mode`` ("clip", "wrap", "drop", "error") chooses for indices that only the data tells.
    """
    return read(tensor, index, mode)


def select(condition: Any, a: Any, b: Any) -> Any:
    """``condition ? a : b`` on expressions; aj.where on tensors and arrays."""
    if any(is_expr(v) for v in (condition, a, b)):
        return apply_operation("select", [condition, a, b])
    return operators.apply("where", [condition, a, b], {})


def _compute(trace: Trace, axes: Sequence[Axis], bodies: Sequence[Expr], name: str) -> Any:
    numbers = [b.build(trace) for b in bodies]
    axis_numbers = [a.number(trace) for a in axes]
    trace.mark(name)
    out = ids([NONE] * len(numbers))
    call(
        "adjit_trace_compute", trace.handle.value, b"t", len(axis_numbers), ids(axis_numbers),
        len(numbers), ids(numbers), out,
    )  # fmt: skip
    return [trace.tensor(out[k]) for k in range(len(numbers))]


def _in_trace(build: Callable[[Trace], Any]) -> Any:
    """Runs in the current trace, or at once as a program of its own when there is none."""
    trace = current_trace()
    return eager.run_once(build) if trace is None else build(trace)


def _axis_names(function: Callable[..., Any], rank: int) -> list[str]:
    """What the function calls its arguments; ShapeError unless it takes one an axis."""
    signature = inspect.signature(function)
    try:
        signature.bind(*range(rank))
    except TypeError as error:
        raise ShapeError(
            f"compute at {user_place()}: the shape has {rank} axes, so the function is called with "
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
    body = function(*[axis_expr(a) for a in axes])
    several = isinstance(body, tuple)
    bodies = [to_expr(b) for b in (body if several else (body,))]

    def build(trace: Trace) -> Any:
        results = _compute(trace, axes, bodies, "compute")
        return tuple(results) if several else results[0]

    return _in_trace(build)


@operators.by_hand
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
        if type(axes) is int and not isinstance(combine, str):
            axes, function, axis = function, combine, axes
        attributes = {"axis": axis, "mode": mode or "raise"}
        return operators.apply("scatter", [shape, axes, function], attributes)
    extents = [int(shape)] if isinstance(shape, int | np.integer) else [int(e) for e in shape]
    over = axes if isinstance(axes, tuple | list) else (axes,)
    own = axes_of(list(over))
    target, value = function(*over)
    targets = [to_expr(t) for t in (target if isinstance(target, tuple | list) else (target,))]
    body = to_expr(value)
    guard = None if where is None else to_expr(where)

    def build(trace: Trace) -> Any:
        numbers = [t.build(trace) for t in targets]
        result = body.build(trace)
        initial = NONE
        if not isinstance(init, int | float):
            initial = trace.resolve(init)
        elif init != 0:
            dtype = dtypes.NAMES[expr_dtype(trace, result)]
            full = operators.apply("full", [init], {"shape": extents, "dtype": dtype})
            initial = full.number
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
