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
