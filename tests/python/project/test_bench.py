"""tools/bench/compare.py: measures two small rows, refuses wrong gradients, survives a crash."""

from __future__ import annotations

import dataclasses
import importlib
import json
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path
from typing import Any

import adjit as aj
import jax
import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("jax")

_BENCH = Path(__file__).parents[3] / "tools" / "bench"


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a part of the comparison by its name."""
    monkeypatch.syspath_prepend(str(_BENCH))
    return lambda name: importlib.import_module(f"comparison.{name}")


def test_two_rows(tmp_path: Path) -> None:
    file, picture = tmp_path / "rows.json", tmp_path / "rows.svg"
    subprocess.run(
        [
            sys.executable, _BENCH / "compare.py", "--shapes", "--only=tiny_4x4,matmul_16*",
            "--frameworks=adjit,torch,jax,openblas", "--seconds=0.01", "--threads=1",
            f"--json={file}", f"--chart={picture}",
        ],
        check=True, timeout=300,
    )  # fmt: skip
    whole = json.loads(file.read_text())
    rows = whole["rows"]
    assert whole["seconds"] > 0 and whole["geometric_means"]["ratio"] > 0
    assert ["reached" in row for row in rows] == [whole["machine"] is not None] * len(rows)
    assert [r["workload"] for r in rows] == ["tiny_4x4", "matmul_16x16x16", "matmul_16x4096x16"]
    for row in rows:
        assert row["errors"] == {}
        assert set(row["adjit_by_allocator"]) == {"default", "keep"}
        assert 0 < row["adjit"]["minimum"] <= row["adjit"]["median"]
        assert row["adjit"]["difference"] < 1e-3
        assert row["adjit"]["kernels"] >= 1
        assert row["adjit"]["compile_ms"] > 0  # the cache was empty
        best = row["peers"][row["best_peer"]]["minimum"]
        assert row["ratio"] == pytest.approx(best / row["adjit"]["minimum"])
        used = {k: e["workspace_bytes"] for k, e in row["peers"].items() if k != "openblas"}
        least = row["least_workspace"]
        assert used[least["peer"]] == least["workspace_bytes"] == min(used.values())
    assert set(rows[0]["peers"]) == {"torch", "jax"}
    assert set(rows[1]["peers"]) == {"torch", "jax", "openblas"}
    drawn = xml.etree.ElementTree.fromstring(picture.read_text())
    assert "tiny_4x4" in "".join(drawn.itertext())


def test_rows_of_other_dtypes(part: Any) -> None:
    row_of, measure = part("row").row_of, part("measure")
    for dtype in ("float64", "bfloat16", "float16"):
        workload = part("workloads.contractions").matmul(8, 16, 8).of(dtype)
        row = row_of(workload)
        assert [x.dtype.name for x in (*row.inputs, row.cotangent)] == [dtype] * 3
        wide = jax.config.jax_enable_x64
        found = measure.measure(workload, ["adjit", "torch", "jax"], 0.01)
        assert jax.config.jax_enable_x64 == wide
        for name, entry in found.items():
            assert "error" not in entry, (name, dtype, entry)
            assert 0 <= entry["difference"] < measure.TOLERANCE[dtype]


def test_names_differ(part: Any) -> None:
    names = [w.name for rows in part("workloads.catalogue").SETS.values() for w in rows()]
    assert len(names) == len(set(names))
    assert len(part("workloads.catalogue").SETS["listed"]()) == 26


@pytest.mark.parametrize(
    "name",
    ["rotary", "gru_in_python", "reflected_blur", "layer_norm_channels", "cube_of_a_matrix",
     "global_max", "chosen_log_likelihood", "volume_rendering", "conv1d_d4"],
)  # fmt: skip
def test_one_forward_means_the_same_in_three_libraries(part: Any, name: str) -> None:
    rows = {w.name: w for w in part("workloads.parts").parts()}
    found = part("measure").measure(rows[name], ["adjit", "torch", "jax"], 0.01)
    for framework, entry in found.items():
        assert "error" not in entry, (framework, entry)


def test_wrong_gradients_are_refused(part: Any) -> None:
    right = part("workloads.elementwise").tiny(4)
    wrong = dataclasses.replace(right, ours=lambda x, s: right.ours(x, s) * 1.01)
    found = part("measure").measure(wrong, ["adjit", "jax"], 0.01)
    assert "differs from torch" in found["adjit"]["error"] and "minimum" not in found["adjit"]
    assert found["jax"]["minimum"] > 0


def test_wrong_values_are_refused_however_small_beside_the_gradients(part: Any) -> None:
    right = part("workloads.elementwise").tiny(4)

    def torch_forward(x: Any, s: Any) -> Any:
        return right.torch(x, s) * 1e-6

    def wrong(x: Any, s: Any) -> Any:
        out = right.ours(x, s) * 1e-6
        return out + aj.stop_gradient(out) * 0.01

    row = dataclasses.replace(right, ours=wrong, torch=torch_forward)
    found = part("measure").measure(row, ["adjit"], 0.01)
    assert "differs from torch" in found["adjit"]["error"]
    alone = part("measure").measure(row, ["adjit", "torch"], 0.01, with_value=False)
    assert alone["adjit"]["minimum"] > 0 and "error" not in alone["adjit"]


def test_a_step_gives_the_value_and_the_gradients_in_every_framework(part: Any) -> None:
    frameworks = part("frameworks").FRAMEWORKS
    for with_value in (True, False):
        row = part("row").row_of(part("workloads.contractions").matmul(3, 4, 5), with_value)
        a, b, c = *row.inputs, row.cotangent
        wanted = [*([a @ b] if with_value else []), c @ b.T, a.T @ c]
        for name in ("adjit", "torch", "jax", "openblas", "onednn"):
            step = frameworks[name](row)
            if step is None:
                continue
            results = step.results()
            assert len(results) == len(wanted), name
            for mine, right in zip(results, wanted, strict=True):
                np.testing.assert_allclose(mine, right, rtol=1e-4, atol=1e-5, err_msg=name)


def test_the_least_work_of_a_step_has_the_values_in_it(part: Any) -> None:
    row = part("workloads.contractions").matmul(2, 3, 5)
    assert row.least(with_value=False).flops == 4 * 30
    assert row.least(with_value=True).flops == 6 * 30
    assert row.least(with_value=True).floats == 2 * (6 + 15) + 2 * 10
    work = part("workloads.workload").Work
    summed = work(calls={"exp": 1}) + work(calls={"exp": 2, "log": 3}, gathers=4)
    assert summed.calls == {"exp": 3, "log": 3} and summed.gathers == 4


def test_failures_are_rows(part: Any) -> None:
    def refuse(x: Any, s: Any) -> Any:
        raise ValueError("not today")

    row = dataclasses.replace(part("workloads.elementwise").tiny(4), ours=refuse)
    found = part("measure").measure(row, ["adjit", "torch"], 0.01)
    assert found["adjit"] == {"error": "ValueError: not today"}
    merged = part("report").merged("tiny", None, {"default": found})
    assert "fails" in part("report").lines(merged) and "not today" in part("report").lines(merged)


def test_difference(part: Any) -> None:
    difference = part("measure").difference
    one, tiny = np.ones(3, np.float32), np.full(3, 1e-9, np.float32)
    assert difference([one * 1.5, tiny], [one, tiny]) == pytest.approx(0.5)
    assert difference([one, tiny * 2], [one, tiny]) < 1e-5  # rounding of a zero gradient
    assert difference([one[:2]], [one]) == float("inf")
    assert difference([one * np.nan], [one]) == float("inf")


class _Clock:
    """Stands for ``time``: other threads run for ``busy`` seconds from now on."""

    def __init__(self, busy: float) -> None:
        self.now, self.busy = 0.0, busy

    def perf_counter(self) -> float:
        return self.now

    def process_time(self) -> float:
        return min(self.now, self.busy)

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize("busy", [0.0, 0.02, 0.105])
def test_turns_begin_when_threads_sleep(
    part: Any, monkeypatch: pytest.MonkeyPatch, busy: float
) -> None:
    timing, clock = part("timing"), _Clock(busy)
    monkeypatch.setattr(timing, "time", clock)
    assert timing.wait_until_idle()
    assert busy <= clock.now <= busy + 0.03
    clock.now, clock.busy = 0.0, 1e9
    assert not timing.wait_until_idle()
    assert clock.now < 2


def test_session_outlives_its_process(part: Any) -> None:
    arguments = ["--seconds=0.01", "--compile-budget=1", "--frameworks=adjit", "--rows=shapes"]
    with part("session").Session("default", 1, arguments, row_limit=120) as session:
        session._process.kill()
        assert "the process ended" in session.ask("tiny_4x4")["row"]["error"]
        assert session.ask("tiny_4x4")["adjit"]["minimum"] > 0


def test_limit(part: Any) -> None:
    machine = part("machine").Machine(flops=1e9, bandwidth=1e9, gathers=1e9)
    work = part("workloads.workload").Work
    limit = part("limits").limit_ms
    assert limit(work(flops=1e6, floats=1e5), machine) == pytest.approx(1.0)
    assert limit(work(flops=1e6, floats=1e6), machine) == pytest.approx(4.0)
    assert limit(work(flops=1e6, gathers=1e6), machine) == pytest.approx(2.0)
    assert limit(work(flops=1e6, calls={"exp": 1e6}), machine) == pytest.approx(27.0)


def test_share_of_what_limits(part: Any) -> None:
    machine = part("machine").Machine(flops=1e9, bandwidth=1e9, gathers=1e9)
    work, reached = part("workloads.workload").Work, part("limits").reached
    assert reached(work(flops=8e5, floats=1e5), machine, 1.0) == {
        "limited_by": "fma", "share": pytest.approx(0.8)
    }  # fmt: skip
    assert reached(work(flops=1e6, floats=5e5), machine, 1.0) == {
        "limited_by": "mem", "share": pytest.approx(2.0)
    }  # fmt: skip
    functions = work(flops=1e6, calls={"exp": 1e6})
    assert reached(functions, machine, 30.0) == {"limited_by": "fun", "share": None}
    gathers = work(flops=1e6, gathers=2e6)
    assert reached(gathers, machine, 30.0) == {"limited_by": "gather", "share": None}


def _row(name: str, of_limit: float, used: int, limited_by: str, share: Any) -> dict[str, Any]:
    return {
        "workload": name, "limit": 1.0, "of_limit": of_limit, "ratio": 2.0, "errors": {},
        "reached": {"limited_by": limited_by, "share": share}, "best_peer": "jax",
        "peers": {"jax": {"minimum": 2 * of_limit}},
        "adjit": {"minimum": of_limit, "workspace_bytes": used, "kernels": 1},
        "least_workspace": {"peer": "jax", "workspace_bytes": 1_000_000},
    }  # fmt: skip


def test_summary_names_rows_that_miss_a_target(part: Any) -> None:
    rows = [
        _row("cached", 0.5, 0, "mem", 2.0), _row("slow", 2.0, 2_500_000, "mem", 0.5),
        _row("product", 1.25, 1_000_000, "fma", 0.8), _row("sines", 1.0, 1_000_100, "fun", None),
    ]  # fmt: skip
    means = part("summary").means(rows)
    assert means["ratio"] == pytest.approx(2.0)
    assert means["of_limit"] == pytest.approx(1.25**0.25)
    assert means["of_limit_at_least_1"] == pytest.approx(2.5**0.25)
    text = part("summary").text(rows)
    assert "1.06 in the geometric mean of 4 rows; 1.26 where no row" in text
    assert "below 85 % of the triad: slow (50.0 %)" in text
    assert "below 90 % of the multiply-adds' peak: product (80.0 %)" in text
    assert "than the least of the peers': slow (2.50, jax 1.00)" in text
    header, *lines = [part("report").header(), *map(part("report").lines, rows)]
    assert [line[header.index("of limit") + 8 :][:10].strip() for line in lines] == [
        "200% mem", "50% mem", "80% fma", "fun"
    ]  # fmt: skip
    assert {len(line) for line in lines} == {len(header)}


def test_workspace_of_peers(part: Any) -> None:
    workspace = part("workspace")
    # 5 bytes of an input are given back, 20 at address 2 become a result: 10 + 30 at the peak.
    changes = [(1, 10), (9, -5), (2, 7), (2, -7), (3, 30), (2, 20), (3, -30), (1, -10)]
    assert workspace.peak(changes, {2}) == 40
    assert workspace.peak(changes, set()) == 60
    points = part("workloads.points").gaussian_kernel(300, 200, 3, 2)
    found = part("measure").measure(points, ["torch", "jax"], 0.01)
    assert 12 * 300 * 200 < found["torch"]["workspace_bytes"] < 120 * 300 * 200
    assert 4 * 300 * 200 < found["jax"]["workspace_bytes"] < 120 * 300 * 200


def test_allowance_of_torch_compile(part: Any) -> None:
    allowance = part("allowance").Allowance(100, row=30)
    allowance.spend({"default": {"compile": {"first_ms": 60e3}}, "keep": {"adjit": {}}})
    assert allowance.left_out() == {}
    late = {"error": "BudgetExceeded: took more than 30 s"}
    allowance.spend({"default": {"compile": late}})
    assert allowance.left_out() == {}
    allowance.spend({"default": {"compile": late}})
    assert "100 s" in allowance.left_out()["compile"]


def test_growth_exponents(part: Any) -> None:
    works = {"a/1": 1.0, "a/8": 8.0, "b/1": 1.0}
    assert part("report").exponents({"a/1": 2.0, "a/8": 128.0, "b/1": 1.0}, works) == {
        "a": pytest.approx(2.0)
    }


class _Answers:
    """A session that gives up rows in which Halide takes part."""

    def __init__(self) -> None:
        self.asked: list[set[str]] = []

    def ask(self, row: str, without: Any = ()) -> dict[str, Any]:
        self.asked.append(set(without))
        if "halide" not in without:
            return {"row": {"error": "took more than 1 s"}}
        late = {"compile": {"error": "BudgetExceeded: took more than 1 s"}}
        return {"adjit": {"minimum": 1.0}, **({} if "compile" in without else late)}


def test_rows_are_asked_again_without_what_failed(part: Any) -> None:
    default, keep = _Answers(), _Answers()
    answers = part("report").asked("tiny", {"default": default, "keep": keep})
    assert default.asked == [{"halide"}]  # Halide takes part with the other allocator only
    assert keep.asked == [{"compile"}, {"compile", "halide"}]
    row = part("report").merged("tiny", 0.5, answers)
    assert row["adjit"]["minimum"] == 1.0 and row["of_limit"] == 2.0
    assert set(row["errors"]) == {"compile", "halide"}
