"""The context, compiled programs, and what a call does."""

from __future__ import annotations

import collections
import ctypes
import functools
import json
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import arrays, dtypes, interrupts, objects, pool
from ._library import ContextOptions, Handle, LowerOptions, call, failure, library
from .errors import Error

#: Reports of the latest compilations of this process, oldest first (dicts: title, cache, trace_ms,
#: derive_ms, schedule_ms, compile_ms, load_ms, kernels, ...).
compilations: collections.deque[dict[str, Any]] = collections.deque(maxlen=4096)


def memory_budget(given: Any) -> int | None:
    """A number of bytes, or None; what is neither is refused."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | np.integer):
        raise TypeError(f"memory_budget is a number of bytes, not {given!r}")
    if given < 1:
        raise Error(f"memory_budget is {given}; it is a number of bytes from 1 on, or None")
    return min(int(given), 2**63 - 1)


@functools.cache
def context() -> Handle:
    """This process's context, made when first needed from the environment (see README)."""
    options = ContextOptions(struct_size=ctypes.sizeof(ContextOptions))
    options.cancel, options.cancel_user = interrupts.hook(library)
    return Handle("context", lambda out: call("adjit_context_create", ctypes.byref(options), out))


def lower(
    computation: Handle,
    views: Sequence[arrays.View] | None,
    title: str,
    schedule_json: str | None = None,
    trace_ms: float = 0.0,
    target: str | None = None,
    memory_budget: int | None = None,
) -> Handle:
    """A lowered computation for these input layouts (None: row-major)."""
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


class Program:
    """Compiled code with the layouts it was compiled for."""

    def __init__(self, lowered: Handle, computation: Handle, title: str) -> None:
        self.handle = Handle(
            "executable", lambda out: call("adjit_lowered_compile", lowered.value, out)
        )
        self.outputs = tensor_specs(computation, True)
        self._run_objects = objects.runner(self.handle)
        self._makers: list[Callable[[], Any]] = []
        self.report: dict[str, Any] = {
            "title": title, **json.loads(self.handle.text("adjit_executable_report"))
        }  # fmt: skip
        compilations.append(self.report)

    def run(self, addresses: Sequence[int], framework: str) -> list[Any]:
        """Fresh outputs for inputs at these addresses, which lie as compiled for."""
        made = [arrays.empty(framework, dtype, shape) for dtype, shape in self.outputs]
        self.run_into(addresses, [address for _, address in made])
        return [arrays.finish(framework, array) for array, _ in made]

    def run_numpy(self, given: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The same for any arrays; None unless they are ndarrays that lie as compiled for."""
        made = tuple([make() for make in self._makers or self._make_makers()])
        status = self._run_objects(id(given), id(made))
        if status:
            _raise_unless_unfit(status)
            return None
        return made

    def run_numpy_into(self, given: tuple[Any, ...], into: tuple[Any, ...]) -> bool:
        """Whether that many arrays are ndarrays that fit; if so, these outputs are written.

        Outputs fit that are writable, row-major and overlap neither inputs nor each other.
        """
        status = self._run_objects(id(given), id(into))
        if status:
            _raise_unless_unfit(status)
        return not status

    def _make_makers(self) -> list[Callable[[], Any]]:
        self._makers = [
            functools.partial(np.empty, shape, dtypes.to_numpy(dtype))
            if math.prod(shape) * dtypes.ITEM_SIZE[dtype] < pool.SMALLEST
            else functools.partial(_empty_numpy, dtype, shape)
            for dtype, shape in self.outputs
        ]  # fmt: skip
        return self._makers

    def run_into(self, addresses: Sequence[int], out_addresses: Sequence[int]) -> None:
        """Runs into given memory, row-major."""
        inputs = (ctypes.c_void_p * len(addresses))(*addresses)
        outputs = (ctypes.c_void_p * len(out_addresses))(*out_addresses)
        status = library.adjit_executable_run_raw(self.handle.value, inputs, outputs)
        if status:
            raise failure(status)

    def profile(self, views: Sequence[arrays.View], repeats: int) -> list[dict[str, Any]]:
        """Per kernel: time, calls, flops, bytes (see adjit.h), over that many runs."""
        made = [arrays.empty("numpy", dtype, shape)[0] for dtype, shape in self.outputs]
        inputs = [arrays.dl_tensor(v) for v in views]
        outputs = [arrays.dl_tensor(arrays.view(array)) for array in made]
        text = ctypes.c_char_p()
        call(
            "adjit_executable_profile", self.handle.value, len(inputs), arrays.pointers(inputs),
            len(outputs), arrays.pointers(outputs), repeats, ctypes.byref(text),
        )  # fmt: skip
        kernels: list[dict[str, Any]] = json.loads(text.value or b"[]")
        return kernels


def _raise_unless_unfit(status: int) -> None:
    """Raises what a status says, unless it only says that arrays did not fit."""
    if status not in objects.UNFIT:
        raise failure(status)


def _empty_numpy(dtype: int, shape: tuple[int, ...]) -> Any:
    return arrays.empty("numpy", dtype, shape)[0]


def check_cpu(target: str | None) -> None:
    """DeviceError for targets that this version has no code for."""
    if target is None or target == "cpu":
        return
    from .errors import DeviceError

    if str(target).startswith("cuda"):
        raise DeviceError(
            f"target={target!r}: this version of adjit generates code for the CPU only; "
            'use target="cpu" or leave it out'
        )
    raise DeviceError(f'there is no target {target!r}; use "cpu"')


def flush() -> None:
    """Blocks until the disk cache's queue is written."""
    call("adjit_context_flush", context().value)
