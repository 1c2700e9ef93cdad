"""The cost model as adjit computes it, for training: autosched/cpu/cost again.

Nests of all kernels of all schedules lie one after the other; sums over the nests of a kernel and
the kernels of a schedule are scatters.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import adjit as aj
import numpy as np

HIDDEN_SHARE = 0.85  # as kHidden of autosched/cpu/cost/cost.cpp
FARTHEST = 3.0  # the constants of autosched/cpu/cost/network.cpp
LEAK = 0.1
TERMS = 8
ARITHMETIC, LOADS, LATENCY, LOOPS, L2, L3, MEMORY, SCATTERED = range(TERMS)

#: Weights and bias of each layer, then the factors of call, pool and task before `factor`.
Parameters = list[Any]


@dataclass(frozen=True)
class Batch:
    """Schedules as arrays. Every number of a nest's kernel counts from 0, likewise of schedules."""

    inputs: Any  # (nests, inputs), normalised
    analytic: Any  # (nests, TERMS)
    kernel: Any  # (nests,)
    schedule: Any  # (kernels,) each kernel's
    calls: Any  # (kernels,)
    cores: Any
    parallel: Any
    tasks: Any  # a core
    kernel_us: Any  # measured, of all calls
    schedule_us: Any  # (schedules,)
    program: Any  # (schedules,)
    default: Any  # (schedules,) the number of the program's default schedule
    machine: dict[str, float]


def factor(x: Any) -> Any:
    """1 + x for x >= 0, 1 / (1 - x) below."""
    return aj.where(x >= 0, 1 + x, 1 / (1 - aj.minimum(x, 0.0)))


def corrections(parameters: Parameters, inputs: Any) -> Any:
    """(nests, TERMS + 1) before `factor`: 0 where the analytic model is right."""
    x = inputs
    layers = (len(parameters) - 1) // 2
    for k in range(layers):
        weights, bias = parameters[2 * k], parameters[2 * k + 1]
        x = x @ weights.T + bias
        if k + 1 < layers:
            x = aj.maximum(x, LEAK * x)
    return x


def _together(core: Any, caches: Any) -> Any:
    return aj.maximum(core, caches) + (1 - HIDDEN_SHARE) * aj.minimum(core, caches)


def _largest(columns: Sequence[Any]) -> Any:
    found = columns[0]
    for column in columns[1:]:
        found = aj.maximum(found, column)
    return found


def kernel_microseconds(parameters: Parameters, corrected: Any, batch: Batch) -> Any:
    """(kernels,) of all calls, from the nests' `corrections`."""
    factors = factor(corrected)
    terms = batch.analytic * factors[:, :TERMS] * factors[:, TERMS:]
    core = _largest([terms[:, t] for t in (ARITHMETIC, LOADS, LATENCY)]) + terms[:, LOOPS]
    caches = _largest([terms[:, t] for t in (L2, L3, MEMORY)]) + terms[:, SCATTERED]
    none = aj.zeros(batch.calls.shape, dtype="float32")
    sums = [aj.index_add(none, batch.kernel, x, 0) for x in (core, caches, terms[:, MEMORY])]
    alone = _together(sums[0], sums[1]) / batch.cores
    entry = factor(parameters[-1])
    machine = batch.machine
    entries = machine["call"] * entry[0] + batch.parallel * (
        machine["pool"] * entry[1] + machine["task"] * entry[2] * batch.tasks
    )
    return batch.calls * (entries + aj.maximum(alone, machine["memory_share"] * sums[2]))


def schedule_microseconds(kernels: Any, batch: Batch) -> Any:
    """(schedules,) of kernels' microseconds."""
    return aj.index_add(
        aj.zeros(batch.schedule_us.shape, dtype="float32"), batch.schedule, kernels, 0
    )


def start(inputs: int, hidden: Sequence[int], rng: np.random.Generator) -> Parameters:
    """Random hidden layers; the last one is 0: the analytic model."""
    sizes = [inputs, *hidden, TERMS + 1]
    parameters: Parameters = []
    for k, (before, after) in enumerate(itertools.pairwise(sizes)):
        scale = 0.0 if k + 2 == len(sizes) else np.sqrt(2 / before)
        parameters += [
            (scale * rng.standard_normal((after, before))).astype(np.float32),
            np.zeros(after, np.float32),
        ]
    return [*parameters, np.zeros(3, np.float32)]


def predicted(parameters: Parameters | None, batch: Batch) -> tuple[Any, Any]:
    """Microseconds of kernels and schedules as arrays; None: the analytic model."""
    if parameters is None:
        zero = np.zeros((TERMS + 1, batch.inputs.shape[1]), np.float32)
        parameters = [zero, np.zeros(TERMS + 1, np.float32), np.zeros(3, np.float32)]

    def both(*values: Any) -> Any:
        corrected = corrections(list(values), batch.inputs)
        kernels = kernel_microseconds(list(values), corrected, batch)
        return kernels, schedule_microseconds(kernels, batch)

    kernels, schedules = aj.jit(both)(*parameters)
    return np.asarray(kernels), np.asarray(schedules)
