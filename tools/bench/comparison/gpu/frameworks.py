"""A row's step in each framework on a GPU: value and gradients in one call, TF32 off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import adjit as aj
import numpy as np

from .. import optional
from ..workloads.workload import Workload, differentiated, of_floats
from .arrays import DriverArrays, JaxArrays, TorchArrays
from .driver import Driver

torch = optional.module("torch")
jax = optional.module("jax")

#: Ours first; every other one is a peer.
NAMES = ("adjit", "torch", "compile", "jax")

Step = Callable[..., Any]


def pulled_back(workload: Workload) -> Step:
    """Value and gradients, of the cotangent and the inputs."""

    def pull(cotangent: Any, *inputs: Any) -> Any:
        f, floats = of_floats(workload.ours, list(inputs))
        out, pullback = aj.vjp(f, *floats)
        return (out, *pullback(cotangent))

    return pull


class Adjit:
    """Compiled for the GPU that its arrays lie on."""

    def __init__(self, driver: Driver) -> None:
        on_gpu = bool(torch) and torch.cuda.is_available()
        self.arrays: Any = TorchArrays("cuda", records=False) if on_gpu else DriverArrays(driver)
        self._in_torch = on_gpu

    def step(self, workload: Workload, inputs: list[Any]) -> Step:
        step = aj.jit(pulled_back(workload))
        return step if self._in_torch else _into(step, self.arrays, inputs)


def _into(step: Step, arrays: DriverArrays, inputs: list[Any]) -> Step:
    """The step with results in arrays that each set of inputs has: shaped as the value, which is
    as the cotangent, and as the inputs that it differentiates.
    """
    where = differentiated(inputs)

    def run(cotangent: Any, *inputs: Any) -> Any:
        like = [cotangent, *(inputs[k] for k in where)]
        if cotangent.results is None:
            zeros = (arrays.put(np.zeros(x.shape, x.dtype), False) for x in like)
            cotangent.results = tuple(zeros)
        return step(cotangent, *inputs, out=cotangent.results)

    return run


class Torch:
    """Eager, or compiled by inductor."""

    def __init__(self, compiled: bool) -> None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
        self.arrays = TorchArrays(device, records=True)
        self._compiled = compiled
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        torch.backends.cudnn.benchmark_limit = 5
        if compiled:  # the rows of one kind share their code
            torch._dynamo.config.recompile_limit = 64

    def step(self, workload: Workload, inputs: list[Any]) -> Step:
        f = torch.compile(workload.torch, dynamic=False) if self._compiled else workload.torch
        where = differentiated(inputs)

        def run(cotangent: Any, *inputs: Any) -> Any:
            out = f(*inputs)
            return (out.detach(), *torch.autograd.grad(out, [inputs[k] for k in where], cotangent))

        return run


class Jax:
    """Compiled by XLA."""

    def __init__(self) -> None:
        self.arrays = JaxArrays()
        jax.config.update("jax_default_matmul_precision", "highest")

    def step(self, workload: Workload, inputs: list[Any]) -> Step | None:
        forward = workload.jax
        if forward is None:
            return None

        def pull(cotangent: Any, *inputs: Any) -> Any:
            f, floats = of_floats(forward, list(inputs))
            out, pullback = jax.vjp(f, *floats)
            return (out, *pullback(cotangent))

        return jax.jit(pull)  # type: ignore[no-any-return]


def framework(name: str, driver: Driver) -> Any:
    """One of NAMES; ModuleNotFoundError where it is not installed."""
    needed = {"torch": torch, "compile": torch, "jax": jax}.get(name)
    if needed is not None and not needed:
        raise ModuleNotFoundError(f"{needed._name} is not installed")
    makers: dict[str, Callable[[], Any]] = {
        "adjit": lambda: Adjit(driver),
        "torch": lambda: Torch(compiled=False),
        "compile": lambda: Torch(compiled=True),
        "jax": Jax,
    }
    return makers[name]()
