"""Matrix products, a dense layer, attention, an LSTM."""

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
functional = optional.module("torch.nn.functional")


def matmul(m: int, k: int, n: int, name: str = "matmul") -> Workload:
    """a b."""

    def forward(a: Any, b: Any) -> Any:
        return a @ b

    return Workload(
        name,
        (Input((m, k)), Input((k, n))),
        Work(flops=4 * m * k * n, floats=2 * (m * k + k * n) + m * n),
        Work(flops=2 * m * k * n, floats=m * n),
        forward, forward, forward,
        blas=lambda c, a, b: (c @ b.T, a.T @ c),
        blas_value=forward,
        drjit=drjit_forwards.product,
        halide=halide_forwards.matmul(k),
    )  # fmt: skip


def dense_relu(batch: int, inputs: int, outputs: int, name: str = "dense_relu") -> Workload:
    """relu(x w^T + b); the forward is needed for the sign."""

    def by_blas(c: Any, x: Any, w: Any, b: Any) -> Any:
        g = np.where(x @ w.T + b > 0, c, np.float32(0))
        return g @ w, g.T @ x, g.sum(0)

    return Workload(
        name,
        (Input((batch, inputs)), Input((outputs, inputs)), Input((outputs,))),
        Work(
            flops=6 * batch * inputs * outputs,
            floats=2 * (batch + outputs) * inputs + batch * outputs,
        ),
        Work(floats=batch * outputs),
        lambda x, w, b: aj.nn.relu(aj.nn.linear(x, w, b)),
        lambda x, w, b: functional.relu(functional.linear(x, w, b)),
        lambda x, w, b: jax.nn.relu(x @ w.T + b),
        blas=by_blas,
    )


def attention(batch: int, heads: int, tokens: int, width: int, name: str = "attention") -> Workload:
    """softmax(q k^T / sqrt(width)) v.

    Gradients alone need five products: the weights, and four gradients (the row sums of the
    softmax's derivative come from the gradient of the weights, not from the output).
    """

    def by_jax(q: Any, k: Any, v: Any) -> Any:
        scores = jnp.einsum("bhtd,bhsd->bhts", q, k) / np.float32(np.sqrt(width))
        return jnp.einsum("bhts,bhsd->bhtd", jax.nn.softmax(scores, axis=-1), v)

    shape = (batch, heads, tokens, width)
    pairs = batch * heads * tokens * tokens
    return Workload(
        name,
        (Input(shape), Input(shape), Input(shape)),
        Work(
            flops=10 * pairs * width,
            floats=7 * batch * heads * tokens * width,
            calls={"exp": pairs},
        ),
        Work(flops=2 * pairs * width, floats=batch * heads * tokens * width),
        aj.nn.scaled_dot_product_attention, functional.scaled_dot_product_attention, by_jax,
    )  # fmt: skip


def lstm(
    steps: int, batch: int, features: int, units: int, name: str = "lstm"
) -> Workload:  # fmt: skip
    """All hidden states of one layer, from zeros; gates in torch's order."""

    def ours(x: Any, w_in: Any, w_state: Any, b_in: Any, b_state: Any) -> Any:
        def step(state: Any, given: Any) -> Any:
            hidden, cell = state
            i, f, g, o = aj.split(given + hidden @ w_state.T, 4, axis=1)
            cell = aj.sigmoid(f) * cell + aj.sigmoid(i) * aj.tanh(g)
            hidden = aj.sigmoid(o) * aj.tanh(cell)
            return (hidden, cell), hidden

        start = aj.zeros((batch, units), dtype="float32")
        return aj.scan(step, (start, start), x @ w_in.T + (b_in + b_state))[1]

    def by_torch(x: Any, *weights: Any) -> Any:
        start = x.new_zeros(1, batch, units)
        return torch.lstm(x, (start, start), weights, True, 1, 0.0, True, False, False)[0]

    def by_jax(x: Any, w_in: Any, w_state: Any, b_in: Any, b_state: Any) -> Any:
        def step(state: Any, given: Any) -> Any:
            hidden, cell = state
            i, f, g, o = jnp.split(given + hidden @ w_state.T, 4, axis=1)
            cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
            hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
            return (hidden, cell), hidden

        start = jnp.zeros((batch, units), jnp.float32)
        return jax.lax.scan(step, (start, start), x @ w_in.T + (b_in + b_state))[1]

    cells, gates = steps * batch * units, 4 * units
    small = float(1 / np.sqrt(units))
    return Workload(
        name,
        (
            Input((steps, batch, features)),
            Input((gates, features), scale=small), Input((gates, units), scale=small),
            Input((gates,), scale=small), Input((gates,), scale=small),
        ),
        Work(
            flops=6 * steps * batch * gates * (features + units),
            floats=2 * steps * batch * features + cells + 2 * gates * (features + units),
            calls={"exp": 3 * cells, "tanh": 2 * cells},
        ),
        Work(floats=cells),
        ours, by_torch, by_jax,
    )  # fmt: skip
