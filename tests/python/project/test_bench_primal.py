"""tools/bench/compare.py --primal: value, gradient and both agree; ratios and anchors."""

from __future__ import annotations

import dataclasses
import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import adjit as aj
import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("jax")

_BENCH = Path(__file__).parents[3] / "tools" / "bench"


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a part of the comparison by its name."""
    monkeypatch.syspath_prepend(str(_BENCH))
    return lambda name: importlib.import_module(f"comparison.{name}")


def test_two_rows(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    run = subprocess.run(
        [
            sys.executable, _BENCH / "compare.py", "--primal", "--only=tiny,gmm",
            "--seconds=0.01", "--threads=1", f"--json={file}",
        ],
        check=True, timeout=300, capture_output=True, text=True,
    )  # fmt: skip
    whole = json.loads(file.read_text())
    assert [r["workload"] for r in whole["rows"]] == ["tiny", "gmm"]
    for row in whole["rows"]:
        for kind in ("gradient", "both"):
            times = row[kind]["minimum"] / row["value"]["minimum"]
            assert row["over_value"][kind] == pytest.approx(times)
    assert whole["rows"][0]["at_most"] == {}
    assert whole["rows"][1]["at_most"] == {"Futhark": 5.1, "by hand": 4.6}
    assert "5.1 (Futhark), 4.6 (by hand)" in run.stdout
    assert "gradient / value: " in run.stdout and "the run took" in run.stdout


def test_every_anchor_is_a_row(part: Any) -> None:
    names = [p.name for p in part("primal").programs()]
    assert len(names) == len(set(names)) == 28
    assert set(part("primal_report").ANCHORS) <= set(names)


def test_disagreement_is_refused(part: Any) -> None:
    primal = part("primal")
    right = primal.of_row(part("workloads.elementwise").tiny(4))
    assert set(primal.measure(right, 0.01)) == {"value", "gradient", "both"}
    wrong = dataclasses.replace(right, value=lambda *arguments: right.value(*arguments) * 2)
    with pytest.raises(RuntimeError, match="differ"):
        primal.measure(wrong, 0.01)


def _block(numbers: Any) -> Any:
    """(P, n) from an array or n vectors; (P, 1) from one vector."""
    if isinstance(numbers, (list, tuple)):
        return np.stack([np.asarray(x) for x in numbers], axis=1)
    return np.reshape(numbers, (len(numbers), -1))


@pytest.mark.parametrize("layout", ["by_columns", "by_rows"])
def test_jacobian_of_bundle_adjustment(part: Any, layout: str) -> None:
    """Every observation has its own camera and point, so that their changes stay apart."""
    bundle, count, h = part("bundle"), 7, 1e-6
    *floats, at = bundle.scene(count, count, count, "float64")
    at[:] = np.arange(count)[:, None]
    rng = np.random.default_rng(1)
    moves = [rng.standard_normal(x.shape) for x in floats[:3]]
    value = aj.jit(bundle.value(getattr(bundle, layout)))

    def moved(by: float) -> Any:
        arrays = [x + by * d for x, d in zip(floats[:3], moves, strict=True)]
        return np.stack([np.asarray(r) for r in value(*arrays, floats[3], at)])

    slope_u, slope_v, slope_own = (moved(h) - moved(-h)) / (2 * h)
    found, (by_u, by_v, own) = aj.jit(bundle.both(getattr(bundle, layout)))(*floats, at)
    np.testing.assert_allclose(np.stack([np.asarray(r) for r in found]), moved(0))
    moves = [_block(d) for d in moves]
    for blocks, slope in ((by_u, slope_u), (by_v, slope_v)):
        assert [_block(b).shape for b in blocks] == [(count, 11), (count, 3), (count, 1)]
        along = sum((_block(b) * d).sum(1) for b, d in zip(blocks, moves, strict=True))
        np.testing.assert_allclose(along, slope, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(own * moves[2][:, 0], slope_own, rtol=1e-6, atol=1e-7)


def test_report(part: Any) -> None:
    report = part("primal_report")
    times = {"value": 1.0, "gradient": 2.5, "both": 3.5}
    answer = {kind: {"minimum": ms} for kind, ms in times.items()}
    rows = [report.row("lstm", answer), report.row("tiny", {"row": {"error": "not today"}})]
    assert report.line(rows[0]).endswith("2.50          3.50  3.2 (Futhark)")
    assert "fails" in report.line(rows[1]) and "not today" in report.line(rows[1])
    gradient, both = report.text(rows).splitlines()
    assert gradient == "gradient / value: 2.50 in the geometric mean of 1 rows"
    assert both == "both / value: 3.50 in the geometric mean of 1 rows; above: lstm (3.50 of 3.2)"
