"""Resizing, warping, bilateral slicing, deconvolution."""

from __future__ import annotations

from typing import Any

import adjit as aj

from .. import optional
from . import drjit_forwards, halide_forwards
from .workload import Input, Work, Workload

jax = optional.module("jax")
jnp = optional.module("jax.numpy")
torch = optional.module("torch")
lax = optional.module("jax.lax")
functional = optional.module("torch.nn.functional")


def upsample(name: str, image: tuple[int, int, int, int], mode: str) -> Workload:
    """Twice the height and width, half-pixel centres. The gradient reads no x: it is linear."""
    n, channels, height, width = image
    size = (2 * height, 2 * width)
    options: Any = {"align_corners": False} if mode == "bilinear" else {}
    return Workload(
        name,
        (Input(image),),
        Work(
            flops=n * channels * 4 * height * width * (8 if mode == "bilinear" else 1),
            floats=5 * n * channels * height * width,
        ),
        Work(
            flops=n * channels * 4 * height * width * (8 if mode == "bilinear" else 1),
            floats=5 * n * channels * height * width,
        ),
        lambda x: aj.nn.interpolate(x, scale_factor=2, mode=mode),
        lambda x: functional.interpolate(x, scale_factor=2, mode=mode, **options),
        lambda x: jax.image.resize(x, (n, channels, *size), mode),
    )


def warp(image: tuple[int, int, int, int], name: str = "warp") -> Workload:
    """Bilinear reads at (i + flow[0], j + flow[1]), edges repeated; flow (N, 2, H, W) in pixels."""
    n, channels, height, width = image

    def ours(x: Any, flow: Any) -> Any:
        a: Any = aj.reduce_axis(2)
        b: Any = aj.reduce_axis(2)

        def pixel(n: Any, c: Any, i: Any, j: Any) -> Any:
            y = i.astype("float32") + flow[n, 0, i, j]
            z = j.astype("float32") + flow[n, 1, i, j]
            top, left = aj.floor(y), aj.floor(z)
            down, right = y - top, z - left
            weight = aj.select(a == 0, 1 - down, down) * aj.select(b == 0, 1 - right, right)
            row, column = top.astype("int64") + a, left.astype("int64") + b
            return aj.sum(weight * x.at(n, c, row, column, mode="clip"), axis=(a, b))

        return aj.compute(image, pixel)

    def by_torch(x: Any, flow: Any) -> Any:
        i = torch.arange(height, device=flow.device)[:, None] + flow[:, 0]
        j = torch.arange(width, device=flow.device) + flow[:, 1]
        at = torch.stack([j * (2 / (width - 1)) - 1, i * (2 / (height - 1)) - 1], -1)
        return functional.grid_sample(x, at, padding_mode="border", align_corners=True)

    def by_jax(x: Any, flow: Any) -> Any:
        def one(x: Any, flow: Any) -> Any:
            y = jnp.arange(height)[:, None] + flow[0]
            z = jnp.arange(width) + flow[1]
            top, left = jnp.floor(y), jnp.floor(z)
            total = jnp.zeros_like(x)
            for a, down in ((0, 1 - (y - top)), (1, y - top)):
                for b, right in ((0, 1 - (z - left)), (1, z - left)):
                    row = jnp.clip(top.astype(int) + a, 0, height - 1)
                    column = jnp.clip(left.astype(int) + b, 0, width - 1)
                    total += down * right * x[:, row, column]
            return total

        return jax.vmap(one)(x, flow)

    pixels = n * height * width
    return Workload(
        name,
        (Input(image), Input((n, 2, height, width), scale=2.0)),
        # For each corner: the read, its product with the cotangent, and the update.
        Work(
            flops=4 * 6 * pixels * channels,
            floats=pixels * (3 * channels + 4),
            gathers=2 * 4 * pixels * channels,
        ),
        Work(floats=pixels * channels),
        ours, by_torch, by_jax,
        drjit=drjit_forwards.warp,
        halide=halide_forwards.warp(height, width),
    )  # fmt: skip


