"""Looking inside: text, stages, schedules, executables."""

from __future__ import annotations

import re
from typing import Any

import adjit as aj
import numpy as np
import pytest

A, B = np.arange(12.0).reshape(3, 4), np.ones((4, 5))


def matmul(a: Any, b: Any) -> Any:
    return a @ b


def test_text_of_matmul_and_its_adjoint_are_matmuls() -> None:
    assert "+=! x0(i, r_k) * x1(r_k, j)" in aj.lower(matmul, A, B).text
    derived = aj.lower(aj.grad(lambda a, b: aj.sum((a @ b) ** 2), argnums=(0, 1)), A, B)
    products = [s for s in derived.stages if s.iterations == 60]
    assert [s.name for s in products] == ["matmul", "d_x0", "d_x1"]


def test_stages_count_exactly() -> None:
    (stage,) = aj.lower(
        matmul, aj.ShapeDtype((3, 4), "float32"), aj.ShapeDtype((4, 5), "float32")
    ).stages
    assert (stage.shape, stage.dtype) == ((3, 5), "float32")
    assert (stage.iterations, stage.flops) == (3 * 4 * 5, 2 * 3 * 4 * 5)
    assert stage.bytes == 4 * (12 + 20 + 15)
    assert "test_stages.py" in stage.lines[0]
    x, w = np.ones((2, 3, 8, 7)), np.ones((5, 3, 3, 3))
    conv = aj.lower(lambda x, w: aj.nn.conv2d(x, w, stride=2), x, w).stages[-1]
    assert conv.shape == (2, 5, 3, 3)
    assert conv.iterations == 2 * 5 * 3 * 3 * 3 * 3 * 3


def test_schedule_round_trip() -> None:
    low = aj.lower(matmul, A, B)
    again = low.with_schedule(low.schedule_json)
    assert again.schedule == low.schedule and again.schedule_json == low.schedule_json
    np.testing.assert_array_equal(again.compile()(A, B), A @ B)
    plain = low.with_schedule("[]")
    assert plain.schedule != low.schedule
    np.testing.assert_array_equal(plain.compile()(A, B), A @ B)


def test_foreign_or_broken_schedule_is_refused() -> None:
    low = aj.lower(matmul, A, B)
    other = aj.lower(lambda x: aj.nn.softmax(x, axis=1), np.ones((6, 40)))
    for wrong in (other.schedule_json, "not json", '[{"move": "dance", "stage": "matmul"}]'):
        with pytest.raises(aj.ScheduleError):
            low.with_schedule(wrong)


def test_executable() -> None:
    executable = aj.lower(matmul, A, B).compile()
    np.testing.assert_array_equal(executable(A, B), A @ B)
    assert "define" in executable.llvm and executable.asm.strip()
    assert executable.ptx == "" and executable.compile_ms >= 0
    assert executable.cache in ("miss", "memory") and isinstance(executable.miss_reason, str)
    assert executable.report["title"]
    with pytest.raises(aj.Error, match="compiled for"):
        executable(A.T, B)


def test_vectors_on_the_stack_lie_in_whole_lines() -> None:
    def chain(x: aj.Value, y: aj.Value) -> aj.Value:
        return aj.sin(x * y) * aj.exp(x) + aj.cos(y) * aj.log1p(aj.abs(x)) / (1 + aj.tanh(x) ** 2)

    x = np.ones((64, 64), np.float32)
    low = aj.lower(aj.grad(lambda x, y: aj.sum(chain(x, y)), argnums=(0, 1)), x, x)
    text = low.compile().asm
    kept = set(re.findall(r"mov\w+\s+%([xyz])mm\d+, -?\d*\(%rsp\)", text))
    assert kept, "nothing finds no register: the test needs a larger body"
    widest = max(kept)
    size = {"x": 16, "y": 32, "z": 64}[widest]
    assert re.search(rf"andq\s+\$-(64|{size}), %rsp", text)
    assert not re.search(rf"movups\s+%{widest}mm\d+, -?\d*\(%rsp\)", text)


def test_lowering_of_derived_functions() -> None:
    low = aj.lower(aj.value_and_grad(lambda x: aj.sum(x * x)), A)
    value, gradient = low.compile()(A)
    assert float(value) == np.sum(A * A)
    np.testing.assert_array_equal(gradient, 2 * A)
    _, pullback = aj.vjp(aj.sin, A)
    (found,) = aj.lower(pullback, A).compile()(A)
    np.testing.assert_allclose(found, A * np.cos(A))


def test_explain() -> None:
    low = aj.lower(
        lambda a, b: a @ b, np.ones((256, 256), np.float32), aj.ShapeDtype((256, 256), "float32")
    )
    text = low.explain()
    predicted = float(text.split()[1])
    assert text.startswith("predicted ") and "arithmetic" in text and predicted > 0
    plain = low.with_schedule("[]").explain()
    assert float(plain.split()[1]) > 5 * predicted  # one scalar at a time


def test_profile() -> None:
    x = np.ones((8, 16), np.float32)
    executable = aj.lower(lambda x: aj.sum(aj.exp(x), axis=1), x).compile()
    profile = executable.profile(x, repeats=3)
    assert sum(k.flops for k in profile if k.flops is not None) >= 2 * 8 * 16
    assert all(k.microseconds > 0 and k.calls == 1 for k in profile)
    assert sum(k.bytes for k in profile) >= 4 * (8 * 16 + 8)
    assert all(0 < k.roofline <= k.predicted for k in profile)
    assert len(str(profile).splitlines()) == 1 + len(profile)
    with pytest.raises(aj.Error, match="repeats"):
        executable.profile(x, repeats=0)
    with pytest.raises(aj.Error, match="argument 0"):
        executable.profile(x[:4])
