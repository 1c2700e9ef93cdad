"""Newton's method with conjugate gradients, on a photograph's deblurring with total variation.

The Hessian has a row for every pixel and is never formed: conjugate gradients need only its product
with a vector: the derivative of the gradient along it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import adjit as aj
import common
import numpy as np
from adjit.demo import deblur


def energy(image: Any, observed: Any, kernel: Any, weight: Any) -> Any:
    """Half the squared misfit of the blurred image plus ``weight`` times its total variation."""
    misfit = deblur.blur(image, kernel) - observed
    across = image[:-1, 1:] - image[:-1, :-1]
    down = image[1:, :-1] - image[:-1, :-1]
    variation = aj.sum(aj.sqrt(across * across + down * down + 1e-3))
    return aj.sum(misfit * misfit) / 2 + weight * variation


def product(image: Any, vector: Any, *rest: Any) -> Any:
    """The energy's Hessian at ``image``, times ``vector``: forward mode over reverse mode."""
    slope = aj.grad(energy)
    return aj.jvp(lambda image: slope(image, *rest), (image,), (vector,))[1]


def conjugate_gradients(
    apply: Callable[[Any], Any], b: Any, steps: int, tolerance: float
) -> tuple[Any, int]:
    """x with apply(x) = b to a relative residual, and the number of products that it took."""
    x, residual = np.zeros_like(b), b
    direction, square = b, float(np.vdot(b, b))
    goal = tolerance**2 * square
    for count in range(1, steps + 1):
        applied = np.asarray(apply(direction))
        step = square / float(np.vdot(direction, applied))
        x, residual = x + step * direction, residual - step * applied
        before, square = square, float(np.vdot(residual, residual))
        if square < goal:
            return x, count
        direction = residual + square / before * direction
    return x, steps


def main(
    size: int = 192, steps: int = 6, inner: int = 60, dtype: Any = np.float64,
    out: Path | None = None,
) -> dict[str, float]:  # fmt: skip
    truth = common.photograph("camera", size, dtype)
    kernel = deblur.kernel().astype(dtype)
    noise = 0.002 * np.random.default_rng(1).standard_normal(truth.shape)
    observed = np.asarray(aj.jit(deblur.blur)(truth, kernel)) + noise.astype(dtype)
    rest = observed, kernel, dtype(2e-4)
    value, slope = aj.jit(energy), aj.jit(aj.value_and_grad(energy))
    times = aj.jit(product)

    image, products = observed, 0
    start = found = float(value(image, *rest))
    with common.Progress().task("Newton's method on a blurred photograph", steps) as task:
        for _ in range(steps):
            gradient = np.asarray(slope(image, *rest)[1])
            change, count = conjugate_gradients(
                lambda v, at=image: times(at, v, *rest), -gradient, inner, 0.05
            )
            products += count
            length = 1.0
            while float(value(image + length * change, *rest)) > found and length > 1e-3:
                length /= 2
            image = image + length * change
            found = float(value(image, *rest))
            task.advance(f"energy {found:.4f} after {count} products, step {length:g}")
    last = np.asarray(slope(image, *rest)[1])
    common.write(out, "tv_deblur", observed, image, truth)
    first = np.asarray(slope(observed, *rest)[1])
    return {
        "energy before": start,
        "energy after": found,
        "gradient's norm, after against before": float(
            np.linalg.norm(last) / np.linalg.norm(first)
        ),
        "Hessian products": products,
        "PSNR before": common.psnr(observed, truth),
        "PSNR after": common.psnr(image, truth),
    }


if __name__ == "__main__":
    common.run(main, __doc__)