def bilateral_slice(
    n: int, grid: tuple[int, int, int], size: tuple[int, int], name: str = "bilateral_slice"
) -> Workload:
    """HDRNet's layer: a grid of 3 x 4 colour transforms, read at a depth that the guide computes.

    grid (N, 12, D, Y, X), guide (N, H, W) in 0 .. 1, image (N, 3, H, W) with a fourth channel of
    ones; half-pixel centres, edges repeated.
    """
    (levels, rows, columns), (height, width) = grid, size

    def ours(grid: Any, guide: Any, image: Any) -> Any:
        corners: Any = [aj.reduce_axis(2) for _ in range(3)]
        k: Any = aj.reduce_axis(4)
        a, b, c = corners

        def share(part: Any, corner: Any) -> Any:
            return aj.select(corner == 0, 1 - part, part)

        def pixel(n: Any, channel: Any, i: Any, j: Any) -> Any:
            # Where along the image is known in advance, in units of half a pixel.
            y, x = (2 * i + 1) * rows - height, (2 * j + 1) * columns - width
            down = (y % (2 * height)).astype("float32") / (2 * height)
            right = (x % (2 * width)).astype("float32") / (2 * width)
            z = guide[n, i, j] * levels - 0.5
            near = aj.floor(z)
            weight = share(down, a) * share(right, b) * share(z - near, c)
            affine = grid.at(
                n, 4 * channel + k, near.astype("int64") + c, y // (2 * height) + a,
                x // (2 * width) + b, mode="clip",
            )  # fmt: skip
            colour = aj.select(k < 3, image[n, aj.minimum(k, 2), i, j], 1)
            return aj.sum(weight * affine * colour, axis=(a, b, c, k))

        return aj.compute((n, 3, height, width), pixel)

    def by_torch(grid: Any, guide: Any, image: Any) -> Any:
        y = (2 * torch.arange(height, device=guide.device) + 1) / height - 1
        x = (2 * torch.arange(width, device=guide.device) + 1) / width - 1
        at = torch.stack(
            [x.expand(n, height, width), y[:, None].expand(n, height, width), 2 * guide - 1], -1
        )
        affine = functional.grid_sample(
            grid, at[:, None], padding_mode="border", align_corners=False
        )
        affine = affine.reshape(n, 3, 4, height, width)
        return (affine[:, :, :3] * image[:, None]).sum(2) + affine[:, :, 3]

    def by_jax(grid: Any, guide: Any, image: Any) -> Any:
        y = (jnp.arange(height) + 0.5) * rows / height - 0.5
        x = (jnp.arange(width) + 0.5) * columns / width - 0.5
        z = guide * levels - 0.5
        lows = [jnp.floor(v) for v in (z, y[:, None], x[None, :])]
        parts = [v - low for v, low in zip((z, y[:, None], x[None, :]), lows, strict=True)]
        batch = jnp.arange(n)[:, None, None]
        affine: Any = 0
        for corner in range(8):
            index, weight = [], 1
            for axis, extent in enumerate((levels, rows, columns)):
                bit = corner >> axis & 1
                index.append(jnp.clip(lows[axis].astype(int) + bit, 0, extent - 1))
                weight = weight * (parts[axis] if bit else 1 - parts[axis])
            read = grid[batch, :, index[0], index[1][None], index[2][None]]
            affine = affine + jnp.broadcast_to(weight, (n, height, width))[..., None] * read
        affine = affine.reshape(n, height, width, 3, 4)
        colour = jnp.concatenate([image, jnp.ones((n, 1, height, width), jnp.float32)], 1)
        return jnp.einsum("nhwck,nkhw->nchw", affine, colour)

    pixels = n * height * width
    return Workload(
        name,
        (
            Input((n, 12, levels, rows, columns)),
            Input((n, height, width), "uniform"),
            Input((n, 3, height, width)),
        ),
        # 96 coefficients a pixel, each read, used for the slope along the guide, and updated.
        Work(
            flops=96 * 6 * pixels,
            floats=pixels * (2 * 3 + 2 + 3),
            gathers=2 * 8 * pixels,
        ),
        Work(floats=3 * pixels),
        ours, by_torch, by_jax,
        halide=halide_forwards.bilateral_slice(grid, size),
    )  # fmt: skip


def deconv_energy(
    channels: int, side: int, size: int = 9, name: str = "deconv_energy"
) -> Workload:  # fmt: skip
    """sum((kernel * image)^2) + total variation; image (C, H, W), gradients of image and kernel."""

    def variation(m: Any, image: Any) -> Any:
        across = image[:, :-1, 1:] - image[:, :-1, :-1]
        down = image[:, 1:, :-1] - image[:, :-1, :-1]
        return m.sum(m.sqrt(across * across + down * down + 1e-3))

    def ours(image: Any, kernel: Any) -> Any:
        blurred = aj.nn.conv2d(image[:, None], kernel[None, None], padding=size // 2)
        return aj.sum(blurred * blurred) + variation(aj, image)

    def by_torch(image: Any, kernel: Any) -> Any:
        blurred = functional.conv2d(image[:, None], kernel[None, None], padding=size // 2)
        return (blurred * blurred).sum() + variation(torch, image)

    def by_jax(image: Any, kernel: Any) -> Any:
        blurred = lax.conv(image[:, None], kernel[None, None], (1, 1), "SAME")
        return jnp.sum(blurred * blurred) + variation(jnp, image)

    pixels = channels * side * side
    return Workload(
        name,
        (Input((channels, side, side)), Input((size, size), scale=1 / size)),
        Work(flops=6 * size * size * pixels, floats=2 * pixels),
        Work(),
        ours, by_torch, by_jax,
        halide=halide_forwards.deconv_energy(channels, side, size),
    )  # fmt: skip
