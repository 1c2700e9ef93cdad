"""ADJIT_CHECK_NAN: the first stage and index that made a NaN."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., "subprocess.CompletedProcess[str]"]

_PROGRAM = """
import numpy as np
import adjit as aj

def loss(x, w):
    h = x @ w
    y = aj.log(h)  # the line
    return aj.sum(y * y)

x, w = np.ones((3, 2)), np.array([[1.0, 2.0], [1.0, 1.0]])
f = aj.jit(aj.value_and_grad(loss, argnums=1))
value, slope = f(x, w)
assert np.isfinite(value) and np.isfinite(slope).all()
print(aj.runtime.compilations[-1]["cache"])
x[1] = [1.0, -1.5]  # x @ w is -0.5, 0.5 in row 1
for bad in (x, np.where(x == 1.0, x, np.nan)):
    try:
        value, slope = f(bad, w)
        assert np.isnan(value) and np.isnan(slope).any()
        print("silent")
    except aj.Error as error:
        print(type(error).__name__, error)
value, slope = f(np.ones((3, 2)), w)
assert np.isfinite(value)
"""


def test_names_stage_line_and_index(python: Run) -> None:
    lines = python(_PROGRAM, ADJIT_CHECK_NAN="1").stdout.splitlines()
    line = 1 + _PROGRAM.splitlines().index("    y = aj.log(h)  # the line")
    assert lines[1].startswith("Error ")
    for part in (f"<string>:{line} (log)", "i0 = 1, i1 = 0", "no input holds one"):
        assert part in lines[1]
    for part in ("(matmul)", "the input", "holds one at i0 = 1, i1 = 1"):
        assert part in lines[2]


def test_off_is_silent_and_has_a_cache_entry_of_its_own(python: Run, cache_directory: Path) -> None:
    for setting in (None, "0"):
        assert python(_PROGRAM, ADJIT_CHECK_NAN=setting).stdout.splitlines()[1] == "silent"
    caches = [
        python(
            _PROGRAM,
            ADJIT_CHECK_NAN=setting,
            ADJIT_CACHE="rw",
            ADJIT_CACHE_DIR=str(cache_directory),
        ).stdout.splitlines()[0]
        for setting in (None, "1", "1", None)
    ]
    assert caches == ["miss", "miss", "disk", "disk"]


def test_gradients_and_scans(python: Run) -> None:
    program = """
import numpy as np
import adjit as aj

try:  # the square root of 0 is fine, its slope times 0 is not
    aj.jit(aj.grad(lambda x: aj.sum(aj.sqrt(x) * aj.sqrt(x) * 0.0 + aj.sqrt(x * 0.0))))(np.ones(4))
except aj.Error as error:
    print(error)

def step(carry, x):
    return carry - x, aj.sqrt(carry)

try:
    aj.jit(lambda c, xs: aj.scan(step, c, xs))(np.array(2.0), np.ones(6))
except aj.Error as error:
    print(error)
"""
    lines = python(program, ADJIT_CHECK_NAN="1").stdout.splitlines()
    assert "the first NaN" in lines[0] and "<string>:6" in lines[0]
    assert "<string>:11 (sqrt)" in lines[1] and "step = 3" in lines[1]
