"""Convolutions, transposed convolutions, pools."""

from __future__ import annotations

from typing import Any

import adjit as aj

from .. import optional
from . import halide_forwards
from .workload import HALIDE_SCHEDULERS, HALIDE_SCHEDULERS_OF_CHANNELS, Input, Work, Workload

jnp = optional.module("jax.numpy")
lax = optional.module("jax.lax")
functional = optional.module("torch.nn.functional")


def _outputs(extent: int, size: int, stride: int, padding: int, dilation: int = 1) -> int:
    return (extent + 2 * padding - dilation * (size - 1) - 1) // stride + 1


def conv(
    name: str,
    image: tuple[int, int, int, int],
    outputs: int,
    size: int = 3,
    stride: int = 1,
    padding: int = 1,
    dilation: int = 1,
    groups: int = 1,
) -> Workload:
    """x (N, C, H, W) with w (outputs, C / groups, size, size)."""
    n, channels, height, width = image
    rows, columns = (_outputs(e, size, stride, padding, dilation) for e in (height, width))
    taps = channels // groups * size * size
    options: Any = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}

    by_halide = None
    if groups == 1 or groups == channels == outputs:
        by_halide = halide_forwards.conv(channels, size, stride, padding, dilation, groups > 1)

    def by_jax(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(
            x, w, (stride, stride), [(padding, padding)] * 2,
            rhs_dilation=(dilation, dilation), feature_group_count=groups,
        )  # fmt: skip

    return Workload(
        name,
        (Input(image), Input((outputs, channels // groups, size, size))),
        Work(
            flops=4 * n * outputs * rows * columns * taps,
            floats=2 * n * channels * height * width
            + 2 * outputs * taps
            + n * outputs * rows * columns,
        ),
        Work(flops=2 * n * outputs * rows * columns * taps, floats=n * outputs * rows * columns),
        lambda x, w: aj.nn.conv2d(x, w, **options),
        lambda x, w: functional.conv2d(x, w, **options),
        by_jax,
        channels_last=True,
        halide=by_halide,
        halide_schedulers=HALIDE_SCHEDULERS if groups > 1 else HALIDE_SCHEDULERS_OF_CHANNELS,
    )


def conv_transpose(
    name: str, image: tuple[int, int, int, int], outputs: int, size: int, stride: int, padding: int
) -> Workload:
    """x (N, C, H, W) with w (C, outputs, size, size)."""
    n, channels, height, width = image
    rows, columns = ((e - 1) * stride - 2 * padding + size for e in (height, width))
    weights = channels * outputs * size * size

    def by_jax(x: Any, w: Any) -> Any:
        flipped = jnp.flip(w, (2, 3)).transpose(1, 0, 2, 3)
        edge = size - 1 - padding
        return lax.conv_general_dilated(
            x, flipped, (1, 1), [(edge, edge)] * 2, lhs_dilation=(stride, stride)
        )

    return Workload(
        name,
        (Input(image), Input((channels, outputs, size, size))),
        Work(
            flops=4 * n * height * width * weights,
            floats=2 * n * channels * height * width + 2 * weights + n * outputs * rows * columns,
        ),
        Work(flops=2 * n * height * width * weights, floats=n * outputs * rows * columns),
        lambda x, w: aj.nn.conv_transpose2d(x, w, stride=stride, padding=padding),
        lambda x, w: functional.conv_transpose2d(x, w, stride=stride, padding=padding),
        by_jax,
        channels_last=True,
    )


def max_pool(
    name: str, image: tuple[int, int, int, int], size: int, stride: int, padding: int
) -> Workload:
    """Reads x and the cotangent, writes the value and x's gradient."""
    n, channels, height, width = image
    rows, columns = (_outputs(e, size, stride, padding) for e in (height, width))

    by_halide = None
    if size <= 3:  # its expression doubles with every value, more than 9 take minutes to compile
        by_halide = halide_forwards.max_pool(size, stride, padding, height, width)

    def by_jax(x: Any) -> Any:
        edge = (padding, padding)
        return lax.reduce_window(
            x, -jnp.inf, lax.max, (1, 1, size, size), (1, 1, stride, stride),
            ((0, 0), (0, 0), edge, edge),
        )  # fmt: skip

    return Workload(
        name,
        (Input(image),),
        Work(
            flops=n * channels * rows * columns * size * size,
            floats=n * channels * (2 * height * width + rows * columns),
        ),
        Work(floats=n * channels * rows * columns),
        lambda x: aj.nn.max_pool2d(x, size, stride, padding),
        lambda x: functional.max_pool2d(x, size, stride, padding),
        by_jax,
        halide=by_halide,
    )


def avg_pool(
    name: str, image: tuple[int, int, int, int], size: int, stride: int, padding: int
) -> Workload:
    """The gradient of this linear function reads the cotangent alone; the value reads x."""
    n, channels, height, width = image
    rows, columns = (_outputs(e, size, stride, padding) for e in (height, width))

    def by_jax(x: Any) -> Any:
        edge = (padding, padding)
        total = lax.reduce_window(
            x, 0.0, lax.add, (1, 1, size, size), (1, 1, stride, stride),
            ((0, 0), (0, 0), edge, edge),
        )  # fmt: skip
        return total / size**2

    return Workload(
        name,
        (Input(image),),
        Work(
            flops=n * channels * rows * columns * size * size,
            floats=n * channels * (height * width + rows * columns),
        ),
        Work(
            flops=n * channels * rows * columns * size * size,
            floats=n * channels * (height * width + rows * columns),
        ),
        lambda x: aj.nn.avg_pool2d(x, size, stride, padding),
        lambda x: functional.avg_pool2d(x, size, stride, padding),
        by_jax,
    )
