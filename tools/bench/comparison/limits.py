"""The time that no gradient step can beat on a machine.

It is the largest of what multiply-adds, memory and transcendental functions take by themselves,
and reads and updates at computed positions come on top: they share the load units with nothing
that could hide them. It leaves out what a call costs.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from .machine import Machine
from .workloads.workload import Work

#: What a function's evaluation costs, as FLOPs at the peak: 0.11 ns for exp, 0.2 for log and 0.22
#: for tanh on a core of 244 GFLOP/s, measured with the polynomials that we emit. A sine is an exp
#: with a longer reduction.
_FLOPS_OF_CALL = {"exp": 27, "log": 49, "tanh": 54, "sin": 40, "cos": 40}


@dataclass(frozen=True)
class Parts:
    """Milliseconds that each kind of work takes by itself."""

    fma: float
    mem: float
    fun: float
    gather: float


def parts_ms(work: Work, machine: Machine) -> Parts:
    """At the rates of the machine."""
    calls = sum(_FLOPS_OF_CALL[name] * count for name, count in work.calls.items())
    return Parts(
        1e3 * work.flops / machine.flops,
        1e3 * 4 * work.floats / machine.bandwidth,
        1e3 * calls / machine.flops,
        1e3 * work.gathers / machine.gathers,
    )


def limit_ms(work: Work, machine: Machine) -> float:
    """Milliseconds."""
    parts = parts_ms(work, machine)
    return max(parts.fma, parts.mem, parts.fun) + parts.gather


def reached(work: Work, machine: Machine, ms: float) -> dict[str, Any]:
    """{"limited_by": the part that takes longest, "share": of its rate that ``ms`` comes to}.

    The share is one of the multiply-adds' peak or of the triad (over 1 where arrays stay in a
    cache); None for functions and gathers, whose rates are estimates.
    """
    parts = asdict(parts_ms(work, machine))
    longest = max(parts, key=parts.__getitem__)
    share = parts[longest] / ms if longest in ("fma", "mem") else None
    return {"limited_by": longest, "share": share}
