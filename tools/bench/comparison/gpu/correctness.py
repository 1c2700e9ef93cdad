"""Whether the library is right on the GPU: its own tests, with the driver that is there."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from ..environment import with_checkout

_ROOT = Path(__file__).parents[4]


@dataclass
class Suite:
    """Tests that pytest runs: paths below tests/python, what is added to the environment."""

    name: str
    paths: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)


#: Tests that say what runs where find it out by themselves; the operators' are the CPU's own.
CALLS = Suite("calls", ["calls/test_gpu_calls.py", "calls/test_gpu_torch.py"])
OPERATORS = Suite("operators", ["operators"], {"ADJIT_TARGET": "cuda"})


def checked(suite: Suite, seconds: float) -> bool:
    """Runs it for so long at most, and prints a line; whether nothing failed."""
    if importlib.util.find_spec("pytest") is None:
        print(f"{suite.name}: left out, pytest is not installed")
        return True
    paths = [str(_ROOT / "tests" / "python" / path) for path in suite.paths]
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"]
    environment = with_checkout({**os.environ, **suite.environment, "ADJIT_GPU_TESTS": "1"})
    if importlib.util.find_spec("xdist") is not None:
        command += ["-n", str(min(4, os.cpu_count() or 1))]
    process = subprocess.Popen(
        [*command, *suite.arguments, *paths], cwd=_ROOT, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=max(1.0, seconds))
    except subprocess.TimeoutExpired:
        process.terminate()
        output, _ = process.communicate()
        failed = sum(mark in "FE" for mark in _marks(output))
        print(f"{suite.name}: stopped after {seconds:.0f} s, {failed} failed")
        return not failed
    words = output.strip().splitlines()[-1:] or ["no output"]
    print(f"{suite.name}: {words[0].strip('= ')}", flush=True)
    if process.returncode:
        print(output[-4000:], flush=True)
    return process.returncode == 0


def _marks(output: str) -> str:
    """The letters of tests that ended: one a test, "." of one that passed."""
    return "".join(re.findall(r"^([.FEsxX]+)(?: +\[ *\d+%\])?$", output, re.MULTILINE))
