"""Schedules of a GPU: alternatives, what tune measures, and what it keeps."""

from __future__ import annotations

from test_gpu_calls import run


def test_other_schedules_are_tried_and_the_fastest_one_is_kept() -> None:
    run("""
from adjit import tuning
x, w = (np.random.default_rng(k).normal(size=(16, 16)).astype(np.float32) for k in (5, 6))
f = lambda x, w: aj.nn.softmax(aj.nn.relu(x @ w + 1.0), axis=1)
low = aj.lower(f, x, w, target="cuda")
assert "instead of" in low.explain(), low.explain()
report = aj.tune(aj.jit(f, target="cuda"), OnGpu(x), w, trials=3)
assert len(report.trials) == 3 and not any(t.failure for t in report.trials), report.trials
assert all(t.measured > 0 for t in report.trials)
tuning.keep(low, report.schedule_json)
again = aj.lower(f, x, w, target="cuda").compile()
assert again.report["kept_schedule"]
np.testing.assert_allclose(again(x, w), aj.jit(f)(x, w), rtol=1e-4, atol=1e-6)
""")
