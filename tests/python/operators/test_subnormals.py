"""ADJIT_SUBNORMALS: whether numbers below the least normal one count as zeros."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import adjit as aj
import numpy as np
import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

_PROGRAM = """
import numpy as np
import adjit as aj
from adjit.info import info

x = np.zeros((300, 1000), np.float32)
x[:, 1:] = -95  # e^-95 is subnormal
y = aj.jit(aj.nn.softmax)(x)
print(info()["subnormals"], (y[:, 0] == 1).all(), (y[:, 1:] == 0).all(), (y[:, 1:] > 0).all())
assert np.float32(1e-38) * np.float32(0.1) > 0  # NumPy's arithmetic is as it was
"""


@pytest.mark.parametrize("setting", [None, "flush", "keep"])
def test_setting(python: Run, setting: str | None) -> None:
    keep = setting == "keep"
    said = python(_PROGRAM, ADJIT_SUBNORMALS=setting).stdout.split()
    assert said == ["keep" if keep else "flush", "True", str(not keep), str(keep)]


def test_unknown_setting_is_named(python: Run) -> None:
    program = """
import numpy as np, adjit as aj
try:
    aj.jit(aj.exp)(np.ones(3))
except aj.Error as error:
    print(error)
"""
    said = python(program, ADJIT_SUBNORMALS="drop").stdout
    assert "ADJIT_SUBNORMALS is 'drop'; it must be flush or keep" in said


def test_gradients_of_spread_scores_are_those_of_float64(rng: np.random.Generator) -> None:
    x = (rng.standard_normal((64, 500)) * 40).astype(np.float32)  # tails in the subnormal numbers
    c = rng.standard_normal((64, 500)).astype(np.float32)
    gradient = aj.grad(lambda x, c: aj.sum(aj.nn.softmax(x) * c))
    exact = gradient(x.astype(np.float64), c.astype(np.float64))
    np.testing.assert_allclose(gradient(x, c), exact, rtol=1e-4, atol=1e-6)


def test_flushed_numbers_on_the_way_change_no_ordinary_result() -> None:
    x, y = np.float32([5e-20, 3e-30, 0, 1e30]), np.float32([6e-20, -4e-30, 2, -1e30])
    np.testing.assert_allclose(aj.hypot(x, y), np.hypot(x, y), rtol=1e-6)
    slope = aj.grad(lambda x, y: aj.sum(aj.hypot(x, y)), argnums=(0, 1))(x, y)
    for got, part in zip(slope, (x, y), strict=True):
        np.testing.assert_allclose(got, part / np.hypot(x, y), rtol=1e-6)
    for dtype in (np.float32, np.float64):
        least, most = np.finfo(dtype).tiny, np.finfo(dtype).max
        x = np.array([most / 2, most / 3, 2 * least, 8 * least, 1e-3 * most], dtype)
        y = np.array([1, most / 4, least, least, 1e-3 * most], dtype)
        np.testing.assert_allclose(aj.hypot(x, y), np.hypot(x, y), rtol=1e-6)
        for weight in (1e-12, 1, 1e12):
            slope = aj.grad(lambda x, y, w=weight: aj.sum(w * aj.hypot(x, y)))(x, y)
            np.testing.assert_allclose(slope, weight * (x / np.hypot(x, y)), rtol=1e-6)
    infinite = np.float32([np.inf, np.inf, -np.inf, -np.inf])
    np.testing.assert_array_equal(
        aj.remainder(np.float32([1, -1, -1, 1]), infinite), [1, np.inf, -1, -np.inf]
    )
    big = np.float32([1e38, 1e38, -1e38])
    np.testing.assert_array_equal(aj.remainder(np.float32([-1, -0.5, 1]), big), big)
    for log, base in ((aj.log2, 2), (aj.log10, 10)):
        got = aj.grad(lambda x, log=log: aj.sum(log(x)))(np.float32([1.5e-38, 2]))
        np.testing.assert_allclose(got, 1 / (np.float64([1.5e-38, 2]) * np.log(base)), rtol=1e-6)
    np.testing.assert_allclose(aj.lgamma(np.full(3, 1e-310)), 713.8013, rtol=1e-6)


def test_a_literal_divisor_counts_as_any_other() -> None:
    x, least = np.full(64, 1e-20, np.float32), np.full(64, 1e-39, np.float32)
    by_literal = aj.jit(lambda x: x / 1e-39)(x)
    np.testing.assert_array_equal(by_literal, aj.jit(lambda x, y: x / y)(x, least))
    assert np.isinf(by_literal).all()


def test_library_functions_round_to_nearest_whatever_the_caller_does(python: Run) -> None:
    program = """
import ctypes, numpy as np, adjit as aj
x = np.linspace(-0.9, 0.9, 64)
f = aj.jit(lambda x: (aj.erfinv(x), aj.digamma(x + 3), aj.lgamma(x + 3)))
before = [np.array(y) for y in f(x)]
upward, libm = 0x800, ctypes.CDLL("libm.so.6")
libm.fesetround(upward)
after = f(x)
assert libm.fegetround() == upward
libm.fesetround(0)
print(*(bool((a == b).all()) for a, b in zip(before, after)))
"""
    assert python(program).stdout.split() == ["True"] * 3


def test_what_is_known_when_compiling_depends_on_no_mode(python: Run) -> None:
    program = """
import ctypes, numpy as np, torch, adjit as aj
x = np.linspace(0.1, 5, 64, dtype=np.float32)
def programs():  # new ones each time
    return [aj.jit(lambda x: x * 3.3 / 7.7 + aj.nn.gelu(x)), aj.jit(lambda x: x * 1e30 * 1e-39),
            aj.jit(lambda x: x * (aj.full((), 3.3, dtype="float32") / 7.7))]
before = [np.array(f(x)) for f in programs()]
libm = ctypes.CDLL("libm.so.6")
torch.set_flush_denormal(True)
libm.fesetround(0x800)  # upward
after = [np.array(f(x)) for f in programs()]
libm.fesetround(0)
print(*(bool((a == b).all()) for a, b in zip(before, after)))
"""
    assert python(program, ADJIT_SUBNORMALS="keep").stdout.split() == ["True"] * 3
