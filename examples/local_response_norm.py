"""Local response normalisation, in the text notation, on edges of a photograph.

AlexNet divides each channel by a power of the sum of squares over neighbouring channels (Krizhevsky
et al. 2012). Here the channels are differences in several directions, and the normalisation brings
the strong and the weak edges of a photograph nearer to each other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import adjit as aj
import common
import numpy as np

SIZE, ALPHA, BETA, BIAS = 5, 1000.0, 0.75, 0.05

# Channels outside 0 .. C - 1 count as 0, as torch.nn.functional.local_response_norm has it.
normalize = aj.define(f"""
def normalize(float(N, C, H, W) x) -> (y) {{
  squared(n, c, h, w) = x(n, c, h, w) * x(n, c, h, w)
  squares(n, c, h, w) +=! select({SIZE // 2} <= c + k && c + k < C + {SIZE // 2},
                                 squared(n, c + k - {SIZE // 2}, h, w), 0)
    where n in 0:N, c in 0:C, h in 0:H, w in 0:W, k in 0:{SIZE}
  y(n, c, h, w) = x(n, c, h, w) / pow({BIAS} + {ALPHA / SIZE} * squares(n, c, h, w), {BETA})
}}
""").normalize


def edges(photo: Any, directions: int) -> Any:
    """Differences of a photograph in several directions: (H, W) -> (1, C, H, W)."""
    down, across = np.gradient(photo)
    angles = np.pi * np.arange(directions) / directions
    return np.stack([np.cos(a) * across + np.sin(a) * down for a in angles])[None].astype(
        np.float32
    )


def pull(x: Any, v: Any) -> Any:
    """The gradient of sum(v * normalize(x)) with respect to x."""
    return aj.grad(lambda x: aj.sum(v * normalize(x)))(x)


def strength(x: Any) -> Any:
    """Mean absolute value over the channels: (1, C, H, W) -> (H, W)."""
    return np.abs(x).mean(axis=(0, 1))


def main(size: int = 256, directions: int = 8, out: Path | None = None) -> dict[str, float]:
    photo = common.photograph("camera", size)
    x = edges(photo, directions)
    y = np.asarray(normalize(x))
    # Both sides of <v, J u> = <J' v, u>: the right one derived, the left one from two values.
    rng = np.random.default_rng(0)
    u, v = (rng.standard_normal(x.shape).astype(x.dtype) for _ in range(2))
    step = 1e-3 * u * np.abs(x)
    change = np.asarray(normalize(x + step)) - np.asarray(normalize(x - step))
    slope = np.asarray(aj.jit(pull)(x, v))
    before, after = strength(x), strength(y)
    common.write(out, "local_response_norm", photo, before / before.max(), after / after.max())
    return {
        "spread of edges before": float(before.std() / before.mean()),
        "spread of edges after": float(after.std() / after.mean()),
        "derived change": float(np.vdot(slope.astype(np.float64), 2 * step)),
        "measured change": float(np.vdot(v.astype(np.float64), change)),
    }


if __name__ == "__main__":
    common.run(main, __doc__)
