"""ADBench's LSTM objective: a text, character by character, as bits.

A scan over the text, whose gradient runs backwards over it. As in ADBench, gates act on each
feature by itself, and a bit's loss is -bit * (prediction - log(2 + sum(exp(predictions)))).
"""

from __future__ import annotations

import codecs
import contextlib
import io
from pathlib import Path
from typing import Any

import adjit as aj
import common
import numpy as np
from scipy.optimize import minimize


def step(main: Any, extra: Any, state: Any, x: Any) -> tuple[Any, Any]:
    """One character: the next state and what is predicted for the next one, (2 L, B) and (B,)."""
    bits, x, rows = x.shape[0], x * extra[0], []
    for k in range(0, main.shape[0], 2):
        weights, biases = (main[k + part].reshape(4, bits) for part in range(2))
        hidden, cell = state[k], state[k + 1]
        forget = aj.sigmoid(x * weights[0] + biases[0])
        enter = aj.sigmoid(hidden * weights[1] + biases[1])
        leave = aj.sigmoid(x * weights[2] + biases[2])
        cell = cell * forget + enter * aj.tanh(hidden * weights[3] + biases[3])
        x = leave * aj.tanh(cell)
        rows += [x, cell]
    return aj.stack(rows), x * extra[1] + extra[2]


def objective(main: Any, extra: Any, state: Any, text: Any) -> Any:
    """The mean loss of the next character's bits.

    ``main`` (2 L, 4 B): weights and biases of each layer in turn; ``extra`` (3, B): weights before,
    weights and biases behind the layers; ``state`` (2 L, B): hidden and cell; ``text`` (C, B).
    """
    _, predicted = aj.scan(lambda state, x: step(main, extra, state, x), state, text[:-1])
    log_sum = aj.log(2 + aj.sum(aj.exp(predicted), axis=1, keepdims=True))
    return -aj.mean(text[1:] * (predicted - log_sum))


def zen(count: int) -> Any:
    """The first characters of The Zen of Python as bits, the lowest first: (count, 7)."""
    with contextlib.redirect_stdout(io.StringIO()):
        import this
    codes = np.frombuffer(codecs.decode(this.s, "rot13").encode(), np.uint8)[:count]
    return (codes[:, None] >> np.arange(7) & 1).astype(np.float64)


def main(
    characters: int = 800, layers: int = 2, steps: int = 60, out: Path | None = None
) -> dict[str, float]:
    text = zen(characters)
    bits = text.shape[1]
    rng = np.random.default_rng(0)
    start = rng.random((2 * layers * 4 + 3) * bits)
    state = rng.random((2 * layers, bits))
    value_and_grad = aj.jit(aj.value_and_grad(objective, argnums=(0, 1)))

    def flat(vector: Any) -> tuple[float, Any]:
        main, extra = np.split(vector, [8 * layers * bits])
        main, extra = main.reshape(2 * layers, -1), extra.reshape(3, bits)
        value, gradients = value_and_grad(main, extra, state, text)
        return float(value), np.concatenate([np.ravel(g) for g in gradients])

    with common.Progress().task("learning a text", steps) as task:
        found = minimize(
            flat, start, jac=True, method="L-BFGS-B", options={"maxiter": steps},
            callback=lambda v: task.advance(""),
        )  # fmt: skip
    # What the gradient promises for a small step, against what the step gives.
    direction = rng.standard_normal(start.size)
    change = flat(start + 1e-6 * direction)[0] - flat(start - 1e-6 * direction)[0]
    return {
        "loss before": flat(start)[0],
        "loss after": float(found.fun),
        "derived slope": float(np.vdot(flat(start)[1], direction)),
        "measured slope": change / 2e-6,
    }


if __name__ == "__main__":
    common.run(main, __doc__)
