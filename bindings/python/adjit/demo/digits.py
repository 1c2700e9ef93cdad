"""A small convolutional network on scikit-learn's handwritten digits."""

from __future__ import annotations

from typing import Any

import numpy as np

import adjit as aj

from .progress import Progress

Parameters = dict[str, Any]


def forward(p: Parameters, images: Any) -> Any:
    """Log-probabilities (N, 10) of images (N, 1, 8, 8)."""
    x = aj.nn.conv2d(images, p["conv1"], p["bias1"], padding=1)  # (N, 16, 8, 8)
    x = aj.nn.max_pool2d(aj.nn.relu(x), 2)  # (N, 16, 4, 4)
    x = aj.nn.relu(aj.nn.conv2d(x, p["conv2"], p["bias2"], padding=1))  # (N, 32, 4, 4)
    x = aj.reshape(x, (images.shape[0], 32 * 4 * 4))
    x = aj.nn.linear(x, p["dense"], p["bias3"])
    return aj.nn.log_softmax(x, axis=-1)


def loss(p: Parameters, images: Any, labels: Any) -> Any:
    """Mean cross-entropy; labels (N,) int64."""
    return aj.nn.nll_loss(forward(p, images), labels)


@aj.jit
def train_step(p: Parameters, momentum: Parameters, images: Any, labels: Any, rate: Any) -> Any:
    """One step of gradient descent with momentum: (loss, parameters, momentum)."""
    value, gradient = aj.value_and_grad(loss)(p, images, labels)
    momentum = {k: 0.9 * momentum[k] + gradient[k] for k in p}
    return value, {k: p[k] - rate * momentum[k] for k in p}, momentum


@aj.jit
def predict(p: Parameters, images: Any) -> Any:
    """The most likely digit of each image."""
    return aj.argmax(forward(p, images), axis=1)


def initial_parameters(rng: Any) -> Parameters:
    """He initialisation, float32."""

    def normal(*shape: int) -> Any:
        scale = np.sqrt(2 / np.prod(shape[1:]))
        return (rng.standard_normal(shape) * scale).astype(np.float32)

    return {
        "conv1": normal(16, 1, 3, 3), "bias1": np.zeros(16, np.float32),
        "conv2": normal(32, 16, 3, 3), "bias2": np.zeros(32, np.float32),
        "dense": normal(10, 512), "bias3": np.zeros(10, np.float32),
    }  # fmt: skip


def load() -> Any:
    """Training and held-out images and labels: a quarter is held out, split by a fixed seed."""
    # They take long, and the network serves other data, too.
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    data = load_digits()
    images = (data.images[:, None] / 16).astype(np.float32)
    labels = data.target.astype(np.int64)
    return train_test_split(images, labels, test_size=0.25, random_state=0, stratify=labels)


def train(progress: Progress, epochs: int = 30, batch: int = 64) -> float:
    """Trains and returns the accuracy on the held-out quarter."""
    images, held_out, labels, truth = load()
    rng = np.random.default_rng(0)
    p = initial_parameters(rng)
    momentum = {k: np.zeros_like(v) for k, v in p.items()}
    steps = len(images) // batch
    with progress.task("training on handwritten digits", epochs * steps) as task:
        for epoch in range(epochs):
            order = rng.permutation(len(images))
            rate = 0.05 * 0.5 ** (epoch // 10)
            for k in range(steps):
                chosen = order[k * batch : (k + 1) * batch]
                value, p, momentum = train_step(p, momentum, images[chosen], labels[chosen], rate)
                task.advance(f"epoch {epoch + 1}, loss {float(value):.3f}")
    return float(np.mean(np.asarray(predict(p, held_out)) == truth))


def example() -> Any:
    """Arguments of one training step, for looking inside."""
    p = initial_parameters(np.random.default_rng(0))
    images, _, labels, _ = load()
    return p, images[:64], labels[:64]
