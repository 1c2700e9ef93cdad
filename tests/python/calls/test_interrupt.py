"""Ctrl-C inside calls of the library."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import adjit as aj
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def default_handler() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(call: Callable[[], Any], after: float = 0.3) -> float:
    """How long a call goes on after the signal that ends it."""
    sent: list[float] = []

    def send() -> None:
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, send)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
        return time.monotonic() - sent[0]
    finally:
        timer.cancel()
        timer.join()


def test_a_loop_that_never_ends() -> None:
    f = aj.jit(lambda x: aj.while_loop(lambda c: c < 2.0, lambda c: aj.minimum(c, 1.0), x))
    assert interrupted(lambda: f(np.float64(0))) < 2
    assert f(np.float64(3)) == 3
    assert interrupted(lambda: f(np.float64(1))) < 2


def test_a_long_scan() -> None:
    def f(x: Any) -> Any:
        carry, _ = aj.scan(lambda c, _: (aj.tanh(c @ c), None), x, None, length=2_000_000)
        return carry

    compiled = aj.jit(f)
    x = np.eye(24, dtype=np.float32)
    aj.lower(f, x).compile()
    assert interrupted(lambda: compiled(x)) < 2


def test_a_long_compilation() -> None:
    def f(x: Any) -> Any:
        for k in range(900):
            x = aj.sum(aj.sin(x * (k + 0.5)) * x[:, None], axis=1)
        return aj.sum(x)

    slope = aj.jit(aj.value_and_grad(f))
    x = np.linspace(0, 0.01, 5)
    # After tracing, which is Python's own to interrupt.
    lowered = aj.lower(aj.value_and_grad(f), x)
    assert interrupted(lowered.compile, 0.2) < 4
    small = aj.jit(aj.value_and_grad(lambda x: aj.sum(aj.sin(x) * x)))
    np.testing.assert_allclose(small(x)[1], np.cos(x) * x + np.sin(x))
    assert np.isfinite(slope(x)[0])


def test_a_handler_that_raises_nothing_runs_and_the_call_goes_on() -> None:
    seen: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    f = aj.jit(lambda x, n: aj.while_loop(lambda c: c < n, lambda c: c + 1.0, x))
    f(np.float64(0), np.float64(3))
    timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    during: list[int] = []
    while not seen:
        assert f(np.float64(0), np.float64(3e6)) == 3e6
        during.append(len(seen))
    timer.join()
    assert seen == [signal.SIGINT]


def test_what_another_handler_raises_comes_out() -> None:
    class AlarmError(Exception):
        pass

    def handler(number: int, frame: Any) -> None:
        raise AlarmError("time is up")

    before = signal.signal(signal.SIGALRM, handler)
    f = aj.jit(lambda x: aj.while_loop(lambda c: c < 2.0, lambda c: aj.minimum(c, 1.0), x))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(AlarmError, match="time is up"):
            f(np.float64(0))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_other_threads_are_not_interrupted() -> None:
    f = aj.jit(lambda x, n: aj.while_loop(lambda c: c < n, lambda c: c + 1.0, x))
    f(np.float64(0), np.float64(3))
    results: list[float] = []
    thread = threading.Thread(
        target=lambda: results.append(float(f(np.float64(0), np.float64(5e6))))
    )
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        thread.join()
    thread.join()
    assert results == [5e6]


def test_a_package_that_another_thread_imported() -> None:
    """The main thread's hook for calls without a context is set by its first call."""
    program = """
import threading
thread = threading.Thread(target=lambda: __import__("adjit"))
thread.start()
thread.join()
import adjit as aj, numpy as np
from adjit._core import interrupts
from adjit._core.library import library

class Asked:
    def __getattr__(self, name):
        return getattr(library, name)
    def adjit_thread_set_cancel(self, function, user):
        print("set", bool(function), threading.current_thread() is threading.main_thread())
        return library.adjit_thread_set_cancel(function, user)

aj._core.library.library = Asked()
other = threading.Thread(target=lambda: aj.jit(lambda x: x + 1)(np.ones(3)))
other.start()
other.join()
print("now")
for k in range(2):
    aj.jit(lambda x: x + k)(np.ones(3))
"""
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout.split("\n")[:-1] == ["now", "set True True"], found.stdout + found.stderr
