"""The same rows in every float type: what storage and arithmetic of each cost."""

from __future__ import annotations

from .contractions import matmul
from .convolutions import conv
from .rows import layernorm, softmax
from .workload import Workload


def dtypes() -> list[Workload]:
    """Each row in float32 first, the others by its name and the type's."""
    rows = [
        matmul(512, 512, 512),
        conv("conv3x3", (8, 64, 28, 28), 64),
        softmax(4096, 1024),
        layernorm(4096, 1024),
    ]
    return [row.of(d) for row in rows for d in ("float32", "float64", "bfloat16", "float16")]
