"""A workload with its arrays, and a step of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .workloads.workload import Workload, differentiated, numpy_dtype


@dataclass(frozen=True)
class Row:
    """A workload with the arrays of one measurement.

    A step gives the gradients, behind the value ``with_value``: as a training step computes both.
    """

    workload: Workload
    inputs: list[Any]
    cotangent: Any
    with_value: bool = True

    @property
    def floats(self) -> list[int]:
        return differentiated(self.inputs)


@dataclass(frozen=True)
class Step:
    """``run()`` computes a row's results, a value first if it has one, and waits for them.

    ``workspace()`` gives the bytes that this takes besides inputs and results, or None; it is
    None itself where a framework cannot tell.
    """

    run: Callable[[], Any]
    workspace: Callable[[], int | None] | None = None

    def results(self) -> list[Any]:
        return [_float64(r) for r in self.run()]


def _float64(result: Any) -> Any:
    if isinstance(result, torch.Tensor):
        result = result.detach().double()
    return np.asarray(result).astype(np.float64)


def torch_tensor(x: Any) -> torch.Tensor:
    """A copy; NumPy's bfloat16 is ml_dtypes', which torch does not know."""
    if x.dtype.name == "bfloat16":
        return torch.tensor(x.astype(np.float32)).to(torch.bfloat16)
    return torch.tensor(x)


def row_of(workload: Workload, with_value: bool = True) -> Row:
    """Draws the inputs, and a cotangent shaped like torch's result."""
    inputs = workload.draw()
    with torch.no_grad():
        shape = tuple(workload.torch(*[torch_tensor(x) for x in inputs]).shape)
    drawn = np.random.default_rng(1).standard_normal(shape)
    return Row(workload, inputs, drawn.astype(numpy_dtype(workload.dtype)), with_value)
