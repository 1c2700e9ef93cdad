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
    out = ids([NONE] * results)
    call(
        "adjit_trace_call", trace.handle.value, computation.value, len(arguments),
        ids(arguments), results, out,
    )  # fmt: skip
    return _tensors(trace, out)


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
    out = ids([NONE] * results)
    call(
        "adjit_trace_scan", trace.handle.value, step.value, ctypes.byref(options),
        len(operands), ids(operands), results, out,
    )  # fmt: skip
    return _tensors(trace, out)


def while_loop(trace: Trace, body: Handle, carries: int, operands: Sequence[int]) -> list[Tensor]:
    """A loop as long as its last carry is true."""
    out = ids([NONE] * carries)
    call(
        "adjit_trace_while", trace.handle.value, body.value, carries, len(operands),
        ids(operands), carries, out,
    )  # fmt: skip
    return _tensors(trace, out)


def checkpoint(
    trace: Trace, computation: Handle, arguments: Sequence[int], results: int
) -> list[Tensor]:
    """A call whose intermediates the derivative computes again."""
    out = ids([NONE] * results)
    call(
        "adjit_trace_checkpoint", trace.handle.value, computation.value, len(arguments),
        ids(arguments), results, out,
    )  # fmt: skip
    return _tensors(trace, out)


def custom_vjp(
    trace: Trace,
    computations: tuple[Handle, Handle, Handle],
    arguments: Sequence[int],
    closed: int,
    results: int,
) -> list[Tensor]:
    """A call with a gradient by hand: (primal, forward, backward)."""
    primal, forward, backward = computations
    out = ids([NONE] * results)
    call(
        "adjit_trace_custom_vjp", trace.handle.value, primal.value, forward.value,
        backward.value, closed, len(arguments), ids(arguments), results, out,
    )  # fmt: skip
    return _tensors(trace, out)


def _tensors(trace: Trace, numbers: Sequence[int]) -> list[Tensor]:
    return [trace.tensor(number) for number in numbers]
