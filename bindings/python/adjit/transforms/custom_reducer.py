"""Custom associative reducers for index notation: aj.reducer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core import dtypes
from .._core.library import NONE, call, ids
from .._trace.expr import Expr, axes_of, expr_dtype, to_expr
from .._trace.trace import Trace


def reducer(combine: Callable[..., Any], identity: Any) -> Callable[..., Any]:
    """A custom associative reducer: ``combine(left, right)`` on scalars or tuples of scalars.

    The result is called like aj.sum: ``r(body, axis=k, where=None)``; tuples in, tuples out.
    """
    several = isinstance(identity, tuple)
    identities = [to_expr(v) for v in (identity if several else (identity,))]
    count = len(identities)

    def run(body: Any, axis: Any, where: Any = None) -> Any:
        given = body if several else (body,)
        bodies = [to_expr(b) for b in given]
        axes = axes_of(axis)
        guard = None if where is None else to_expr(where)

        def build_all(trace: Trace) -> list[int]:
            known: list[int] | None = trace.notation_handles.get(build_all)
            if known is not None:
                return known
            values = _adapted(trace, [b.build(trace) for b in bodies], given)
            arguments = [_argument(trace, k, values[k % count]) for k in range(2 * count)]
            left, right = arguments[:count], arguments[count:]
            made = combine(*((tuple(left), tuple(right)) if several else (left[0], right[0])))
            combined = [to_expr(m).build(trace) for m in (made if several else (made,))]
            out = ids([NONE] * count)
            call(
                "adjit_expr_reduce_custom", trace.handle.value, count, ids(values),
                ids(combined), ids([i.build(trace) for i in identities]), len(axes),
                ids([a.number(trace) for a in axes]),
                NONE if guard is None else guard.build(trace), out,
            )  # fmt: skip
            found = trace.notation_handles[build_all] = [int(out[k]) for k in range(count)]
            return found

        operands = bodies if guard is None else [*bodies, guard]
        results = [Expr(_component(build_all, k), operands) for k in range(count)]
        return tuple(results) if several else results[0]

    return run


def _adapted(trace: Trace, values: list[int], given: Sequence[Any]) -> list[int]:
    """Components that are Python floats take the widest float type of the others."""
    weak = [isinstance(value, float) for value in given]
    others = [expr_dtype(trace, v) for v, w in zip(values, weak, strict=True) if not w]
    widest = max(others, default=0)
    if not dtypes.is_float(widest):
        return values
    adapted = list(values)
    for k, number in enumerate(values):
        if weak[k]:
            out = ids([0])
            call("adjit_expr_cast", trace.handle.value, number, widest, out)
            adapted[k] = int(out[0])
    return adapted


def _component(
    build_all: Callable[[Trace], list[int]], k: int
) -> Callable[[Trace, list[int]], int]:
    return lambda trace, _: build_all(trace)[k]


def _argument(trace: Trace, number: int, like: int) -> Expr:
    dtype = expr_dtype(trace, like)

    def make(t: Trace, _: list[int]) -> int:
        out = ids([0])
        call("adjit_expr_argument", t.handle.value, number, dtype, out)
        return int(out[0])

    return Expr(make)
