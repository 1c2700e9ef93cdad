"""Gradients of normalisations of many rows: rows and sums down their columns share tasks."""

from __future__ import annotations

import adjit as aj
import numpy as np
import pytest


def _gradients(
    c: np.ndarray, x: np.ndarray, scale: np.ndarray, shift: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    centred = x - x.mean(1, keepdims=True)
    size = np.sqrt((centred * centred).mean(1, keepdims=True) + 1e-5)
    y = centred / size
    g = c * scale
    gx = (g - g.mean(1, keepdims=True) - y * (g * y).mean(1, keepdims=True)) / size
    return gx, (c * y).sum(0), c.sum(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows, columns", [(8192, 256), (5000, 1000), (40000, 64), (4099, 520)])
def test_layer_norm(rows: int, columns: int, dtype: type) -> None:
    rng = np.random.default_rng(rows)
    arrays = [rng.standard_normal(s).astype(dtype) for s in ((rows, columns),) * 2]
    arrays += [rng.standard_normal(columns).astype(dtype) for _ in range(2)]

    @aj.jit
    def gradients(c: aj.Tensor, *inputs: aj.Tensor) -> tuple[aj.Tensor, ...]:
        return aj.vjp(lambda x, s, b: aj.nn.layer_norm(x, (columns,), s, b), *inputs)[1](c)

    expected = _gradients(*[a.astype(np.float64) for a in arrays])
    first = [np.array(g) for g in gradients(*arrays)]
    for got, wanted in zip(first, expected, strict=True):
        bound = (1e-4 if dtype == np.float32 else 1e-11) * np.abs(wanted).max()
        np.testing.assert_allclose(got, wanted, rtol=0, atol=bound)
    for _ in range(5):  # whatever the threads do
        for got, before in zip(gradients(*arrays), first, strict=True):
            assert np.array_equal(got, before)
