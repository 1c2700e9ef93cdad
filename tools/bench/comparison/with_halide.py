"""Halide's own automatic differentiation, at the best of the schedules that its schedulers find."""

from __future__ import annotations

import contextlib
import io
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from .row import Row, Step

#: What they are told. Adams2019 searches greedily, for seconds: with its usual beam it takes up to
#: a minute for most rows.
_OPTIONS = {"Adams2019": {"beam_size": "1"}}
_loaded: set[str] = set()


def halide(row: Row) -> Step | None:
    """Compiled with the extents as constants; runs into preallocated outputs."""
    if row.workload.halide is None:
        return None
    import halide as hl

    values = [np.zeros_like(row.cotangent)] if row.with_value else []
    outputs = [*values, *(np.zeros_like(row.inputs[k]) for k in row.floats)]
    buffers = [hl.Buffer(a) for a in (row.cotangent, *row.inputs, *outputs)]
    best, best_time, refusals = None, float("inf"), []
    for scheduler in row.workload.halide_schedulers:
        try:
            call, took = _running(hl, row, scheduler, buffers)
        except hl.HalideError as error:
            refusals.append(f"{scheduler}: {str(error).strip()}")
            continue
        if took < best_time:
            best, best_time = call, took
    if best is None:
        raise RuntimeError("; ".join(refusals))
    chosen = best

    def run() -> Any:
        chosen(*buffers)
        return outputs

    return Step(run)


def _running(hl: Any, row: Row, scheduler: str, buffers: list[Any]) -> tuple[Any, float]:
    """Code that reads inputs directly, or else through a test whether it reads inside them."""
    try:
        return _timed(hl, row, scheduler, buffers, padded=False)
    except hl.HalideError:
        return _timed(hl, row, scheduler, buffers, padded=True)


def _timed(
    hl: Any, row: Row, scheduler: str, buffers: list[Any], padded: bool
) -> tuple[Any, float]:
    # It warns of code that will be refused when it runs.
    unread = io.StringIO()
    with contextlib.redirect_stdout(unread), contextlib.redirect_stderr(unread):
        call = _compiled(hl, row, scheduler, padded)
    return call, min(_seconds(call, buffers) for _ in range(3))


def _seconds(call: Any, buffers: list[Any]) -> float:
    start = time.perf_counter()
    call(*buffers)
    return time.perf_counter() - start


def _compiled(hl: Any, row: Row, scheduler: str, padded: bool) -> Any:
    """``padded``: inputs are 0 outside their extents. Padding reads there, and some schedules."""
    _load(hl, scheduler)
    params = [_param(hl, f"input_{k}", x.shape) for k, x in enumerate(row.inputs)]
    seed_param = _param(hl, "cotangent", row.cotangent.shape)
    inputs = [_function(hl, p, x.shape, padded) for p, x in zip(params, row.inputs, strict=True)]
    assert row.workload.halide is not None
    out = row.workload.halide(hl, *inputs)
    seed = _function(hl, seed_param, row.cotangent.shape, padded)
    adjoints = hl.propagate_adjoints(out, seed, _ranges(hl, row.cotangent.shape))
    values = [_result(hl, out, row.cotangent.shape)] if row.with_value else []
    gradients = [_result(hl, adjoints[inputs[k]], row.inputs[k].shape) for k in row.floats]
    pipeline = hl.Pipeline([*values, *gradients])
    target = hl.get_jit_target_from_environment()
    threads = {"parallelism": str(len(os.sched_getaffinity(0)))}
    pipeline.apply_autoscheduler(
        target, hl.AutoschedulerParams(scheduler, {**threads, **_OPTIONS.get(scheduler, {})})
    )
    return pipeline.compile_to_callable([seed_param, *params], target)


def _load(hl: Any, scheduler: str) -> None:
    if scheduler not in _loaded:
        folder = Path(hl.__file__).parent / "lib64"
        hl.load_plugin(str(folder / f"libautoschedule_{scheduler.lower()}.so"))
        _loaded.add(scheduler)


def _ranges(hl: Any, shape: tuple[int, ...]) -> list[Any]:
    return [hl.Range(0, extent) for extent in reversed(shape)]


def _constant_extents(buffer: Any, shape: tuple[int, ...]) -> None:
    """Row-major, from 0."""
    stride = 1
    for axis, extent in enumerate(reversed(shape)):
        buffer.dim(axis).set_min(0)
        buffer.dim(axis).set_extent(extent)
        buffer.dim(axis).set_stride(stride)
        stride *= extent


def _param(hl: Any, name: str, shape: tuple[int, ...]) -> Any:
    param = hl.ImageParam(hl.Float(32), len(shape), name)
    _constant_extents(param, shape)
    for axis, extent in enumerate(reversed(shape)):
        param.dim(axis).set_estimate(0, extent)
    return param


def _function(hl: Any, param: Any, shape: tuple[int, ...], padded: bool) -> Any:
    if padded:
        bounds = [(0, extent) for extent in reversed(shape)]
        return hl.BoundaryConditions.constant_exterior(param, 0.0, bounds)
    at, plain = tuple(hl.Var() for _ in shape), hl.Func()
    plain[at] = param[at]
    return plain


def _result(hl: Any, found: Any, shape: tuple[int, ...]) -> Any:
    at = tuple(hl.Var() for _ in shape)
    result = hl.Func()
    result[at] = found[at]
    result.set_estimates(_ranges(hl, shape))
    _constant_extents(result.output_buffer(), shape)
    return result
