"""The main job's parts: the network trains, the blur's energy falls."""

from __future__ import annotations

import adjit as aj
import numpy as np
import pytest


def test_digits_network_learns() -> None:
    pytest.importorskip("sklearn")
    from adjit.demo import digits

    p, images, labels = digits.example()
    momentum = {k: np.zeros_like(v) for k, v in p.items()}
    losses = []
    for _ in range(10):
        value, p, momentum = digits.train_step(p, momentum, images, labels, 0.05)
        losses.append(float(value))
    assert losses[-1] < 0.7 * losses[0]
    assert digits.predict(p, images).shape == (64,)


def test_deblurring_descends() -> None:
    from adjit.demo import deblur

    rng = np.random.default_rng(0)
    truth = (rng.random((40, 48)) > 0.5).astype(np.float32)
    k = deblur.kernel()
    image = observed = np.asarray(aj.jit(deblur.blur)(truth, k))
    velocity = np.zeros_like(image)
    energies = []
    for _ in range(10):
        value, image, velocity = deblur.descend(image, velocity, observed, k, 2e-4, 0.4)
        energies.append(float(value))
    assert energies[-1] < energies[0]
