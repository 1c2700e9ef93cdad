"""Scatters with target="cuda": sorted by what they write, with the bits of the CPU's serial order.

A driver without a GPU runs them (tests/fake_cuda), one that takes few threads for enough.
"""

from __future__ import annotations

import pytest
from test_gpu_calls import run

FEW_THREADS = """
if hasattr(driver, "fake_cuda_multiprocessors"):
    driver.fake_cuda_multiprocessors(1)
    driver.fake_cuda_faults.restype = ctypes.c_char_p
rng = np.random.default_rng(3)
rows, points = 8000, 300
spread = {
    "any": rng.integers(0, rows, points),
    "one": np.full(points, 7),
    "zipf": (rows // (1 + rng.integers(0, rows, points))) - 1,
    "each": np.arange(points) % rows,
}
"""


@pytest.mark.parametrize("columns", [1, 8])
def test_gradient_of_a_table(columns: int) -> None:
    run(
        FEW_THREADS
        + f"""
columns = {columns}
table = rng.standard_normal((rows, columns)).astype(np.float32)
weight = rng.standard_normal((points, columns)).astype(np.float32)
f = lambda t, i, w: aj.sum(aj.take(t, i, axis=0) * w)
on_cpu, on_gpu = (aj.jit(aj.grad(f), target=t) for t in ("cpu", "cuda"))
for name, index in spread.items():
    ours = on_gpu(table, index, weight)
    np.testing.assert_allclose(ours, on_cpu(table, index, weight), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(ours, on_gpu(table, index, weight))
    serial = np.zeros_like(table)
    np.add.at(serial, index, weight)
    np.testing.assert_array_equal(ours, serial, err_msg=name)
lowered = aj.lower(aj.grad(f), table, index, weight, target="cuda")
assert '"invert"' in lowered.schedule_json
"""
    )


def test_corners_of_cells() -> None:
    run(
        FEW_THREADS
        + """
image = rng.standard_normal((3, 41, 40)).astype(np.float32)
at = rng.uniform(-2, 42, (2, 30, 20)).astype(np.float32)

def warped(image, at):
    y, x = at[0], at[1]
    y0, x0 = aj.floor(y), aj.floor(x)
    total = 0.0
    for dy in (0, 1):
        for dx in (0, 1):
            weight = (1 - aj.abs(y - y0 - dy)) * (1 - aj.abs(x - x0 - dx))
            iy = aj.clip(y0 + dy, 0, 40).astype("int64")
            ix = aj.clip(x0 + dx, 0, 39).astype("int64")
            total = total + image[:, iy, ix] * weight
    return aj.sum(total * total)

on_cpu, on_gpu = (aj.jit(aj.grad(warped, (0, 1)), target=t) for t in ("cpu", "cuda"))
for ours, theirs in zip(on_gpu(image, at), on_cpu(image, at)):
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3)
lowered = aj.lower(aj.grad(warped, (0, 1)), image, at, target="cuda")
assert '"invert"' in lowered.schedule_json
"""
    )


def test_the_last_writer_wins_and_indices_out_of_range_are_dropped() -> None:
    run(
        FEW_THREADS
        + """
values = rng.standard_normal((points, 3)).astype(np.float32)
index = rng.integers(-5, rows + 5, points)
x = np.ones((rows, 3), np.float32)
def f(x, index, values):
    p, c = aj.reduce_axis(points), aj.reduce_axis(3)
    return aj.scatter(
        (rows, 3), (p, c), lambda p, c: ((aj.at(index, p), c), aj.at(values, p, c)),
        combine="set", init=x, mode="drop",
    )

expected = x.copy()
for p, i in enumerate(index):
    if 0 <= i < rows:
        expected[i] = values[p]
np.testing.assert_array_equal(aj.jit(f, target="cuda")(x, index, values), expected)
"""
    )


@pytest.mark.parametrize(("columns", "move"), [(4, "scatter_to_gather"), (40, "privatize_scatter")])
def test_few_rows(columns: int, move: str) -> None:
    """Are gathered; wide ones have private arrays."""
    run(
        FEW_THREADS
        + f"""
columns, move = {columns}, "{move}"
table = np.zeros((10, columns), np.float32)
index = rng.integers(0, 10, points)
weight = rng.standard_normal((points, columns)).astype(np.float32)
f = aj.grad(lambda t, i, w: aj.sum(aj.take(t, i, axis=0) * w))
np.add.at(table, index, weight)
ours = aj.jit(f, target="cuda")(table, index, weight)
np.testing.assert_allclose(ours, table, rtol=1e-4, atol=1e-4)
lowered = aj.lower(f, table, index, weight, target="cuda")
assert f'"{{move}}"' in lowered.schedule_json
"""
    )
