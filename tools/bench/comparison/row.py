"""A workload with its arrays, and a gradient step of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .workload import Workload, differentiated, numpy_dtype


@dataclass(frozen=True)
class Row:
    """A workload with the arrays of one measurement."""

    workload: Workload
    inputs: list[Any]
    cotangent: Any

    @property
    def floats(self) -> list[int]:
        return differentiated(self.inputs)


@dataclass(frozen=True)
class Step:
    """``run()`` computes the gradients and waits for them.

    ``workspace()`` gives the bytes that this takes besides inputs and gradients, or None; it is
    None itself where a framework cannot tell.
    """

    run: Callable[[], Any]
    workspace: Callable[[], int | None] | None = None

    def gradients(self) -> list[Any]:
        return [_float64(g) for g in self.run()]


def _float64(gradient: Any) -> Any:
    if isinstance(gradient, torch.Tensor):
        gradient = gradient.detach().double()
    return np.asarray(gradient).astype(np.float64)


def torch_tensor(x: Any) -> torch.Tensor:
    """A copy; NumPy's bfloat16 is ml_dtypes', which torch does not know."""
    if x.dtype.name == "bfloat16":
        return torch.tensor(x.astype(np.float32)).to(torch.bfloat16)
    return torch.tensor(x)


def row_of(workload: Workload) -> Row:
    """Draws the inputs, and a cotangent shaped like torch's result."""
    inputs = workload.draw()
    with torch.no_grad():
        shape = tuple(workload.torch(*[torch_tensor(x) for x in inputs]).shape)
    drawn = np.random.default_rng(1).standard_normal(shape)
    return Row(workload, inputs, drawn.astype(numpy_dtype(workload.dtype)))
