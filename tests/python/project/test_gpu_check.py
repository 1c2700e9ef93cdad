"""tools/gpu-check: with a driver that emulates a GPU, without any, and what is made beforehand."""

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

_ROOT = Path(__file__).parents[3]
_BUILT = Path(os.environ.get("ADJIT_LIBRARY", "")).parent


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a part of the comparison on GPUs by its name."""
    monkeypatch.syspath_prepend(str(_ROOT / "tools" / "bench"))
    return lambda name: importlib.import_module(f"comparison.gpu.{name}")


def run(*arguments: str, driver: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, _ROOT / "tools" / "gpu-check", *arguments],
        env={**os.environ, "ADJIT_CUDA_LIBRARY": driver, **environment},
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip


def built(name: str) -> str:
    if not (_BUILT / name).exists():
        pytest.skip("the library was built without its tests")
    return str(_BUILT / name)


def test_without_a_gpu_it_says_so_in_a_line() -> None:
    done = run(driver="/nowhere/libcuda.so.1")
    assert done.returncode == 3
    assert done.stdout.startswith("no GPU: /nowhere/libcuda.so.1")
    assert done.stdout.count("\n") == 1 and not done.stderr


def test_rows_of_an_emulated_gpu_are_right(tmp_path: Path) -> None:
    rows = ["softmax", "cross_entropy", "embedding", "lstm", "tiny"]
    file, card = tmp_path / "all.json", tmp_path / "card"
    done = run(
        "--small", f"--only={','.join(reversed(rows))}", "--frameworks=adjit,torch",
        "--seconds=0.01", f"--json={file}", f"--write-card={card}",
        driver=built("libadjit_fake_cuda.so"),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Fake GPU, compute capability 9.0, 132 multiprocessors" in done.stdout
    assert "times and ratios mean nothing" in done.stdout
    assert "geometric mean of best peer / adjit" in done.stdout
    whole = json.loads(file.read_text())
    assert [r["workload"] for r in whole["rows"]] == rows
    for row in whole["rows"]:
        ours = row["found"]["adjit"]
        assert ours["difference"] < 1e-5 and ours["same_bits"], row
        assert row["best_peer"] == "torch" and row["ratio"] > 0
    assert whole["left_out"] == [] and whole["times_mean_nothing"]
    assert {"memory 85899345920", "75 9", "16 132"} <= set(card.read_text().splitlines())


def test_its_tests_run_with_the_driver_that_is_there(
    part: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ADJIT_CUDA_LIBRARY", built("libadjit_fake_cuda.so"))
    suite = part("correctness").Suite
    calls = "calls/test_gpu_calls.py"
    assert part("correctness").checked(suite("some", [calls], arguments=["-k", "numbers"]), 300)
    assert "some: 1 passed" in capsys.readouterr().out
    there_are_none = suite("none", [calls], {"ADJIT_CUDA_LIBRARY": "/nowhere"}, ["-k", "numbers"])
    assert not part("correctness").checked(there_are_none, 300)
    assert "none: 1 failed" in capsys.readouterr().out


def test_rows_that_there_is_no_time_for_are_named() -> None:
    done = run(
        "--small", "--only=softmax,tiny", "--frameworks=adjit", "--minutes=0.02",
        driver=built("libadjit_fake_cuda.so"),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "left out, for want of time: softmax, tiny" in done.stdout


def test_code_that_was_made_without_a_gpu_is_found(
    part: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = tmp_path / "card"
    facts = {what: number + 1 for number, what in enumerate(part("driver").ATTRIBUTES)}
    facts.update(memory_bytes=140 << 30, capability_major=9, capability_minor=0)
    card.write_text(part("card").text(facts))
    stand_in, cache = built("libadjit_card_cuda.so"), tmp_path / "cache"
    options = ("--prepare", "--small", "--only=tiny,lstm", f"--cache={cache}", f"--card={card}")
    for found in ("miss", "disk"):
        done = run(*options, driver="")
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count(f" s, {found}\n") == 2, done.stdout
    # As it is asked for at the card: by arrays that lie there.
    monkeypatch.setenv("ADJIT_CUDA_LIBRARY", stand_in)
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(cache))
    monkeypatch.setenv("ADJIT_CACHE", "rw")
    monkeypatch.setenv("ADJIT_FAKE_CUDA_CARD", str(card))
    with part("session").Session("adjit", "small", 60) as session:
        answer = session.ask({"do": "prepare", "row": "tiny"}, 120)
        assert [c["cache"] for c in answer["compilations"]] == ["disk"], answer


def test_what_is_wrong_without_a_peer_has_no_time(part: Any) -> None:
    rows, table = part("run"), part("table")
    sketch = {"shape": [1], "finite": True, "samples": [1.0], "largest": 1.0}
    for ours, error in (
        ({"same_bits": False, "sketch": [sketch]}, "two runs gave different bits"),
        ({"same_bits": True, "sketch": [{**sketch, "finite": False}]}, "not finite"),
        ({"same_bits": True, "sketch": [sketch]}, ""),
    ):
        row = rows.Row("row", limit=1.0)
        row.found = {"adjit": {"minimum": 2.0, **ours}}
        rows._compare(row, None)
        assert error in row.found["adjit"].get("error", "")
        assert (row.milliseconds("adjit") is None) == bool(error)
        assert table.wrong([row]) == (["row"] if error else [])


def test_ratios_and_differences(part: Any) -> None:
    row = part("run").Row("row", limit=0.5)
    assert row.best_peer is row.ratio is row.of_limit is None
    row.found = {
        "adjit": {"minimum": 2.0}, "torch": {"minimum": 3.0}, "jax": {"minimum": 1.0},
        "compile": {"error": "took\ntoo long"},
    }  # fmt: skip
    assert (row.best_peer, row.ratio, row.of_limit) == ("jax", 0.5, 4.0)
    table = part("table")
    text = table.line(row, ["adjit", "torch", "compile", "jax"])
    assert text.split("\n") == [
        "row                     2.000    3.000    fails    1.000        jax    0.50   0.5000"
        "      4.00",
        "  compile: took",
    ]
    assert "best peer / adjit: 0.50 (1 rows)" in table.summary([row], ["other"])
    assert "left out, for want of time: other" in table.summary([row], ["other"])
    assert table.wrong([row]) == []

    def sketch(*numbers: float) -> dict[str, Any]:
        return {"shape": [2], "largest": 4.0, "finite": True, "samples": list(numbers)}

    difference = part("run").difference
    assert difference([sketch(1, 4)], [sketch(2, 4)]) == 0.25
    assert difference([{**sketch(1, 4), "finite": False}], [sketch(1, 4)]) == float("inf")
    assert difference([{**sketch(1, 4), "shape": [1, 2]}], [sketch(1, 4)]) == float("inf")


def test_frameworks_that_are_missing_are_left_out(
    part: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark = part("benchmark")
    monkeypatch.setattr(benchmark.importlib.util, "find_spec", lambda name: name != "jax" or None)
    assert benchmark.taking_part(None) == ["adjit", "torch", "compile"]
    assert capsys.readouterr().out == "without jax: not installed\n"
    missing = importlib.import_module("comparison.optional").module("there_is_no_such_module")
    assert not missing and not missing.part
    with pytest.raises(ModuleNotFoundError, match=r"there_is_no_such_module.part is not installed"):
        missing.part(1)


def test_rows_have_names_and_work_of_their_own(part: Any) -> None:
    part("run")
    sets = importlib.import_module("comparison.workloads.gpu").SETS
    names = {key: [w.name for w in rows()] for key, rows in sets.items()}
    assert len(set(names["gpu"])) == len(names["gpu"]) > 20
    assert [n for n in names["gpu"] if n in names["small"]] == names["small"]
    rates = part("rates").Rates(flops=1e12, bandwidth=1e12)
    limits = {w.name: part("run").limit_ms(w, rates) for w in sets["gpu"]()}
    # Three products of 4096^3 multiply-adds; x, y, the cotangent, the value and two gradients.
    assert limits["matmul"] == pytest.approx(1e3 * 6 * 4096**3 / 1e12)
    assert limits["tiny"] == pytest.approx(1e3 * 4 * 6 * 512**2 / 1e12)
