"""Prefix sums with target="cuda": blocks run on along rows, by a driver without a GPU."""

from __future__ import annotations

import pytest
from test_gpu_calls import run


@pytest.mark.parametrize("length", [40, 97, 256, 1031, 4096])
def test_rows(length: int) -> None:
    run(
        f"""
rng = np.random.default_rng(5)
x = rng.standard_normal((5, {length})).astype(np.float32)
for f in (
    lambda x: aj.cumsum(x, axis=1),
    lambda x: aj.flip(aj.cumsum(aj.flip(x, axis=1), axis=1), axis=1),
    aj.grad(lambda x: aj.sum(aj.cumsum(x, axis=1) * x)),
):
    on_cpu, on_gpu = (aj.jit(f, target=t) for t in ("cpu", "cuda"))
    ours = on_gpu(x)
    np.testing.assert_allclose(ours, on_cpu(x), rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(ours, on_gpu(x))
n = rng.integers(-9, 9, (3, {length})).astype(np.int32)
np.testing.assert_array_equal(
    aj.jit(lambda n: aj.cumsum(n, axis=1), target="cuda")(n), np.cumsum(n, axis=1)
)
"""
    )
