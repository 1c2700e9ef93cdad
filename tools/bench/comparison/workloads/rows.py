"""Softmax, losses, normalizations: reductions over rows and what is elementwise around them."""

from __future__ import annotations

from typing import Any

import adjit as aj

from .. import optional
from . import drjit_forwards, halide_forwards
from .workload import Input, Work, Workload

jax = optional.module("jax")
jnp = optional.module("jax.numpy")
lax = optional.module("jax.lax")
functional = optional.module("torch.nn.functional")


def softmax(count: int, width: int, name: str = "softmax", scale: float = 1) -> Workload:
    """Over the last axis. Reads x and the cotangent, writes x's gradient.

    Scores of a scale of 30 have weights far below 2^-126 beside those that count.
    """
    n = count * width
    return Workload(
        name,
        (Input((count, width), scale=scale),),
        Work(flops=8 * n, floats=3 * n, calls={"exp": n}),
        Work(floats=n),
        lambda x: aj.nn.softmax(x, dim=-1),
        lambda x: functional.softmax(x, dim=-1),
        lambda x: jax.nn.softmax(x, axis=-1),
        drjit=drjit_forwards.softmax,
        halide=halide_forwards.softmax(width),
    )


def cross_entropy(count: int, classes: int, name: str = "cross_entropy") -> Workload:
    """The mean over labelled rows. Reads the logits, writes their gradient."""

    def by_jax(logits: Any, labels: Any) -> Any:
        chosen = jnp.take_along_axis(logits, labels[:, None], axis=1)[:, 0]
        return jnp.mean(jax.nn.logsumexp(logits, axis=1) - chosen)

    n = count * classes
    return Workload(
        name,
        (Input((count, classes)), Input((count,), "index", below=classes)),
        Work(flops=6 * n, floats=2 * n, calls={"exp": n}),
        Work(calls={"log": count}),
        aj.nn.cross_entropy, functional.cross_entropy, by_jax,
    )  # fmt: skip


def layernorm(count: int, width: int, name: str = "layernorm") -> Workload:
    """Over the last axis, with scale and shift."""

    def by_jax(x: Any, scale: Any, shift: Any) -> Any:
        mean = x.mean(-1, keepdims=True)
        variance = x.var(-1, keepdims=True)
        return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + shift

    n = count * width
    return Workload(
        name,
        (Input((count, width)), Input((width,)), Input((width,))),
        Work(flops=14 * n, floats=3 * n),
        Work(flops=2 * n, floats=n),
        lambda x, scale, shift: aj.nn.layer_norm(x, [width], scale, shift),
        lambda x, scale, shift: functional.layer_norm(x, [width], scale, shift),
        by_jax,
        drjit=drjit_forwards.layernorm,
        halide=halide_forwards.layernorm(width),
    )


def batchnorm(image: tuple[int, int, int, int], name: str = "batchnorm") -> Workload:
    """Statistics of the batch, with scale and shift for each channel."""
    n, channels, height, width = image

    def ours(x: Any, scale: Any, shift: Any) -> Any:
        mean, variance = aj.zeros((channels,)), aj.ones((channels,))
        return aj.nn.batch_norm(x, mean, variance, scale, shift, training=True)[0]

    def by_jax(x: Any, scale: Any, shift: Any) -> Any:
        axes = (0, 2, 3)
        mean = x.mean(axes, keepdims=True)
        variance = x.var(axes, keepdims=True)
        scale, shift = (v[None, :, None, None] for v in (scale, shift))
        return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + shift

    numbers = n * channels * height * width
    return Workload(
        name,
        (Input(image), Input((channels,)), Input((channels,))),
        Work(flops=14 * numbers, floats=3 * numbers),
        Work(flops=2 * numbers, floats=numbers),
        ours,
        lambda x, scale, shift: functional.batch_norm(x, None, None, scale, shift, training=True),
        by_jax,
    )


def lrn(image: tuple[int, int, int, int], size: int, name: str = "lrn") -> Workload:
    """x / (1 + alpha mean(x^2 over ``size`` channels))^0.75, which square roots can do."""
    n, channels, height, width = image
    alpha = 0.5  # torch's 1e-4 would make the row nearly the identity

    def by_jax(x: Any) -> Any:
        before = size // 2
        squares = lax.reduce_window(
            x * x, 0.0, lax.add, (1, size, 1, 1), (1, 1, 1, 1),
            ((0, 0), (before, size - 1 - before), (0, 0), (0, 0)),
        )  # fmt: skip
        return x / (1 + alpha / size * squares) ** 0.75

    numbers = n * channels * height * width
    return Workload(
        name,
        (Input(image),),
        Work(flops=(4 * size + 10) * numbers, floats=3 * numbers),
        Work(flops=numbers, floats=numbers),
        lambda x: aj.nn.local_response_norm(x, size, alpha=alpha),
        lambda x: functional.local_response_norm(x, size, alpha=alpha),
        by_jax,
        halide=halide_forwards.lrn(size, alpha),
    )  # fmt: skip
