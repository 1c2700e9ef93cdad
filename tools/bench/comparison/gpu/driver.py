"""The CUDA driver as far as measuring needs it, without a framework: facts, memory, rates."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

#: CUdevice_attribute: what adjit's keys and schedules depend on (jit/cuda/driver_numbers.hpp).
ATTRIBUTES = {
    "block_threads": 1, "clock_khz": 13, "multiprocessors": 16, "memory_clock_khz": 36,
    "memory_bus_bits": 37, "l2_bytes": 38, "threads": 39, "capability_major": 75,
    "capability_minor": 76, "shared_bytes": 81, "registers": 82, "cooperative": 95,
    "block_shared_bytes": 97, "memory_pools": 115,
}  # fmt: skip


class NoGpuError(Exception):
    """There is nothing to measure on; the message says why, in one line."""


def library() -> str:
    return os.environ.get("ADJIT_CUDA_LIBRARY") or "libcuda.so.1"


class Driver:
    """Device 0 in its primary context, which the frameworks of the process use as well."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL(library())
        except OSError as error:
            raise NoGpuError(f"no GPU: {error}") from None
        code = self._library.cuInit(0)
        if code:
            raise NoGpuError(f"no GPU: cuInit of {library()} answers {code}")
        self._device = ctypes.c_int()
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        if count.value == 0:
            raise NoGpuError(f"no GPU: {library()} shows none")
        self.call("cuDeviceGet", ctypes.byref(self._device), 0)
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self._device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, name)(*arguments)
        if code:
            raise RuntimeError(f"{name}: CUDA error {code}")

    @property
    def emulates(self) -> bool:
        """The tests' driver: results are right, times mean nothing."""
        return hasattr(self._library, "fake_cuda_reset")

    def attribute(self, number: int) -> int:
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), number, self._device)
        return value.value

    def facts(self) -> dict[str, Any]:
        """Name, memory and attributes."""
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, 255, self._device)
        size = ctypes.c_size_t()
        self.call("cuDeviceTotalMem_v2", ctypes.byref(size), self._device)
        numbers = {what: self.attribute(number) for what, number in ATTRIBUTES.items()}
        return {"name": name.value.decode(), "memory_bytes": size.value, **numbers}

    def allocate(self, size: int) -> int:
        at = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(max(size, 1)))
        return at.value

    def free(self, at: int) -> None:
        self.call("cuMemFree_v2", ctypes.c_uint64(at))

    def upload(self, at: int, array: Any) -> None:
        """Of a contiguous NumPy array."""
        self.call(
            "cuMemcpyHtoDAsync_v2", ctypes.c_uint64(at), ctypes.c_void_p(array.ctypes.data),
            ctypes.c_size_t(array.nbytes), None,
        )  # fmt: skip
        self.call("cuStreamSynchronize", None)

    def download(self, array: Any, at: int) -> None:
        """Into a contiguous NumPy array, once all that is in the default stream is done."""
        self.call(
            "cuMemcpyDtoHAsync_v2", ctypes.c_void_p(array.ctypes.data), ctypes.c_uint64(at),
            ctypes.c_size_t(array.nbytes), None,
        )  # fmt: skip
        self.call("cuStreamSynchronize", None)

    def milliseconds(self, work: Any) -> float:
        """Between two events of the default stream, around what ``work()`` puts there."""
        begin, end = ctypes.c_void_p(), ctypes.c_void_p()
        for event in (begin, end):
            self.call("cuEventCreate", ctypes.byref(event), 0)
        self.call("cuEventRecord", begin, None)
        work()
        self.call("cuEventRecord", end, None)
        self.call("cuEventSynchronize", end)
        elapsed = ctypes.c_float()
        self.call("cuEventElapsedTime", ctypes.byref(elapsed), begin, end)
        for event in (begin, end):
            self.call("cuEventDestroy_v2", event)
        return elapsed.value


class DriverArray:
    """Numbers in the GPU's memory that no framework owns."""

    def __init__(self, driver: Driver, array: Any) -> None:
        array = np.asarray(array, order="C")
        self._driver = driver
        self._at = driver.allocate(array.nbytes)
        if array.nbytes:
            driver.upload(self._at, array)
        self.shape, self.dtype = array.shape, array.dtype
        self.results: Any = None  # of the step that takes it (frameworks.py)
        self.__cuda_array_interface__ = {
            "shape": array.shape, "typestr": array.dtype.str, "data": (self._at, False),
            "version": 3, "stream": None,
        }  # fmt: skip

    def numbers(self) -> Any:
        """A copy in CPU memory."""
        array = np.empty(self.shape, self.dtype)
        if array.nbytes:
            self._driver.download(array, self._at)
        return array

    def free(self) -> None:
        self._driver.free(self._at)


def driver_version() -> str:
    """As nvidia-smi has it; "" where there is none."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ""
    query = [program, "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
    done = subprocess.run(query, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def ptxas() -> str:
    """Version of the assembler that adjit finds; "" where the driver assembles."""
    named = os.environ.get("ADJIT_PTXAS", "")
    if named == "off":
        return ""
    homes = [os.environ.get(v) for v in ("CUDA_HOME", "CUDA_PATH")]
    places = [named, shutil.which("ptxas") or ""]
    places += [str(Path(home) / "bin" / "ptxas") for home in [*homes, "/usr/local/cuda"] if home]
    program = next((p for p in places if p and Path(p).exists()), None)
    if program is None:
        return ""
    done = subprocess.run([program, "--version"], capture_output=True, text=True)
    words = done.stdout.split("V")
    return words[-1].split()[0] if len(words) > 1 else ""
