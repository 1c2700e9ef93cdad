"""Children forked beside threads of this process that compile and run."""

from __future__ import annotations

import json
import os
from pathlib import Path

from conftest import Run

STORM = """
import json, os, select, signal, threading, time
import adjit as aj, numpy as np

def compiled(k):
    return aj.jit(aj.value_and_grad(lambda x: aj.sum(aj.cos(x * (k + 0.25)))))

def right(k):
    value, slope = compiled(k)(np.ones(5))
    return np.isclose(value, 5 * np.cos(k + 0.25)) and np.allclose(
        slope, -(k + 0.25) * np.sin(k + 0.25))

large = aj.jit(lambda x: aj.sqrt(x) + 1.0)
ones = np.ones(1 << 20, np.float32)
wrong, stop = [], False

def compiling(first):
    k = first
    while not stop:
        right(k) or wrong.append(k)
        k += 1

def running():
    while not stop:
        float(large(ones)[-1]) == 2.0 or wrong.append(-1)

def explaining():
    k = 0
    while not stop:
        low = aj.lower(lambda x: aj.sum(x * float(k)), np.ones(3))
        low.text, low.schedule, low.explain(), low.compile().llvm
        k += 1

threads = [threading.Thread(target=t) for t in (
    lambda: compiling(10_000), running, explaining)]
right(0), large(ones)
[t.start() for t in threads]
ends = []
for n in range(FORKS):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        ok = right(n) and float(large(ones)[0]) == 2.0
        os._exit(0 if ok else 1)
    ends.append(os.waitpid(child, 0)[1])
    if ends[-1]:
        break
stop = True
[t.join() for t in threads]
print(json.dumps([ends, wrong]))
"""


def test_children_of_a_busy_process_compile_and_run(python: Run, cache_directory: Path) -> None:
    forks = int(os.environ.get("ADJIT_FORK_STORM", "30"))
    done = python(
        STORM.replace("FORKS", str(forks)),
        ADJIT_CACHE="rw",
        ADJIT_CACHE_DIR=str(cache_directory),
        ADJIT_NUM_THREADS="2",
    )
    ends, wrong = json.loads(done.stdout)
    assert ends == [0] * forks, "14: SIGALRM ended a child that hung"
    assert wrong == []
