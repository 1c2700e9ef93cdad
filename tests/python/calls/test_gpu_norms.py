"""Gradients of normalisations on a GPU: rows, and sums over them, in one pass."""

from __future__ import annotations

import pytest
from test_gpu_calls import EMULATED, run

NORMS = {
    "layer norm": "lambda x, w, b: aj.nn.layer_norm(x, [x.shape[-1]], w, b)",
    "rms norm": "lambda x, w, b: aj.nn.rms_norm(x, [x.shape[-1]], w) + b",
    "by hand": """lambda x, w, b: (
        (x - aj.mean(x, -1, keepdims=True)) / aj.sqrt(aj.var(x, -1, keepdims=True) + 1e-3) * w + b
    )""",
    "softmax with a bias": "lambda x, w, b: aj.nn.softmax(x * w + b, dim=-1)",
}


@EMULATED
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("shape", [(256, 64), (256, 36), (4, 64, 32)])
def test_rows_are_computed_in_the_pass_of_their_columns(norm: str, shape: tuple[int, ...]) -> None:
    """A GPU of two multiprocessors, so that few rows keep it busy."""
    run(f"""
import re
driver.fake_cuda_multiprocessors(2)
norm, shape = {NORMS[norm]}, {shape}
rng = np.random.default_rng(7)
x, g = (rng.normal(size=shape).astype(np.float32) for _ in range(2))
w, b = (rng.normal(size=shape[-1:]).astype(np.float32) for _ in range(2))

def step(x, w, b, g):
    y, pull = aj.vjp(norm, x, w, b)
    return y, *pull(g)

on_cpu, on_gpu, again = (aj.jit(step, target=t)(x, w, b, g) for t in ("cpu", "cuda", "cuda"))
for a, b, c in zip(on_cpu, on_gpu, again):
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    assert np.asarray(b).tobytes() == np.asarray(c).tobytes()
moves = aj.lower(step, x, w, on_cpu[3], g, target="cuda").schedule_json
assert re.search(r'"host": ?"[^"]*_parts"', moves), moves
""")
