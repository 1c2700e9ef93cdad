"""Bilateral slicing: a photograph's retouching, learned as a small grid of colour transforms.

The grid holds 3 x 4 affine transforms over place and brightness. Each pixel reads the eight around
it, at a depth that its guide value computes, and applies their mean to its colour. The guide is
learned as well: its gradient comes from the weights of these reads.
(Gharbi et al. 2017; the first example of Li et al. 2018, Differentiable Programming in Halide.)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import adjit as aj
import common
import numpy as np


def guide(photo: Any, mix: Any) -> Any:
    """A brightness in 0 .. 1 from three weights and an offset: (H, W, 3), (4,) -> (H, W)."""
    return aj.sigmoid(photo @ mix[:3] + mix[3])


def transform(grid: Any, depth: Any, photo: Any) -> Any:
    """The sliced grid, applied: (Y, X, Z, 3, 4), (H, W), (H, W, 3) -> (H, W, 3)."""
    (height, width, _), (rows, columns, levels) = photo.shape, grid.shape[:3]
    a, b, c = (aj.reduce_axis(2) for _ in range(3))
    k = aj.reduce_axis(4)

    def share(part: Any, corner: Any) -> Any:
        return aj.select(corner == 0, 1 - part, part)

    def pixel(i: Any, j: Any, channel: Any) -> Any:
        # Along the image the cells are known in advance; their depth, only the guide knows.
        y, x = i * (rows - 1) // height, j * (columns - 1) // width
        down = (i * (rows - 1) % height).astype(photo.dtype) / height
        right = (j * (columns - 1) % width).astype(photo.dtype) / width
        scaled = depth[i, j] * (levels - 1)
        z = aj.minimum(aj.floor(scaled), levels - 2)
        weight = share(down, a) * share(right, b) * share(scaled - z, c)
        affine = grid[y + a, x + b, z.astype("int64") + c, channel, k]
        colour = aj.select(k < 3, photo[i, j, aj.minimum(k, 2)], 1)
        return aj.sum(weight * affine * colour, axis=(a, b, c, k))

    return aj.compute(photo.shape, pixel)


def misfit(parameters: dict[str, Any], photo: Any, wanted: Any) -> Any:
    """The mean squared difference to the retouched photograph."""
    shown = transform(parameters["grid"], guide(photo, parameters["mix"]), photo)
    return aj.mean(aj.square(shown - wanted))


@aj.jit
def descend(p: Any, velocity: Any, photo: Any, wanted: Any, rates: Any) -> Any:
    """One step of gradient descent with momentum on every parameter."""
    value, slopes = aj.value_and_grad(misfit)(p, photo, wanted)
    velocity = {k: 0.9 * velocity[k] - rates[k] * slopes[k] for k in p}
    return value, {k: p[k] + velocity[k] for k in p}, velocity


def start(rows: int, levels: int) -> dict[str, Any]:
    """The transform that changes nothing, everywhere, and a guide near the mean of the colours."""
    grid = np.zeros((rows, rows, levels, 3, 4), np.float32)
    grid[..., range(3), range(3)] = 1
    return {"grid": grid, "mix": np.array([1.5, 1.5, 1.5, -2], np.float32)}


def retouched(photo: Any) -> Any:
    """Lifted shadows, warm lights and dark corners: what a person might ask for."""
    y, x = (np.linspace(-1, 1, extent, dtype=np.float32) for extent in photo.shape[:2])
    brightness = photo.mean(axis=2, keepdims=True)
    lifted = photo ** (0.5 + 0.6 * brightness)
    warm = lifted * (1 + 0.25 * brightness * np.array([1, 0.1, -0.8], np.float32))
    corners = 1 - 0.35 * (y[:, None] ** 2 + x[None, :] ** 2) / 2
    return (warm * corners[..., None]).clip(0, 1).astype(np.float32)


def main(
    size: int = 192, rows: int = 6, levels: int = 6, steps: int = 200, out: Path | None = None
) -> dict[str, float]:
    photo = common.photograph("astronaut", size)
    wanted = retouched(photo)
    p = start(rows, levels)
    velocity = {k: np.zeros_like(v) for k, v in p.items()}
    # A cell of the grid is seen by few pixels, the guide by all of them.
    rates = {"grid": 4.0 * rows, "mix": 2.0}
    with common.Progress().task("learning a retouching", steps) as task:
        for _ in range(steps):
            value, p, velocity = descend(p, velocity, photo, wanted, rates)
            task.advance(f"misfit {float(value):.2e}")
    apply = aj.jit(lambda p, photo: transform(p["grid"], guide(photo, p["mix"]), photo))
    shown = np.asarray(apply(p, photo))
    common.write(out, "bilateral_slice", photo, shown, wanted)
    return {"PSNR before": common.psnr(photo, wanted), "PSNR after": common.psnr(shown, wanted)}


if __name__ == "__main__":
    common.run(main, __doc__)
