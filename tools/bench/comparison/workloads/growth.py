"""Five rows at n, 2n, 4n, 8n: what grows faster than its work shows in the last column.

Names are <row>/<n>.
"""

from __future__ import annotations

from .contractions import attention, lstm, matmul
from .convolutions import conv
from .rows import softmax
from .workload import Workload


def growth() -> list[Workload]:
    """Ordered by row, then by size."""
    factors = (1, 2, 4, 8)
    return [
        *(matmul(n, n, n, f"matmul/{n}") for n in (128 * f for f in factors)),
        *(conv(f"conv3x3/{n}", (n, 64, 28, 28), 64) for n in factors),
        *(softmax(n, 1024, f"softmax/{n}") for n in (1024 * f for f in factors)),
        *(attention(1, 8, n, 64, f"attention/{n}") for n in (128 * f for f in factors)),
        *(lstm(n, 32, 128, 128, f"lstm/{n}") for n in (16 * f for f in factors)),
    ]
