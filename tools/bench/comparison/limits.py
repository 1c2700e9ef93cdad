"""The time that no gradient step can beat on a machine.

It is the largest of what multiply-adds, memory and transcendental functions take by themselves,
and reads and updates at computed positions come on top: they share the load units with nothing
that could hide them. It leaves out what a call costs.
"""

from __future__ import annotations

from .machine import Machine
from .workload import Work

#: What a function's evaluation costs, as FLOPs at the peak: 0.11 ns for exp, 0.2 for log and 0.22
#: for tanh on a core of 244 GFLOP/s, measured with the polynomials that we emit. A sine is an exp
#: with a longer reduction.
_FLOPS_OF_CALL = {"exp": 27, "log": 49, "tanh": 54, "sin": 40, "cos": 40}


def limit_ms(work: Work, machine: Machine) -> float:
    """Milliseconds."""
    calls = sum(_FLOPS_OF_CALL[name] * count for name, count in work.calls.items())
    seconds = max(
        work.flops / machine.flops, calls / machine.flops, 4 * work.floats / machine.bandwidth
    )
    return 1e3 * (seconds + work.gathers / machine.gathers)
