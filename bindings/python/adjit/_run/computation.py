"""Computations: what they take and give, and how they are lowered."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arrays import arrays
from .._arrays.view import View
from .._core.errors import Error
from .._core.library import Handle, LowerOptions, call
from .context import context, target_for


def tensor_specs(computation: Handle, outputs: bool) -> list[tuple[int, tuple[int, ...]]]:
    """(dtype number, shape) of all inputs or outputs."""
    inputs_count, outputs_count = ctypes.c_int32(), ctypes.c_int32()
    call(
        "adjit_computation_counts", computation.value, ctypes.byref(inputs_count),
        ctypes.byref(outputs_count),
    )  # fmt: skip
    specs = []
    for k in range(outputs_count.value if outputs else inputs_count.value):
        dtype, rank = ctypes.c_int(), ctypes.c_int32()
        shape = ctypes.POINTER(ctypes.c_int64)()
        call(
            "adjit_computation_tensor", computation.value, int(outputs), k, ctypes.byref(dtype),
            ctypes.byref(rank), ctypes.byref(shape), None,
        )  # fmt: skip
        specs.append((dtype.value, tuple(shape[: rank.value])))
    return specs


def lower_computation(
    computation: Handle,
    views: Sequence[View] | None,
    title: str,
    schedule_json: str | None = None,
    trace_ms: float = 0.0,
    target: str | None = None,
    memory_budget: int | None = None,
) -> Handle:
    """A lowered computation for these input layouts (None: row-major).

    ``target`` as in ``target_for``.
    """
    target = target_for(target, views or ())
    options = LowerOptions(
        ctypes.sizeof(LowerOptions),
        None if target is None else target.encode(),
        os.fsencode(title),
        None if schedule_json is None else schedule_json.encode(),
        trace_ms,
        memory_budget or 0,
    )
    tensors = [arrays.dl_tensor(v) for v in views or ()]
    return Handle(
        "lowered",
        lambda out: call(
            "adjit_computation_lower", context().value, computation.value, len(tensors),
            arrays.pointers(tensors) if views is not None else None, ctypes.byref(options), out,
        ),
    )  # fmt: skip


def checked_memory_budget(given: Any) -> int | None:
    """A number of bytes, or None; what is neither is refused."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | np.integer):
        raise TypeError(f"memory_budget is a number of bytes, not {given!r}")
    if given < 1:
        raise Error(f"memory_budget is {given}; it is a number of bytes from 1 on, or None")
    return min(int(given), 2**63 - 1)


def checked_check(given: Any) -> str | None:
    """Who raises what checks of data find; what is neither "sync" nor None is refused."""
    if given is None:
        return None
    if given == "sync":
        return "sync"
    raise Error(
        f'check is {given!r}; it is "sync", for calls on a GPU that wait for what checks of their '
        "data find, or None, where later calls raise it"
    )
