"""FlowNet's warping layer: a photograph moved by a flow, and the flow found again from both.

Each pixel of the result reads four pixels at a position that the flow computes; the gradient with
respect to the flow comes from the weights of these reads. The flow is a coarse grid of control
points, resized to the photograph.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import adjit as aj
import common
import numpy as np


def warp(image: Any, flow: Any) -> Any:
    """Bilinear reads at (y + flow[0], x + flow[1]), edges repeated: (H, W), (2, H, W) -> (H, W)."""
    height, width = image.shape
    a, b = aj.reduce_axis(2), aj.reduce_axis(2)

    def pixel(i: Any, j: Any) -> Any:
        y = i.astype(flow.dtype) + flow[0, i, j]
        x = j.astype(flow.dtype) + flow[1, i, j]
        top, left = aj.floor(y), aj.floor(x)
        down, right = y - top, x - left
        weight = aj.select(a == 0, 1 - down, down) * aj.select(b == 0, 1 - right, right)
        row, column = top.astype("int64") + a, left.astype("int64") + b
        return aj.sum(weight * image.at(row, column, mode="clip"), axis=(a, b))

    return aj.compute((height, width), pixel)


def dense(controls: Any, shape: tuple[int, int]) -> Any:
    """A coarse flow, resized to an image: (2, h, w) -> (2, H, W)."""
    return aj.image.resize(controls[None], size=list(shape), method="bilinear")[0]


def misfit(controls: Any, image: Any, moved: Any) -> Any:
    """The mean squared difference between the warped image and the moved one."""
    return aj.mean(aj.square(warp(image, dense(controls, image.shape)) - moved))


@aj.jit
def descend(controls: Any, velocity: Any, image: Any, moved: Any, rate: Any) -> Any:
    """One step of gradient descent with momentum."""
    value, slope = aj.value_and_grad(misfit)(controls, image, moved)
    velocity = 0.9 * velocity - rate * slope
    return value, controls + velocity, velocity


def main(
    size: int = 256, steps: int = 300, pixels: float = 3.0, out: Path | None = None
) -> dict[str, float]:
    image = common.photograph("camera", size)
    y, x = np.meshgrid(np.linspace(-1, 1, 8), np.linspace(-1, 1, 8), indexing="ij")
    true = pixels * np.stack([np.sin(2 * x) * np.cos(y), np.cos(2 * y) * x]).astype(np.float32)
    flow = np.asarray(aj.jit(lambda c: dense(c, image.shape))(true))
    moved = np.asarray(aj.jit(warp)(image, flow))

    controls = np.zeros_like(true)
    velocity = np.zeros_like(true)
    with common.Progress().task("finding the flow", steps) as task:
        for _ in range(steps):
            value, controls, velocity = descend(controls, velocity, image, moved, 300.0)
            task.advance(f"misfit {float(value):.2e}")
    found = np.asarray(aj.jit(lambda c: dense(c, image.shape))(controls))
    back = np.asarray(aj.jit(warp)(image, found))
    common.write(out, "flow_warp", image, moved, back, 0.5 + 5 * (back - moved))
    return {
        "end point error before": float(np.mean(np.hypot(*flow))),
        "end point error after": float(np.mean(np.hypot(*(found - flow)))),
        "PSNR before": common.psnr(image, moved),
        "PSNR after": common.psnr(back, moved),
    }


if __name__ == "__main__":
    common.run(main, __doc__)
