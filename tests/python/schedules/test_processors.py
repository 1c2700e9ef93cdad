"""Float types beside PyTorch's, and code for older processors (ADJIT_CPU)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import adjit as aj
import numpy as np
import pytest

torch = pytest.importorskip("torch")

# One rounding of the result is half a unit in the last place.
_TOLERANCE = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2}

_CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any], list[tuple[int, ...]]]] = {
    "matmul": (aj.matmul, torch.matmul, [(34, 64), (64, 50)]),
    "matmul_odd": (aj.matmul, torch.matmul, [(33, 65), (65, 49)]),
    "conv": (
        lambda x, w: aj.nn.conv2d(x, w, padding=1),
        lambda x, w: torch.nn.functional.conv2d(x, w, padding=1),
        [(8, 16, 13, 15), (24, 16, 3, 3)],
    ),
    "softmax": (
        lambda x: aj.nn.softmax(x, -1),
        lambda x: torch.softmax(x, -1),
        [(37, 100)],
    ),
    "layer_norm": (
        lambda x, g, b: aj.nn.layer_norm(x, (70,), g, b),
        lambda x, g, b: torch.nn.functional.layer_norm(x, (70,), g, b),
        [(19, 70), (70,), (70,)],
    ),
}


def _pull(f: Callable[..., Any]) -> Callable[..., Any]:
    return aj.jit(lambda c, *xs: aj.vjp(f, *xs)[1](c))


def _torch_pull(f: Callable[..., Any], c: Any, xs: list[Any]) -> tuple[Any, ...]:
    xs = [x.detach().requires_grad_() for x in xs]
    found: tuple[Any, ...] = torch.autograd.grad(f(*xs), xs, c)
    return found


@pytest.mark.parametrize("dtype", list(_TOLERANCE))
@pytest.mark.parametrize("name", list(_CASES))
def test_gradients_of_each_type(name: str, dtype: str) -> None:
    ours, theirs, shapes = _CASES[name]
    torch.manual_seed(3)
    xs = [torch.randn(s).to(getattr(torch, dtype)) for s in shapes]
    c = torch.randn(theirs(*[x.float() for x in xs]).shape).to(xs[0].dtype)
    wanted = _torch_pull(theirs, c.float(), [x.float() for x in xs])
    half = _torch_pull(theirs, c, xs)
    for mine, exact, torchs in zip(_pull(ours)(c, *xs), wanted, half, strict=True):
        assert mine.dtype == xs[0].dtype
        scale = float(exact.abs().max())
        error = float((mine.float() - exact).abs().max()) / scale
        by_torch = float((torchs.float() - exact).abs().max()) / scale
        assert error < max(_TOLERANCE[dtype], 1.5 * by_torch), (error, by_torch)


_PROGRAM = """
import adjit as aj, numpy as np
rng = np.random.default_rng(1)
x, w = (rng.standard_normal(s).astype(np.float32) for s in ((37, 65), (65, 33)))
f = lambda x, w: aj.sum(aj.nn.softmax(aj.tanh(x @ w), -1) ** 2)
for dtype in ("float32", "float16", "bfloat16"):
    g = aj.jit(aj.grad(lambda x, w: aj.astype(f(x, w), "float32")))
    a = (aj.astype(v, dtype) for v in (x, w))
    print(*(float(v) for v in np.asarray(aj.astype(g(*a), "float32")).ravel()))
"""


def _run(program: str, cpu: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "ADJIT_CPU": cpu},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def _numbers(cpu: str) -> list[Any]:
    done = _run(_PROGRAM, cpu)
    if "which this CPU lacks" in done.stderr:
        pytest.skip(f"not a {cpu}")
    assert done.returncode == 0, done.stderr
    return [np.array(line.split(), float) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("cpu", ["x86-64-v2", "x86-64-v3", "native,-avx512bf16"])
def test_older_processors_agree(cpu: str) -> None:
    for mine, wanted, unit in zip(
        _numbers(cpu), _numbers("native"), [1e-6, 1e-3, 8e-3], strict=True
    ):
        assert wanted.size == 37 * 65
        np.testing.assert_allclose(mine, wanted, rtol=0, atol=4 * unit * np.abs(wanted).max())


@pytest.mark.parametrize(
    "cpu, reason",
    [
        ("pentium-q", "unknown CPU, 'pentium-q'"),
        ("native,-avx1024", "'-avx1024', which is unknown"),
    ],
)
def test_processors_that_are_refused(cpu: str, reason: str) -> None:
    done = _run("import adjit as aj; aj.exp(1.0 + aj.zeros(3))", cpu)
    assert done.returncode != 0
    assert f"ADJIT_CPU is '{cpu}'" in done.stderr
    assert reason in done.stderr


@pytest.mark.parametrize("cpu", ["x86-64-v3", "native"])
def test_half_types_are_converted_outside_the_tile(cpu: str) -> None:
    program = """
import adjit as aj
x = aj.ShapeDtype((128, 128), "float16")
for f in (lambda a, b: a @ b, lambda a, b: a @ aj.permute_dims(a, (1, 0))):
    low = aj.lower(f, x, x)
    again = low.with_schedule(low.schedule_json)
    assert again.schedule == low.schedule and '"widen":true' in low.schedule_json.replace(" ", "")
"""
    done = _run(program, cpu)
    if "which this CPU lacks" in done.stderr:
        pytest.skip(f"not a {cpu}")
    assert done.returncode == 0, done.stderr
