"""tools/bench/compare.py --phrasings: phrasings agree, and their schedules do where they should."""

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


def test_a_program_is_measured_in_all_its_phrasings(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    run = subprocess.run(
        [
            sys.executable, _BENCH / "compare.py", "--phrasings", "--only=softmax",
            "--seconds=0.01", "--threads=1", f"--json={file}",
        ],
        check=True, timeout=300, capture_output=True, text=True,
    )  # fmt: skip
    (row,) = json.loads(file.read_text())["rows"]
    assert set(row["phrasings"]) == {"operator", "composed", "notation", "vmap"}
    steps = [entry["minimum"] for entry in row["phrasings"].values()]
    assert row["step_ratio"] == pytest.approx(max(steps) / min(steps)) and row["first_ratio"] >= 1
    assert "steps of phrasings within 1.3" in run.stdout


def test_a_phrasing_that_differs_is_refused(part: Any) -> None:
    phrasings = part("phrasings")
    right = phrasings.matmul(8)
    wrong = {**right.forwards, "wrong": lambda a, b: a @ b * 1.01}
    with pytest.raises(RuntimeError, match="'wrong' differs"):
        phrasings.measure(dataclasses.replace(right, forwards=wrong), 0.01)


def test_every_program_has_three_phrasings_that_agree(part: Any) -> None:
    phrasings = part("phrasings")
    small = [
        phrasings.warp(1, 4, 16), phrasings.bilateral_slice(1, (3, 4, 5), 24),
        phrasings.blur(2, 16), phrasings.convolution(1, 4, 8), phrasings.softmax(8, 32),
        phrasings.layernorm(8, 32), phrasings.gaussian_kernel(20, 30, 3), phrasings.matmul(16),
        phrasings.lrn(1, 8, 6, 5), phrasings.attention(1, 2, 16, 8),
    ]  # fmt: skip
    assert [p.name for p in small] == [p.name for p in phrasings.phrased()]
    for program in small:
        assert len(program.forwards) >= 3
        phrasings.measure(program, 0.001)


def _stages(part: Any, program: Any, phrasing: str) -> list[Any]:
    step = part("phrasings").step_of(program.forwards[phrasing])
    return aj.lower(step, *part("phrasings").arguments_of(program)).stages


@pytest.mark.parametrize("phrasing", ["terms", "vmap", "indexed", "taken"])
def test_corners_written_out_are_gathered_as_a_window(part: Any, phrasing: str) -> None:
    """One scatter of a cell instead of four, and no more points than with corners as axes."""
    program = part("phrasings").warp(2, 8, 32)
    axes, written = (_stages(part, program, name) for name in ("axes", phrasing))
    points = 2 * 8 * 32 * 32 * 4  # corners
    for stages in (axes, written):
        assert sorted(s.iterations for s in stages)[-2:] == [points, points]
    assert len(written) <= len(axes) + 2


def test_eight_terms_trace_and_derive_as_fast_as_three_axes(part: Any) -> None:
    """No index is tried at every point of the stage: counted by stages, not timed."""
    program = part("phrasings").bilateral_slice(1, (4, 8, 8), 64)
    terms, axes = (_stages(part, program, name) for name in ("terms", "axes"))
    assert max(s.iterations for s in terms) <= max(s.iterations for s in axes)
    assert len(terms) <= len(axes) + 4
    assert not np.any([s.name.startswith("out_of_range") for s in terms])


@pytest.mark.parametrize("phrasing", ["terms", "axes", "composed"])
def test_a_clamped_blur_is_padded_and_convolved(part: Any, phrasing: str) -> None:
    """The largest stages are the operator's: three windows, over the image and its border."""
    program = part("phrasings").blur(2, 32)
    operator, written = (_stages(part, program, name) for name in ("operator", phrasing))
    assert _largest(written) == _largest(operator)
    assert max(_largest(operator)) == 2 * 32 * 32 * 9


@pytest.mark.parametrize("phrasing", ["composed", "axes", "text"])
def test_a_convolution_is_three_contractions_however_it_is_written(
    part: Any, phrasing: str
) -> None:
    """Of the operator's points, and at most those of the border that a user pads."""
    program = part("phrasings").convolution(1, 4, 8)
    operator, written = (_stages(part, program, name) for name in ("operator", phrasing))
    ratios = [b / a for a, b in zip(_largest(operator), _largest(written), strict=True)]
    assert all(1 <= ratio <= (10 / 8) ** 2 for ratio in ratios)


def _largest(stages: list[Any]) -> list[int]:
    return sorted(s.iterations for s in stages)[-3:]
