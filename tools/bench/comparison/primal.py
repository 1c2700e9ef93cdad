"""adjit beside itself: what a derivative takes, over what the function takes that it is derived of.

The rows of the report, and bundle adjustment. Each is three functions of the same arrays: the
value, the derivative alone, and both at once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import adjit as aj
import numpy as np

from . import bundle, timing
from .measure import TOLERANCE, difference
from .workloads.listed import listed
from .workloads.workload import Workload, of_floats

KINDS = ("value", "gradient", "both")


@dataclass(frozen=True)
class Program:
    """``both`` gives the pair of what ``value`` and ``gradient`` give of the drawn arguments."""

    name: str
    draw: Callable[[], list[Any]]
    value: Callable[..., Any]
    gradient: Callable[..., Any]
    both: Callable[..., Any]


def programs() -> list[Program]:
    """Those of the report first."""
    return [
        *(of_row(workload) for workload in listed()),
        adjustment("bundle_adjustment", bundle.by_columns),
        adjustment("bundle_adjustment_rows", bundle.by_rows),
    ]


def adjustment(name: str, layout: Callable[..., Any]) -> Program:
    """As large as ADBench's first bundle; the derivative is the whole Jacobian."""
    both = bundle.both(layout)
    return Program(
        name, lambda: bundle.scene(cameras=49, points=7776, observations=31843),
        bundle.value(layout), lambda *arguments: both(*arguments)[1], both,
    )  # fmt: skip


def of_row(workload: Workload) -> Program:
    """The step of the report, with and without the value; arguments are (cotangent, *inputs)."""

    def draw() -> list[Any]:
        inputs = workload.draw()
        shape = np.shape(aj.jit(workload.ours)(*inputs))
        cotangent = np.random.default_rng(1).standard_normal(shape)
        return [cotangent.astype(workload.dtype), *inputs]

    def value(cotangent: Any, *inputs: Any) -> Any:
        return workload.ours(*inputs)

    def both(cotangent: Any, *inputs: Any) -> Any:
        f, floats = of_floats(workload.ours, list(inputs))
        out, pullback = aj.vjp(f, *floats)
        return out, pullback(cotangent)

    def gradient(*arguments: Any) -> Any:
        return both(*arguments)[1]

    return Program(workload.name, draw, value, gradient, both)


def measure(program: Program, seconds: float) -> dict[str, Any]:
    """Kind -> its numbers; refuses a pair that differs from value and gradient alone."""
    arguments = program.draw()
    compiled = {kind: aj.jit(getattr(program, kind)) for kind in KINDS}
    results = {kind: _leaves(f(*arguments)) for kind, f in compiled.items()}
    off = difference(results["both"], results["value"] + results["gradient"])
    if not off <= TOLERANCE["float32"]:
        raise RuntimeError(f"value and gradient together differ from each alone by {off:.1e}")
    steps: dict[str, Callable[[], Any]] = {
        kind: functools.partial(f, *arguments) for kind, f in compiled.items()
    }
    return {kind: asdict(t) for kind, t in timing.interleaved(steps, seconds).items()}


def _leaves(results: Any) -> list[Any]:
    """All arrays in order, in double precision."""
    if isinstance(results, (tuple, list)):
        return [leaf for part in results for leaf in _leaves(part)]
    return [np.asarray(results, np.float64)]
