"""Compiled programs: how they run on addresses, and on NumPy's arrays as they are."""

from __future__ import annotations

import collections
import ctypes
import functools
import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._arrays import arrays, gpu, numpy_abi, output_arena
from .._arrays.view import View
from .._core import dtypes
from .._core.library import Handle, RunOptions, call, failure, library
from .computation import tensor_specs

#: Reports of the latest compilations of this process, oldest first (dicts: title, cache, trace_ms,
#: derive_ms, schedule_ms, compile_ms, load_ms, kernels, ...).
compilations: collections.deque[dict[str, Any]] = collections.deque(maxlen=4096)


class Program:
    """Compiled code with the layouts it was compiled for."""

    def __init__(
        self, lowered: Handle, computation: Handle, title: str, waits: bool = False
    ) -> None:
        """``waits``: calls on a GPU wait for what checks of their data find."""
        self.handle = Handle(
            "executable", lambda out: call("adjit_lowered_compile", lowered.value, out)
        )
        self.outputs = tensor_specs(computation, True)
        self._run_objects = numpy_abi.runner(self.handle)
        self._waits = waits
        self._makers: list[Callable[[], Any]] = []
        self.report: dict[str, Any] = {
            "title": title, **json.loads(self.handle.text("adjit_executable_report"))
        }  # fmt: skip
        kind, _, number = self.report["target"].partition(":")
        self.device = int(number or 0) if kind == "cuda" else -1  # the GPU that it runs on
        compilations.append(self.report)

    def run(self, views: Sequence[View], framework: str) -> list[Any]:
        """Fresh outputs for inputs that lie as compiled for, where these lie."""
        if any(v.device >= 0 for v in views):
            return self._run_on_gpu(views, framework)
        made = [arrays.empty(framework, dtype, shape) for dtype, shape in self.outputs]
        self._run_on_host([v.address for v in views], [address for _, address in made])
        return [arrays.finish(framework, array) for array, _ in made]

    def _run_on_gpu(self, views: Sequence[View], framework: str) -> list[Any]:
        """Where the framework has no arrays of its own on a GPU, outputs lie in CPU memory."""
        made = []
        for dtype, shape in self.outputs:
            array = gpu.empty(framework, dtype, shape, self.device)
            made.append(arrays.empty(framework, dtype, shape)[0] if array is None else array)
        self.run_into(views, [arrays.view(array) for array in made])
        return [arrays.finish(framework, array) for array in made]

    def run_into(self, views: Sequence[View], outputs: Sequence[View]) -> None:
        """Runs into given memory, row-major.

        On a GPU in the current stream of the arrays' framework, and without a wait unless some of
        them lie in CPU memory.
        """
        if all(v.device < 0 for v in (*views, *outputs)):
            self._run_on_host([v.address for v in views], [v.address for v in outputs])
            return
        given = [arrays.dl_tensor(v) for v in views]
        made = [arrays.dl_tensor(v) for v in outputs]
        stream = gpu.stream_of([*views, *outputs])
        options = RunOptions(
            ctypes.sizeof(RunOptions), self.device, stream, wait_for_checks=self._waits
        )
        call(
            "adjit_executable_run_with", self.handle.value, len(given), arrays.pointers(given),
            len(made), arrays.pointers(made), ctypes.byref(options),
        )  # fmt: skip

    def _run_on_host(self, addresses: Sequence[int], out_addresses: Sequence[int]) -> None:
        inputs = (ctypes.c_void_p * len(addresses))(*addresses)
        outputs = (ctypes.c_void_p * len(out_addresses))(*out_addresses)
        status = library.adjit_executable_run_raw(self.handle.value, inputs, outputs)
        if status:
            raise failure(status)

    def synchronize(self) -> None:
        """Waits for calls on a GPU; raises what an index out of range in one of them raises."""
        call("adjit_executable_synchronize", self.handle.value)

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
            if math.prod(shape) * dtypes.ITEM_SIZE[dtype] < output_arena.SMALLEST
            else functools.partial(_empty_numpy, dtype, shape)
            for dtype, shape in self.outputs
        ]  # fmt: skip
        return self._makers

    def profile(self, views: Sequence[View], repeats: int) -> list[dict[str, Any]]:
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
    if status not in numpy_abi.UNFIT:
        raise failure(status)


def _empty_numpy(dtype: int, shape: tuple[int, ...]) -> Any:
    return arrays.empty("numpy", dtype, shape)[0]
