"""aj.jit: functions compiled once per signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .._arrays import arrays
from .._core import pytree
from .._run.compiled import compile_call
from .._run.traced import Traced
from .._run.traced_call import TracedCall
from .._trace import eager
from .._trace.trace import Trace, current_trace
from .transformed import Transformed


class Jit(Transformed):
    """``aj.jit``: inside another trace the function is simply traced along."""

    def build(self, function: Callable[..., Any], args: Any) -> TracedCall:
        """Of a transformation its own computation: derived once, and not where a cache has it."""
        if (
            not isinstance(function, Transformed)
            or function._static_numbers
            or function._static_names
        ):
            return super().build(function, args)
        traced_call = function.build(function.function, args)
        traced_call.title = self.title
        return traced_call

    def inline(self, function: Callable[..., Any], args: Any) -> Any:
        positional, keyword = args
        return function(*positional, **keyword)


def jit(
    f: Callable[..., Any],
    target: str | None = None,
    static_argnums: Any = (),
    static_argnames: Any = (),
    memory_budget: int | None = None,
    check: str | None = None,
) -> Any:
    """Compiles ``f``: traced once per signature (structure, shapes, dtypes, strides).

    ``target``: "cpu", "cuda" or "cuda:1"; None: where the arguments lie, and for arrays in CPU
    memory what ADJIT_TARGET says, else the CPU.

    Static arguments are compared by value and may be anything hashable.

    ``memory_budget``: bytes that a call may take besides its arguments and results. Where the
    program would take more, intermediate results (activations that wait for the backward, say) are
    computed a second time instead of kept; where that does not do, ScheduleError names the stage
    that needs most. Memory that each thread needs for itself counts for as many threads as the
    process has cores. ``report["workspace_bytes"]`` of an executable is what a call takes. Inside
    other transformations (``grad(jit(f, memory_budget=...))``) the outermost ``jit`` decides.

    ``check="sync"``: a call on a GPU whose indices depend on data waits for them and raises
    BoundsError itself. By default it returns at once, and a later call of the function raises it.
    """
    numbers = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    numbers, names = _static_both_ways(f, numbers, names)
    name = getattr(f, "title", None) or getattr(f, "__name__", "f")
    return Jit(f, f"jit({name})", target, numbers, names, memory_budget, check)


def _static_both_ways(
    f: Callable[..., Any], numbers: tuple[int, ...], names: tuple[str, ...]
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """As in JAX: what is static by position is so by name, and the other way round."""
    if not numbers and not names:
        return numbers, names
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return numbers, names
    fixed = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    by_number = [fixed[n] for n in numbers if -len(fixed) <= n < len(fixed)]
    by_name = [fixed.index(n) for n in names if n in fixed]
    known = {n % len(fixed) if fixed else n for n in numbers}
    return (
        (*numbers, *[n for n in by_name if n not in known]),
        tuple(dict.fromkeys([*names, *by_number])),
    )


def run_once(build: Callable[[Trace], Any]) -> Any:
    """Traces, compiles and runs something that only captures arrays."""
    traced = Traced(lambda: build(current_trace()), ((), {}), "compute")  # type: ignore[arg-type]
    traced_call = TracedCall(
        traced, traced.computation, "compute",
        lambda outputs: pytree.unflatten(traced.structure, outputs),
    )  # fmt: skip
    framework = "numpy"
    for value in traced.captured:
        if (found := arrays.framework_of(value)) != "numpy":
            framework = found
    return compile_call(traced_call, []).run([], framework)


eager.register(jit, run_once)
