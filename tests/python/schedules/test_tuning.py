"""aj.tune: measured schedules, and what is kept of them."""

from __future__ import annotations

import concurrent.futures
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import adjit as aj
import numpy as np
import pytest
from adjit import tuning
from conftest import Run

A = np.random.default_rng(0).standard_normal((96, 80)).astype(np.float32)
B = np.random.default_rng(1).standard_normal((80, 112)).astype(np.float32)


def product(a: Any, b: Any) -> Any:
    return aj.exp(a @ b / 20)


def test_measures_different_schedules() -> None:
    report = aj.tune(product, A, B, trials=6)
    assert 2 <= len(report.trials) <= 6
    assert report.trials[0].changes == "" and all(t.changes for t in report.trials[1:])
    assert all(t.failure == "" and t.measured is not None and t.measured > 0 for t in report.trials)
    assert 0 < report.best_us <= report.default_us == report.trials[0].measured
    assert str(len(report.trials)) in str(report)
    low = aj.lower(product, A, B)
    np.testing.assert_allclose(
        low.with_schedule(report.schedule_json).compile()(A, B), np.exp(A @ B / 20), rtol=1e-4
    )
    tuning.keep(low, None)


def test_the_same_seed_measures_the_same_schedules() -> None:
    def changes(seed: int) -> list[str]:
        return sorted(t.changes for t in aj.tune(product, A, B, trials=8, seed=seed).trials)

    assert changes(1) == changes(1)
    assert changes(1) != changes(2)


def test_gradients_are_tuned_too() -> None:
    gradient = aj.grad(lambda a, b: aj.sum(product(a, b) ** 2), argnums=(0, 1))
    assert len(aj.tune(gradient, A, B, trials=4).trials) == 4


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_executors_compile(kind: str) -> None:
    executors = {
        "threads": concurrent.futures.ThreadPoolExecutor,
        "processes": concurrent.futures.ProcessPoolExecutor,
    }
    if kind == "threads":
        with executors[kind](2) as pool:
            report = aj.tune(product, A, B, trials=4, executor=pool)
        assert all(t.measured for t in report.trials)
    else:  # a function without a name cannot be sent
        with (
            executors[kind](1) as pool,
            pytest.raises(aj.Error, match="the executor could not compile"),
        ):
            aj.tune(lambda a: aj.exp(a), A, trials=2, executor=pool)


def test_a_kept_schedule_is_used_until_it_is_dropped() -> None:
    def f(a: Any, b: Any) -> Any:
        return a @ b + 1

    low = aj.lower(f, A, B)
    own = low.schedule_json
    other = json.dumps(json.loads(own)[:1])  # lanes only
    before = low.compile()
    tuning.keep(low, other)
    assert json.loads(aj.lower(f, A, B).schedule_json) == json.loads(other)
    kept = aj.lower(f, A, B).compile()
    assert kept.report["kept_schedule"] and kept.cache == "miss"
    assert aj.lower(f, A, B).compile().cache == "memory"
    np.testing.assert_allclose(aj.jit(f)(A, B), A @ B + 1, rtol=1e-4, atol=1e-4)
    assert not before.report["kept_schedule"]
    assert before.llvm != kept.llvm  # each shows its own
    assert [len(e.profile(A, B)) > 0 for e in (before, kept)] == [True, True]
    assert json.loads(low.with_schedule("heuristic").schedule_json) == json.loads(own)
    tuning.keep(low, None)
    assert aj.lower(f, A, B).schedule_json == own
    with pytest.raises(aj.Error, match="list of moves"):
        tuning.keep(low, "{}")


def test_kept_schedules_reach_other_processes(python: Run, cache_directory: Path) -> None:
    program = """
import json, sys
import adjit as aj, numpy as np
from adjit import tuning
f = lambda a: aj.sum(aj.exp(a), axis=1)
x = np.ones((64, 48), np.float32)
low = aj.lower(f, x)
print(low.compile().report["cache"], len(json.loads(low.schedule_json)))
if {keep}:
    tuning.keep(low, "[]")
"""
    environment = {"ADJIT_CACHE": "rw", "ADJIT_CACHE_DIR": str(cache_directory)}
    run = [
        python(program.replace("{keep}", keep), **environment).stdout.split()
        for keep in ("False", "True", "False", "False")
    ]
    assert [r[0] for r in run] == ["miss", "disk", "miss", "disk"]
    assert int(run[0][1]) > 0 and run[2][1] == run[3][1] == "0"


