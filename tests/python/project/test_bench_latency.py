"""tools/bench/latency.py: what its processes measure, and the table's words."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("jax")

_BENCH = Path(__file__).parents[3] / "tools" / "bench"
_BUILT = Path(__file__).parents[3] / "build" / "release"


def child(*arguments: str, **environment: str) -> Any:
    run = subprocess.run(
        [sys.executable, _BENCH / "latency.py", "--child", *arguments],
        env={**os.environ, **environment}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_chains() -> None:
    for kind in ("product", "tanh"):
        times = child("chain", kind, "40", ADJIT_CACHE="off")
        assert 0 < times["trace"] < times["first"]
        assert 0 < times["step"] < times["first"]


def test_first_calls_say_where_code_comes_from(tmp_path: Path) -> None:
    shared = {"ADJIT_CACHE": "rw", "ADJIT_CACHE_DIR": str(tmp_path)}
    first = child("first", "tiny", "miss", "warm", **shared)
    assert 0 < child("first", "tiny", "disk", "warm", **shared) < first
    again = subprocess.run(
        [sys.executable, _BENCH / "latency.py", "--child", "first", "tiny", "miss", "warm"],
        env={**os.environ, **shared}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert again.returncode != 0
    assert "came from disk, not from miss" in again.stderr


def test_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(_BENCH))
    number = importlib.import_module("latency").Number
    assert number("a step", 1.5, "ms", 2).line() == "| a step | 1.5 | ms | 2 |"
    assert number("a step", 2.5, "ms", 2).line().endswith("*")
    assert number("a step", 2.5, "ms").line() == "| a step | 2.5 | ms |  |"


@pytest.mark.skipif(not (_BUILT / "libadjit.so").exists(), reason="built elsewhere")
@pytest.mark.parametrize(
    "command", [["latency.py", "--child", "chain", "product", "4"], ["hot_loops.py", "--help"],
                ["rank_schedules.py", "--help"]]
)  # fmt: skip
def test_scripts_find_this_checkout(command: list[str], tmp_path: Path) -> None:
    bare = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "ADJIT_LIBRARY")}
    run = subprocess.run(
        [sys.executable, _BENCH / command[0], *command[1:]],
        env=bare, cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
