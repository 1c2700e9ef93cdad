"""Sets of points: a Gaussian mixture, a kernel sum."""

from __future__ import annotations

from typing import Any

import adjit as aj
import numpy as np

from .. import optional
from . import drjit_forwards, halide_forwards
from .workload import Input, Work, Workload

jax = optional.module("jax")
jnp = optional.module("jax.numpy")
torch = optional.module("torch")


def gmm(d: int, k: int, n: int, name: str = "gmm") -> Workload:
    """ADBench's objective with a Wishart prior (gamma 1, m 0), without its constants.

    alphas (K,), means (K, D), icf (K, D (D + 1) / 2): logarithms of the diagonal, then what is
    below it column by column; x (N, D).
    """
    rows, columns = np.tril_indices(d, -1)
    packed = d + columns * (2 * d - columns - 1) // 2 + (rows - columns - 1)

    def ours(alphas: Any, means: Any, icf: Any, x: Any) -> Any:
        q = aj.compute(
            (k, d, d),
            lambda c, i, j: aj.select(
                i == j,
                aj.exp(icf[c, i]),
                aj.select(j < i, icf[c, d + j * (2 * d - j - 1) // 2 + (i - j - 1)], 0),
            ),
        )
        i, j = aj.reduce_axis(d), aj.reduce_axis(d)
        white = aj.compute(
            (n, k, d),
            lambda p, c, i: aj.sum(q[c, i, j] * (x[p, j] - means[c, j]), axis=j, where=j <= i),
        )
        distance = aj.compute((n, k), lambda p, c: aj.sum(white[p, c, i] ** 2, axis=i))
        terms = alphas + aj.sum(icf[:, :d], axis=1) - distance / 2
        likelihood = aj.sum(aj.logsumexp(terms, axis=1)) - n * aj.logsumexp(alphas, axis=0)
        return likelihood - aj.sum(q * q) / 2

    def with_factors(m: Any, q: Any, alphas: Any, means: Any, icf: Any, x: Any) -> Any:
        white = m.einsum("kij,nkj->nki", q, x[:, None] - means)
        distance = (white * white).sum(2)
        terms = alphas + icf[:, :d].sum(1) - distance / 2
        logsumexp: Any = torch.logsumexp if m is torch else jax.nn.logsumexp
        return logsumexp(terms, 1).sum() - n * logsumexp(alphas, 0) - (q * q).sum() / 2

    def by_torch(alphas: Any, means: Any, icf: Any, x: Any) -> Any:
        below = icf.new_zeros(k, d, d)
        below[:, rows, columns] = icf[:, packed]
        q = below + torch.diag_embed(torch.exp(icf[:, :d]))
        return with_factors(torch, q, alphas, means, icf, x)

    def by_jax(alphas: Any, means: Any, icf: Any, x: Any) -> Any:
        q = jnp.zeros((k, d, d)).at[:, rows, columns].set(icf[:, packed])
        q = q.at[:, np.arange(d), np.arange(d)].set(jnp.exp(icf[:, :d]))
        return with_factors(jnp, q, alphas, means, icf, x)

    return Workload(
        name,
        (
            Input((k,)), Input((k, d)), Input((k, d * (d + 1) // 2), scale=0.1), Input((n, d)),
        ),
        # The triangular product, and its two gradients.
        Work(
            flops=3 * n * k * d * (d + 1),
            floats=2 * (n * d + k * d + k * d * (d + 1) // 2),
            calls={"exp": n * k},
        ),
        Work(calls={"log": n}),
        ours, by_torch, by_jax,
    )  # fmt: skip


def gaussian_kernel(
    n: int, m: int, dimensions: int, columns: int, name: str = "gaussian_kernel"
) -> Workload:
    """sum_j exp(-|x_i - y_j|^2) b_j; x (N, D), y (M, D), b (M, C)."""

    def ours(x: Any, y: Any, b: Any) -> Any:
        j, k = aj.reduce_axis(m), aj.reduce_axis(dimensions)
        squares = aj.compute((n, m), lambda i, j: aj.sum((x[i, k] - y[j, k]) ** 2, axis=k))
        return aj.compute(
            (n, columns), lambda i, c: aj.sum(aj.exp(-squares[i, j]) * b[j, c], axis=j)
        )

    def direct(exp: Any) -> Any:
        def forward(x: Any, y: Any, b: Any) -> Any:
            return exp(-((x[:, None] - y[None]) ** 2).sum(2)) @ b

        return forward

    pairs = n * m
    return Workload(
        name,
        (Input((n, dimensions)), Input((m, dimensions)), Input((m, columns))),
        # Differences and squares, the weight's gradient and b's, two products, x's and y's.
        Work(
            flops=pairs * (3 * dimensions + 4 * columns + 2 + 4 * dimensions),
            floats=2 * ((n + m) * dimensions + m * columns) + n * columns,
            calls={"exp": pairs},
        ),
        Work(flops=2 * pairs * columns, floats=n * columns),
        ours, direct(torch.exp), direct(jnp.exp),
        drjit=drjit_forwards.gaussian_kernel,
        halide=halide_forwards.gaussian_kernel(m, dimensions),
    )  # fmt: skip
