"""Deblurring a photograph: gradient descent through a 9x9 blur with a total-variation prior."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import adjit as aj

from .progress import Progress

_SIZE = 9


def kernel() -> Any:
    """A 9x9 Gaussian, float32, sum 1."""
    offsets = np.arange(_SIZE) - _SIZE // 2
    one = np.exp(-(offsets**2) / (2 * 2.0**2))
    both = np.outer(one, one)
    return (both / both.sum()).astype(np.float32)


def blur(image: Any, k: Any) -> Any:
    """Correlation with the kernel in index notation, edges repeated: (H, W) -> (H, W)."""
    height, width = image.shape
    padded = aj.pad(image, [[_SIZE // 2] * 2] * 2, mode="edge")
    r, s = aj.reduce_axis(_SIZE), aj.reduce_axis(_SIZE)
    return aj.compute(
        (height, width), lambda i, j: aj.sum(padded[i + r, j + s] * k[r, s], axis=(r, s))
    )


def energy(image: Any, observed: Any, k: Any, weight: Any) -> Any:
    """Half the squared misfit plus ``weight`` times the smoothed total variation."""
    misfit = blur(image, k) - observed
    across = image[:-1, 1:] - image[:-1, :-1]
    down = image[1:, :-1] - image[:-1, :-1]
    variation = aj.sum(aj.sqrt(across * across + down * down + 1e-6))
    return 0.5 * aj.sum(misfit * misfit) + weight * variation


@aj.jit
def descend(image: Any, velocity: Any, observed: Any, k: Any, weight: Any, rate: Any) -> Any:
    """One step of gradient descent with Nesterov's momentum: (energy, image, velocity)."""
    value, slope = aj.value_and_grad(energy)(image + 0.95 * velocity, observed, k, weight)
    velocity = 0.95 * velocity - rate * slope
    return value, image + velocity, velocity


def psnr(image: Any, truth: Any) -> float:
    """Peak signal-to-noise ratio in dB, for values in 0 .. 1."""
    return float(-10 * np.log10(np.mean((np.clip(image, 0, 1) - truth) ** 2)))


def photograph() -> Any:
    """scikit-image's cameraman, float32 in 0 .. 1, 512 x 512."""
    from skimage import data  # takes long: blur and energy serve other pictures, too

    camera: Any = data.camera
    return (camera() / 255).astype(np.float32)


def run(progress: Progress, folder: Path, steps: int = 150) -> tuple[float, float]:
    """Writes before.png and after.png; returns the PSNR of both in dB."""
    truth = photograph()
    k = kernel()
    rng = np.random.default_rng(1)
    noise = 0.002 * rng.standard_normal(truth.shape)
    observed = (np.asarray(aj.jit(blur)(truth, k)) + noise).astype(np.float32)
    image, velocity = observed, np.zeros_like(observed)
    with progress.task("deblurring a photograph", steps) as task:
        for _ in range(steps):
            value, image, velocity = descend(image, velocity, observed, k, 2e-4, 0.4)
            task.advance(f"energy {float(value):.2f}")
    _write(folder / "before.png", observed)
    _write(folder / "after.png", image)
    return psnr(observed, truth), psnr(image, truth)


def _write(path: Path, image: Any) -> None:
    from skimage import io  # as above

    io.imsave(path, (np.clip(image, 0, 1) * 255 + 0.5).astype(np.uint8), check_contrast=False)