def test_wrong_results_are_never_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tuning._proposals

    def with_a_wrong_one(low: Any, trials: int, seed: int) -> Any:
        candidates = whole(low, trials, seed)
        candidates[1].schedule_json = aj.lower(lambda a: aj.exp(a) * 2, A).schedule_json
        return candidates

    def compile_one(low: Any, schedule_json: str) -> Any:
        if schedule_json == wrong:
            return aj.lower(lambda a: aj.exp(a) * 2, A).compile()
        return original(low, schedule_json)

    original, wrong = tuning._compile_one, aj.lower(lambda a: aj.exp(a) * 2, A).schedule_json
    monkeypatch.setattr(tuning, "_proposals", with_a_wrong_one)
    monkeypatch.setattr(tuning, "_compile_one", compile_one)
    report = aj.tune(lambda a: aj.exp(a), A, trials=3)
    assert report.trials[1].measured is None and "differ" in report.trials[1].failure
    assert report.schedule_json != wrong


def test_the_bar_is_for_terminals() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        with tuning._Progress(4, stream) as progress:
            progress.step()
            progress.step()
        assert ("##" in stream.getvalue() and "2/4" in stream.getvalue()) is shown


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_worker_processes_leave_code_in_the_cache(
    python: Run, cache_directory: Path, tmp_path: Path, method: str
) -> None:
    (tmp_path / "tuned.py").write_text(
        "import adjit as aj\n\n\ndef f(a):\n    return aj.exp(a @ a)\n"
    )
    program = f"""
import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
import adjit as aj, numpy as np, tuned
from adjit import runtime
a = np.random.default_rng(0).standard_normal((48, 48)).astype(np.float32) / 20
aj.jit(lambda a: a + 1)(a)  # threads of this process that a fork does not have
runtime.compilations.clear()
with ProcessPoolExecutor(2, mp_context=get_context("{method}")) as pool:
    report = aj.tune(tuned.f, a, trials=4, executor=pool)
print(json.dumps([[t.measured, t.failure] for t in report.trials]))
print(json.dumps([c["cache"] for c in runtime.compilations]))
print(float(np.abs(aj.jit(tuned.f)(a) - np.exp(a @ a)).max()))
"""
    own = os.environ.get("PYTHONPATH")
    done = python(
        program, ADJIT_CACHE="rw", ADJIT_CACHE_DIR=str(cache_directory),
        PYTHONPATH=os.pathsep.join([str(tmp_path), *([own] if own else [])]),
    )  # fmt: skip
    trials, caches, error = (json.loads(line) for line in done.stdout.splitlines())
    assert len(trials) >= 2
    assert all(measured > 0 and failure == "" for measured, failure in trials)
    assert caches == ["disk"] * len(trials), "the workers compiled, this process loads"
    assert error < 1e-4


@pytest.mark.parametrize(
    ("name", "given"),
    [
        *[("trials", t) for t in (0, -1, 2.5, 4.0, "8", True, None, 2**31, 2**40)],
        *[("seed", s) for s in (-1, 0.5, "0", None, 2**64)],
        *[("executor", e) for e in (3, "threads", concurrent.futures.ThreadPoolExecutor)],
    ],
)
def test_bad_arguments(name: str, given: Any) -> None:
    with pytest.raises(aj.Error, match=rf"tune: {name}={re.escape(repr(given))}; it must be an "):
        aj.tune(product, A, B, **{name: given})


def test_whole_numbers_of_numpy_will_do() -> None:
    report = aj.tune(product, A, B, trials=np.int32(2), seed=np.uint64(2**64 - 1))
    assert len(report.trials) == 2


def test_an_executor_that_is_shut_down() -> None:
    pool = concurrent.futures.ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(aj.Error, match="tune: the executor takes no work: .*shutdown"):
        aj.tune(product, A, B, trials=2, executor=pool)


@pytest.mark.parametrize("given", [5, b"[]", "\0"])
def test_what_is_kept_is_text(given: Any) -> None:
    with pytest.raises(aj.ScheduleError, match="keep: schedule_json is"):
        tuning.keep(aj.lower(product, A, B), given)
