"""One step of a workload in each framework: who takes part, and how a step is made.

A framework is a function (Row) -> Step, or None where it has nothing to say about the row.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import adjit as aj
import jax
import torch

from . import budget, workspace
from .row import Row, Step, torch_tensor
from .with_drjit import drjit
from .with_halide import halide
from .workloads.workload import of_floats


def adjit(row: Row) -> Step:
    """Value and gradients in one compiled call, or the gradients alone with what they need."""

    def pull(cotangent: Any, *inputs: Any) -> Any:
        f, floats = of_floats(row.workload.ours, list(inputs))
        out, pullback = aj.vjp(f, *floats)
        return (out, *pullback(cotangent)) if row.with_value else pullback(cotangent)

    step = aj.jit(pull)
    return Step(lambda: step(row.cotangent, *row.inputs))


def _torch_step(row: Row, f: Any, memory_format: Any = torch.contiguous_format) -> Step:
    def tensor(x: Any) -> Any:
        t = torch_tensor(x)
        if t.ndim == 4:
            t = t.to(memory_format=memory_format)
        return t.requires_grad_(t.is_floating_point())

    inputs = [tensor(x) for x in row.inputs]
    wanted = [inputs[k] for k in row.floats]
    seed = tensor(row.cotangent).detach()

    def run() -> Any:
        out = f(*inputs)
        gradients = torch.autograd.grad(out, wanted, seed)
        return (out.detach(), *gradients) if row.with_value else gradients

    return Step(run, lambda: workspace.of_torch(run))


def torch_eager(row: Row) -> Step:
    return _torch_step(row, row.workload.torch)


def onednn(row: Row) -> Step | None:
    """torch with inputs that lie channels last: oneDNN without its reorders."""
    if not row.workload.channels_last:
        return None
    return _torch_step(row, row.workload.torch, torch.channels_last)


def torch_compile(row: Row) -> Step:
    """Inductor. Raises BudgetExceeded where it takes too long to compile."""
    torch._dynamo.reset()
    step = _torch_step(row, torch.compile(row.workload.torch))
    with budget.seconds(budget.torch_compile):
        step.run()
    return step


@contextlib.contextmanager
def float64_for(row: Row) -> Iterator[None]:
    """JAX computes in float32 whatever it is given, unless it is told so."""
    before = bool(jax.config.jax_enable_x64)
    jax.config.update("jax_enable_x64", before or row.workload.dtype == "float64")
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", before)


def jax_jit(row: Row) -> Step | None:
    forward = row.workload.jax
    if forward is None:
        return None

    def pull(cotangent: Any, *inputs: Any) -> Any:
        f, floats = of_floats(forward, list(inputs))
        out, pullback = jax.vjp(f, *floats)
        return (out, *pullback(cotangent)) if row.with_value else pullback(cotangent)

    step = jax.jit(pull)
    arguments = [jax.numpy.asarray(x) for x in (row.cotangent, *row.inputs)]
    finished: Any = jax.block_until_ready
    return Step(lambda: finished(step(*arguments)), lambda: workspace.of_jax(step, arguments))


def openblas(row: Row) -> Step | None:
    """NumPy's matrix products, the gradients written by hand."""
    gradients, value = row.workload.blas, row.workload.blas_value
    if gradients is None or value is None:
        return None

    def run() -> Any:
        found = gradients(row.cotangent, *row.inputs)
        return (value(*row.inputs), *found) if row.with_value else found

    return Step(run)


#: Ours first; every other one is a peer.
FRAMEWORKS: dict[str, Callable[[Row], Step | None]] = {
    "adjit": adjit,
    "torch": torch_eager,
    "compile": torch_compile,
    "jax": jax_jit,
    "openblas": openblas,
    "onednn": onednn,
    "drjit": drjit,
    "halide": halide,
}
