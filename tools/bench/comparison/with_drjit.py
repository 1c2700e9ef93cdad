"""Dr.Jit: reverse mode over its tensors, frozen so that a step is not traced again."""

from __future__ import annotations

import os
from typing import Any

from .row import Row, Step


def drjit(row: Row) -> Step | None:
    """The LLVM backend."""
    forward = row.workload.drjit
    if forward is None:
        return None
    import drjit as dr
    from drjit.llvm.ad import TensorXf

    dr.set_thread_count(len(os.sched_getaffinity(0)))

    def pull(cotangent: Any, inputs: list[Any]) -> Any:
        leaves = [TensorXf(dr.detach(x)) for x in inputs]
        dr.enable_grad(*leaves)
        out = forward(dr, *leaves)
        dr.set_grad(out, cotangent)
        dr.enqueue(dr.ADMode.Backward, out)
        dr.traverse(dr.ADMode.Backward)
        gradients = [dr.grad(x) for x in leaves]
        return [dr.detach(out), *gradients] if row.with_value else gradients

    step = dr.freeze(pull)
    inputs, seed = [TensorXf(x) for x in row.inputs], TensorXf(row.cotangent)

    def run() -> Any:
        results = step(seed, inputs)
        dr.eval(results)
        dr.sync_thread()
        return results

    return Step(run)
