"""Histogram matching as a loss: a tone curve gives a photograph another one's brightness.

Each pixel gives its weight to the two nearest bins (a scatter at computed positions), so that the
histogram is differentiable, and reads a rising curve between its two nearest knots. The loss is the
squared distance of the cumulated histograms.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import adjit as aj
import common
import numpy as np
from scipy.optimize import minimize


def histogram(image: Any, bins: int) -> Any:
    """The share of pixels at each of ``bins`` levels between 0 and 1: (H, W) -> (bins,)."""
    height, width = image.shape
    i, j, side = aj.reduce_axis(height), aj.reduce_axis(width), aj.reduce_axis(2)

    def vote(i: Any, j: Any, side: Any) -> tuple[Any, Any]:
        level = aj.clip(image[i, j], 0, 1) * (bins - 1)
        low = aj.minimum(aj.floor(level), bins - 2)
        weight = aj.select(side == 0, 1 - (level - low), level - low)
        return low.astype("int64") + side, weight / (height * width)

    return aj.scatter(bins, (i, j, side), vote)


def toned(image: Any, steps: Any) -> Any:
    """A photograph through the rising curve steps[0], + exp(steps[1]) / K, ...: (H, W), (K,)."""
    knots = steps.shape[0]
    rises = aj.concat([aj.zeros_like(steps[:1]), aj.exp(steps[1:]) / (knots - 1)])
    curve = steps[0] + aj.cumsum(rises, axis=0)

    def pixel(i: Any, j: Any) -> Any:
        place = aj.clip(image[i, j], 0, 1) * (knots - 1)
        low = aj.minimum(aj.floor(place), knots - 2)
        left = low.astype("int64")
        return curve[left] + (place - low) * (curve[left + 1] - curve[left])

    return aj.compute(image.shape, pixel)


def misfit(steps: Any, image: Any, wanted: Any) -> Any:
    """The squared distance of the cumulated histograms."""
    found = histogram(toned(image, steps), wanted.shape[0])
    return aj.sum(aj.square(aj.cumsum(found - wanted, axis=0)))


def distance(a: Any, b: Any) -> float:
    """The earth mover's distance of two photographs' brightness: sorted pixels, compared."""
    return float(np.mean(np.abs(np.sort(a, axis=None) - np.sort(b, axis=None))))


def main(
    size: int = 256, bins: int = 64, knots: int = 24, out: Path | None = None
) -> dict[str, float]:
    image = common.photograph("camera", size, np.float64)
    other = common.photograph("chelsea", size, np.float64).mean(axis=2)
    wanted = np.asarray(aj.jit(lambda x: histogram(x, bins))(other))
    value_and_grad = aj.jit(aj.value_and_grad(misfit))
    with common.Progress().task("matching histograms", 200) as task:
        found = minimize(
            lambda steps: tuple(np.asarray(v) for v in value_and_grad(steps, image, wanted)),
            np.zeros(knots), jac=True, method="L-BFGS-B", options={"maxiter": 200},
            callback=lambda steps: task.advance(""),
        )  # fmt: skip
    shown = np.asarray(aj.jit(toned)(image, found.x))
    common.write(out, "histogram_matching", image, shown, other)
    return {
        "misfit": float(found.fun),
        "distance before": distance(image, other),
        "distance after": distance(shown, other),
    }


if __name__ == "__main__":
    common.run(main, __doc__)
