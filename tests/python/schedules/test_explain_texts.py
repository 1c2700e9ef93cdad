"""What explain() says of some functions, word for word: tests/python/golden/explain.txt.

Schedules and predictions are those for one processor of two cores, whatever the tests run on, so a
change of the text is a change of the derivative, of the scheduler or of the cost model, or of the
words. ADJIT_UPDATE_GOLDEN=1 writes the file anew; a reader then looks at each text that changed.
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import adjit as aj
import numpy as np
import pytest

GOLDEN = Path(__file__).parents[1] / "golden" / "explain.txt"
#: AVX2, which this machine must have, and which the search when compiling needs.
TARGET = {"ADJIT_CPU": "x86-64-v3", "ADJIT_CACHE": "off"}
CORES = 2

f32 = functools.partial(aj.ShapeDtype, dtype=np.float32)
i64 = functools.partial(aj.ShapeDtype, dtype=np.int64)


def elementwise(x: aj.Tensor, y: aj.Tensor) -> aj.Tensor:
    """Its gradient is a chain of functions over the elements."""
    return aj.sum(aj.tanh(x * y) * aj.exp(-(y**2)))


def recurrence(state: aj.Tensor, x: aj.Tensor) -> tuple[aj.Tensor, aj.Tensor]:
    """A step of a scan."""
    state = aj.tanh(0.9 * state + x)
    return state, state


CASES: list[tuple[str, Callable[..., object], list[aj.ShapeDtype]]] = [
    (
        "the gradient of an elementwise function",
        aj.grad(elementwise, argnums=(0, 1)),
        [f32((512, 1000)), f32((512, 1000))],
    ),
    ("a matrix product", lambda a, b: a @ b, [f32((384, 512)), f32((512, 256))]),
    (
        "the gradients of a matrix product",
        aj.grad(lambda a, b: aj.sum((a @ b) ** 2), argnums=(0, 1)),
        [f32((384, 512)), f32((512, 256))],
    ),
    ("a reduction of columns", lambda x: aj.sum(x, axis=0), [f32((4096, 300))]),
    ("a softmax of rows", lambda x: aj.nn.softmax(x, -1), [f32((1024, 1000))]),
    (
        "the gradient of a gather, which is a scatter",
        aj.grad(lambda table, rows: aj.sum(aj.take(table, rows, axis=0) ** 2)),
        [f32((1000, 64)), i64((5000,))],
    ),
    (
        "the gradient of a scan",
        aj.grad(lambda s, xs: aj.sum(aj.scan(recurrence, s, xs)[1]), argnums=(0, 1)),
        [f32((256,)), f32((100, 256))],
    ),
]  # fmt: skip


@functools.cache
def told() -> dict[str, str]:
    """{case: what explain() says}, by a process that compiles for the target."""
    done = subprocess.run(
        [sys.executable, __file__], env={**os.environ, **TARGET},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    if "which this CPU lacks" in done.stderr:
        pytest.skip("no AVX2")
    if len(os.sched_getaffinity(0)) < CORES:
        pytest.skip("one core")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def recorded() -> dict[str, str]:
    """The file's texts by the cases' names."""
    parts = re.split(r"^# (.*)\n", GOLDEN.read_text(), flags=re.M)
    return {name: text.rstrip("\n") for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def test_the_file_has_the_cases_in_their_order() -> None:
    if os.environ.get("ADJIT_UPDATE_GOLDEN"):
        GOLDEN.write_text("\n".join(f"# {name}\n{text}\n" for name, text in told().items()))
    assert list(recorded()) == [name for name, _, _ in CASES]


@pytest.mark.parametrize("name", [name for name, _, _ in CASES])
def test_explain_says_what_is_recorded(name: str) -> None:
    assert told()[name] == recorded()[name]


if __name__ == "__main__":
    # A schedule is for the cores that the process may use.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    texts = {name: aj.lower(function, *inputs).explain() for name, function, inputs in CASES}
    print(json.dumps({name: text.rstrip("\n") for name, text in texts.items()}))
