"""Elementwise chains and a table's rows."""

from __future__ import annotations

from typing import Any

import adjit as aj

from .. import optional
from . import halide_forwards
from .workload import Input, Work, Workload

jax = optional.module("jax")
jnp = optional.module("jax.numpy")
torch = optional.module("torch")
functional = optional.module("torch.nn.functional")


def fused_chain(count: int, name: str = "fused_chain") -> Workload:
    """tanh(x y + exp(-x^2)) sigmoid(y) + log1p(abs x); no gradient needs the logarithm."""

    def chain(m: Any, sigmoid: Any) -> Any:
        return lambda x, y: m.tanh(x * y + m.exp(-(x * x))) * sigmoid(y) + m.log1p(m.abs(x))

    def by_formula(m: Any, tanh: Any, x: Any, y: Any) -> Any:
        wave = tanh(x * y + m.exp(-(x * x))) / (1 + m.exp(-y))
        return wave + m.log(1 + m.abs(x))

    def by_halide(hl: Any, x: Any, y: Any) -> Any:
        # Its tanh is a call of the C library a number.
        return by_formula(hl, lambda z: 1 - 2 / (1 + hl.exp(2 * z)), x, y)

    return Workload(
        name,
        (Input((count,)), Input((count,))),
        Work(flops=30 * count, floats=5 * count, calls={"tanh": count, "exp": 2 * count}),
        Work(flops=4 * count, floats=count, calls={"log": count}),
        chain(aj, aj.sigmoid), chain(torch, torch.sigmoid), chain(jnp, jax.nn.sigmoid),
        drjit=lambda dr, x, y: by_formula(dr, dr.tanh, x, y),
        halide=halide_forwards.elementwise(1, by_halide),
    )  # fmt: skip


def tiny(side: int, name: str = "tiny") -> Workload:
    """(sin(x) s + cos x) / (1 + x^2): what a call costs."""

    def formula(m: Any) -> Any:
        return lambda x, s: (m.sin(x) * s + m.cos(x)) / (1 + x * x)

    n = side * side
    return Workload(
        name,
        (Input((side, side)), Input((side, side))),
        Work(flops=20 * n, floats=5 * n, calls={"sin": n, "cos": n}),
        Work(flops=2 * n, floats=n),
        formula(aj), formula(torch), formula(jnp),
        drjit=lambda dr, x, s: formula(dr)(x, s),
        halide=halide_forwards.elementwise(2, lambda hl, x, s: formula(hl)(x, s)),
    )  # fmt: skip


def embedding(rows: int, width: int, indices: int, name: str = "embedding") -> Workload:
    """Rows of a table, some of them several times; the gradient is a table."""
    return Workload(
        name,
        (Input((indices,), "index", below=rows), Input((rows, width))),
        Work(flops=indices * width, floats=(rows + indices) * width, gathers=indices),
        Work(floats=(min(indices, rows) + indices) * width, gathers=indices),
        aj.nn.embedding, functional.embedding, lambda i, table: table[i],
    )  # fmt: skip
