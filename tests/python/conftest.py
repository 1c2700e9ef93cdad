"""What all tests of the Python package share: no disk cache unless a test asks for one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# Read when the first computation is lowered, so before any test runs.
os.environ["ADJIT_CACHE"] = "off"
# Each plan is checked (jit/engine/plan/verify_plan.hpp): a kernel reads what the graph says.
os.environ["ADJIT_VERIFY_PLANS"] = "1"

import numpy as np

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def cache_directory(tmp_path: Path) -> Path:
    """A private directory for the disk cache of child processes."""
    directory = tmp_path / "cache"
    directory.mkdir(mode=0o700)
    return directory


@pytest.fixture
def python() -> Run:
    """Runs a program in a fresh interpreter; environment variables by keyword (None: unset)."""

    def run(program: str, **environment: str | None) -> subprocess.CompletedProcess[str]:
        own = {**os.environ, **{k: v for k, v in environment.items() if v is not None}}
        for name in (k for k, v in environment.items() if v is None):
            own.pop(name, None)
        done = subprocess.run(
            [sys.executable, "-c", program], env=own, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done

    return run
