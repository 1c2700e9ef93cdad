"""Finished computations that a trace calls: as they are, in loops, with gradients of their own."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from .._core.library import NONE, Handle, ScanOptions, call, ids
from .tensor import Tensor
from .trace import Trace


def splice(
    trace: Trace, computation: Handle, arguments: Sequence[int], results: int
) -> list[Tensor]:
    """Splices a finished computation."""
    return _called("adjit_trace_call", trace, (computation.value,), arguments, results)


def scan(
    trace: Trace,
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
    named = (step.value, ctypes.byref(options))
    return _called("adjit_trace_scan", trace, named, operands, results)


def while_loop(trace: Trace, body: Handle, carries: int, operands: Sequence[int]) -> list[Tensor]:
    """A loop as long as its last carry is true."""
    return _called("adjit_trace_while", trace, (body.value, carries), operands, carries)


def checkpoint(
    trace: Trace, computation: Handle, arguments: Sequence[int], results: int
) -> list[Tensor]:
    """A call whose intermediates the derivative computes again."""
    return _called("adjit_trace_checkpoint", trace, (computation.value,), arguments, results)


def custom_vjp(
    trace: Trace,
    computations: tuple[Handle, Handle, Handle],
    arguments: Sequence[int],
    closed: int,
    results: int,
) -> list[Tensor]:
    """A call with a gradient by hand: (primal, forward, backward)."""
    named = (*(computation.value for computation in computations), closed)
    return _called("adjit_trace_custom_vjp", trace, named, arguments, results)


def _called(
    function: str, trace: Trace, named: Sequence[object], arguments: Sequence[int], results: int
) -> list[Tensor]:
    """The results of a C function that takes `named`, then tensors, and gives tensors."""
    out = ids([NONE] * results)
    call(function, trace.handle.value, *named, len(arguments), ids(arguments), results, out)
    return [trace.tensor(number) for number in out]
