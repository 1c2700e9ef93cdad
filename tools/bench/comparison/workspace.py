"""What a peer's step allocates that is neither an input nor a result, at its peak.

What a library takes from the system by itself is not seen: the panels of MKL and OpenBLAS, what
Eigen packs for XLA. oneDNN asks PyTorch's allocator, and is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch._C._profiler import _EventType


def of_torch(run: Callable[[], tuple[torch.Tensor, ...]]) -> int:
    """Bytes, from what PyTorch's allocator reports during one step."""
    recording = torch.autograd.profiler.profile(profile_memory=True)
    with recording as recorded:
        results = run()
    events = _allocations(recorded.kineto_results.experimental_event_tree())
    by_time = sorted(events, key=lambda event: event.start_time_ns)
    changes = [(e.extra_fields.ptr, e.extra_fields.alloc_size) for e in by_time]
    return peak(changes, {r.untyped_storage().data_ptr() for r in results})


def _allocations(events: Iterable[Any]) -> Iterator[Any]:
    for event in events:
        if event.tag == _EventType.Allocation:
            yield event
        yield from _allocations(event.children)


def peak(changes: list[tuple[int, int]], results: set[int]) -> int:
    """Most bytes at a time, of (address, bytes, negative when given back).

    Left out are the blocks that lie at one of the addresses ``results`` in the end, and what was
    there before.
    """
    last = {address: k for k, (address, size) in enumerate(changes) if size > 0}
    kept = {last[address] for address in results if address in last}
    live: dict[int, int] = {}
    now = most = 0
    for k, (address, size) in enumerate(changes):
        if size < 0:
            now -= live.pop(address, 0)
        elif k not in kept:
            live[address] = size
            now += size
            most = max(most, now)
    return most


def of_jax(step: Any, arguments: list[Any]) -> int | None:
    """Bytes of XLA's temporary buffers; None where it does not say. Compiles nothing again."""
    analysis = step.lower(*arguments).compile().memory_analysis()
    return None if analysis is None else int(analysis.temp_size_in_bytes)
