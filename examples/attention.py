"""One block of self-attention, in the text notation, trained on handwritten digits.

The eight rows of an image are eight tokens. Each looks at the others, in several heads; the mean
over the tokens is classified.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import adjit as aj
import common
import numpy as np
from sklearn.datasets import load_digits

# q, k and v are (images, heads, tokens, features of a head).
attend = aj.define("""
def attend(float(N, H, T, D) q, float(N, H, T, D) k, float(N, H, T, D) v) -> (y) {
  score(n, h, t, s) +=! q(n, h, t, r_d) * k(n, h, s, r_d)
  score(n, h, t, s) = score(n, h, t, s) / sqrt(float(D))
  top(n, h, t) max=! score(n, h, t, r_s)
  weight(n, h, t, s) = exp(score(n, h, t, s) - top(n, h, t))
  total(n, h, t) +=! weight(n, h, t, r_s)
  y(n, h, t, d) +=! weight(n, h, t, r_s) * v(n, h, r_s, d)
  y(n, h, t, d) = y(n, h, t, d) / total(n, h, t)
}
""").attend


def logits(p: dict[str, Any], images: Any, heads: int = 4) -> Any:
    """(N, T, pixels) -> (N, 10)."""
    x = images @ p["embed"] + p["place"]
    (n, tokens, width), features = x.shape, x.shape[2] // heads
    parts = (aj.nn.layer_norm(x, x.shape[2:]) @ p["qkv"]).reshape(n, tokens, 3, heads, features)
    q, k, v = aj.unstack(aj.permute_dims(parts, (2, 0, 3, 1, 4)), axis=0)
    seen = aj.permute_dims(attend(q, k, v), (0, 2, 1, 3)).reshape(n, tokens, width)
    x = x + seen @ p["out"]
    x = x + aj.nn.gelu(aj.nn.layer_norm(x, x.shape[2:]) @ p["up"]) @ p["down"]
    return aj.mean(x, axis=1) @ p["classify"]


def loss(p: dict[str, Any], images: Any, labels: Any) -> Any:
    """Mean cross entropy."""
    return aj.nn.cross_entropy(logits(p, images), labels)


@aj.jit
def train_step(p: Any, velocity: Any, images: Any, labels: Any, rate: Any) -> Any:
    """One step of gradient descent with momentum."""
    value, slopes = aj.value_and_grad(loss)(p, images, labels)
    velocity = {k: 0.9 * velocity[k] - rate * slopes[k] for k in p}
    return value, {k: p[k] + velocity[k] for k in p}, velocity


def parameters(width: int, tokens: int = 8, pixels: int = 8) -> dict[str, Any]:
    """Random weights of that many features, scaled by their number of inputs."""
    rng = np.random.default_rng(0)
    shapes = {
        "embed": (pixels, width), "place": (tokens, width), "qkv": (width, 3 * width),
        "out": (width, width), "up": (width, 2 * width), "down": (2 * width, width),
        "classify": (width, 10),
    }  # fmt: skip
    return {
        k: (rng.standard_normal(s) / np.sqrt(s[0])).astype(np.float32) for k, s in shapes.items()
    }


def main(
    width: int = 32, epochs: int = 15, batch: int = 64, out: Path | None = None
) -> dict[str, float]:
    pictures, labels = load_digits(return_X_y=True)
    images = (pictures.reshape(-1, 8, 8) / 16).astype(np.float32)
    held_out = len(images) // 4
    p = parameters(width)
    velocity = {k: np.zeros_like(v) for k, v in p.items()}
    rng = np.random.default_rng(1)
    steps = epochs * ((len(images) - held_out) // batch)
    values = []
    with common.Progress().task("training a block of attention", steps) as task:
        for _ in range(steps):
            chosen = rng.integers(held_out, len(images), batch)
            value, p, velocity = train_step(p, velocity, images[chosen], labels[chosen], 0.05)
            values.append(float(value))
            task.advance(f"loss {values[-1]:.3f}")
    guess = np.argmax(np.asarray(aj.jit(logits)(p, images[:held_out])), axis=1)
    wrong = np.flatnonzero(guess != labels[:held_out])[:12]
    common.write(out, "attention_mistakes", *images[wrong])
    return {
        "loss before": values[0],
        "loss after": float(np.mean(values[-10:])),
        "accuracy": float(np.mean(guess == labels[:held_out])),
    }


if __name__ == "__main__":
    common.run(main, __doc__)
