"""A row's arrays where each framework keeps them, and how long its steps take there."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import optional
from ..timing import Time
from ..workloads.workload import Input, Workload, numpy_dtype
from .driver import Driver, DriverArray

torch = optional.module("torch")
jax = optional.module("jax")

Step = Callable[..., Any]

#: So many numbers are drawn and repeated: drawing the 2^28 of a row would take its whole time.
_DRAWN = 1 << 22
#: Seconds that a batch of steps takes at least, and batches at most.
_BATCH, _BATCHES = 5e-3, 40
#: Numbers of a result that are compared between frameworks.
_SAMPLES = 2048
#: Sets of inputs at most through which steps go in turn, so that none is in L2.
_SETS = 16


def drawn(workload: Workload, copy: int) -> list[Any]:
    """The inputs, other ones for each copy."""
    return [_numbers(i, k, copy, workload.dtype) for k, i in enumerate(workload.inputs)]


def cotangent(workload: Workload, shape: tuple[int, ...], copy: int) -> Any:
    return _numbers(Input(shape), len(workload.inputs), copy, workload.dtype)


def _numbers(wanted: Input, number: int, copy: int, dtype: str) -> Any:
    rng = np.random.default_rng(1000 * copy + number)
    count = math.prod(wanted.shape)
    few = Input((min(count, _DRAWN),), wanted.kind, wanted.scale, wanted.below)
    numbers = few.draw(rng, dtype)
    return np.resize(numbers, count).reshape(wanted.shape)


def sets_of(workload: Workload, l2_bytes: int) -> int:
    """So many that together they are more than twice as large as L2."""
    least = workload.least(with_value=True).floats * numpy_dtype(workload.dtype).itemsize
    return max(1, min(_SETS, math.ceil(2.5 * l2_bytes / max(1, least))))


def sampled(size: int) -> Any:
    """Positions of the numbers of a result that are compared between frameworks."""
    return np.random.default_rng(7).integers(0, max(size, 1), min(size, _SAMPLES))


def _sketch(result: Any, largest: float, finite: bool, samples: list[float]) -> dict[str, Any]:
    """Enough of a result to compare it with another framework's."""
    return {
        "shape": list(result.shape), "largest": largest, "finite": finite, "samples": samples,
    }  # fmt: skip


class TorchArrays:
    """On the GPU where PyTorch sees one; in a test without one, on the CPU."""

    def __init__(self, device: str, records: bool) -> None:
        """``records``: PyTorch is to differentiate, not adjit."""
        self._device, self._records = device, records

    def put(self, array: Any, differentiated: bool) -> Any:
        tensor = torch.from_numpy(np.asarray(array, order="C")).to(self._device)
        return tensor.requires_grad_(differentiated and self._records)

    def sketch(self, result: Any) -> dict[str, Any]:
        flat = result.detach().reshape(-1)
        at = torch.from_numpy(sampled(flat.numel())).to(flat.device)
        largest = float(flat.abs().max()) if flat.numel() else 0.0
        finite = bool(torch.isfinite(flat).all())
        return _sketch(result, largest, finite, flat[at].double().tolist())

    def kept(self, result: Any) -> Any:
        return result

    def same(self, kept: Any, other: Any) -> bool:
        return bool(torch.equal(kept, other))

    def free(self) -> None:
        if self._device != "cpu":
            torch.cuda.empty_cache()

    def timed(self, step: Step, sets: list[Any], seconds: float) -> Time:
        """By CUDA events around batches of steps: launches count as their user sees them."""
        if self._device == "cpu":
            return by_clock(step, sets, seconds, lambda _: None)

        def batch(run: Callable[[], Any]) -> float:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            run()
            end.record()
            end.synchronize()
            return float(begin.elapsed_time(end))

        return _batches(step, sets, seconds, batch, lambda _: torch.cuda.synchronize())


class JaxArrays:
    """On JAX's default device. Its streams are its own: batches are timed by the clock."""

    def put(self, array: Any, differentiated: bool) -> Any:
        return jax.device_put(array)

    def sketch(self, result: Any) -> dict[str, Any]:
        flat = result.reshape(-1)
        largest = float(jax.numpy.abs(flat).max()) if flat.size else 0.0
        finite = bool(jax.numpy.isfinite(flat).all())
        return _sketch(result, largest, finite, flat[sampled(flat.size)].tolist())

    def free(self) -> None:
        pass

    def timed(self, step: Step, sets: list[Any], seconds: float) -> Time:
        return by_clock(step, sets, seconds, jax.block_until_ready)


class DriverArrays:
    """Of no framework: adjit writes its results into arrays that are there."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._made: list[DriverArray] = []

    def put(self, array: Any, differentiated: bool) -> Any:
        self._made.append(DriverArray(self._driver, array))
        return self._made[-1]

    def kept(self, result: Any) -> Any:
        return result.numbers()

    def sketch(self, result: Any) -> dict[str, Any]:
        flat = result.numbers().astype(np.float64).reshape(-1)
        largest, finite = float(np.abs(flat).max(initial=0)), bool(np.isfinite(flat).all())
        return _sketch(result, largest, finite, flat[sampled(flat.size)].tolist())

    def same(self, kept: Any, other: Any) -> bool:
        return bool(kept.tobytes() == other.numbers().tobytes())

    def free(self) -> None:
        for array in self._made:
            array.free()
        self._made.clear()

    def timed(self, step: Step, sets: list[Any], seconds: float) -> Time:
        def wait(_: Any) -> None:
            self._driver.call("cuCtxSynchronize")

        return _batches(step, sets, seconds, self._driver.milliseconds, wait)


def by_clock(step: Step, sets: list[Any], seconds: float, wait: Callable[[Any], Any]) -> Time:
    """Batches that are waited for."""

    def batch(run: Callable[[], Any]) -> float:
        start = time.perf_counter()
        wait(run())
        return 1e3 * (time.perf_counter() - start)

    return _batches(step, sets, seconds, batch, wait)


def _batches(
    step: Step, sets: list[Any], seconds: float, batch: Callable[..., float],
    wait: Callable[[Any], Any],
) -> Time:  # fmt: skip
    """Milliseconds a step. What a round through the sets returns is kept, as its inputs are."""
    kept: list[Any] = [None] * len(sets)
    count = 0

    def run(steps: int) -> Callable[[], Any]:
        def several() -> Any:
            nonlocal count
            for _ in range(steps):
                kept[count % len(sets)] = step(*sets[count % len(sets)])
                count += 1
            return kept

        return several

    wait(run(1)())
    start = time.perf_counter()
    wait(run(1)())
    one = time.perf_counter() - start
    if one > 3 * seconds:
        return Time(1e3 * one, 1e3 * one, 1)
    steps = max(1, min(400, int(_BATCH / max(one, 1e-7)) + 1))
    samples: list[float] = []
    end = time.perf_counter() + seconds
    while len(samples) < 3 or (time.perf_counter() < end and len(samples) < _BATCHES):
        samples.append(batch(run(steps)) / steps)
    return Time(min(samples), statistics.median(samples), len(samples))
