"""What the examples share: photographs, PNG files, the command line, progress."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from adjit.demo.progress import Progress
from skimage import data, io, transform

__all__ = ["Progress", "photograph", "psnr", "run", "write"]


def photograph(name: str, size: int, dtype: Any = np.float32) -> Any:
    """The middle square of a photograph of skimage.data, in 0 .. 1: (size, size[, 3])."""
    image = getattr(data, name)()
    side = min(image.shape[:2])
    top, left = ((extent - side) // 2 for extent in image.shape[:2])
    square = image[top : top + side, left : left + side]
    return transform.resize(square, (size, size), anti_aliasing=True).astype(dtype)


def psnr(image: Any, truth: Any) -> float:
    """Peak signal-to-noise ratio in dB, for values in 0 .. 1."""
    return float(-10 * np.log10(np.mean((np.clip(image, 0, 1) - truth) ** 2)))


def write(out: Path | None, name: str, *images: Any) -> None:
    """Images of one shape, side by side, as out/name.png; nothing without a folder."""
    if out is None:
        return
    wide = np.concatenate([np.asarray(image) for image in images], axis=1)
    pixels = (np.clip(wide, 0, 1) * 255 + 0.5).astype(np.uint8)
    io.imsave(out / f"{name}.png", pixels, check_contrast=False)


def run(main: Callable[..., dict[str, float]], description: str | None) -> None:
    """Runs an example from the command line and prints the numbers that it returns."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the pictures")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for name, value in main(out=out).items():
        print(f"{name}: {value:.6g}")
