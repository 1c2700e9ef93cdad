"""aj.tune: measured search over schedules."""

from __future__ import annotations

import concurrent.futures
import ctypes
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np

from ._arrays import gpu
from ._core import pytree
from ._core.errors import Error
from ._core.library import call
from ._run.context import flush
from .stages import Executable, Lowered, lower, schedule_text

#: A candidate must be faster than this share of the default schedule's time to be kept.
_WORTH_KEEPING = 0.97
_SECONDS_A_TURN = 0.02
_TURNS = 3
_GPU_RUNS = 10
_MOST_TRIALS = 2**16


@dataclass(frozen=True)
class Trial:
    """One schedule: what it does otherwise (empty: the default one) and its microseconds.

    ``predicted`` is the cost model's time; ``measured`` is None where ``failure`` says why.
    """

    changes: str
    predicted: float
    measured: float | None
    failure: str = ""


@dataclass(frozen=True)
class TuningReport:
    """What ``tune`` found. Times are microseconds of one call."""

    default_us: float
    best_us: float
    trials: list[Trial]
    kept: bool
    changes: str
    schedule_json: str

    def __str__(self) -> str:
        tried = f"{len(self.trials)} schedules, default {self.default_us:.1f} us"
        if not self.kept:
            return f"{tried}: none is clearly faster"
        return f"{tried}, best {self.best_us:.1f} us: {self.changes}"


class _Candidate:
    def __init__(self, schedule_json: str, changes: str, predicted: float) -> None:
        self.schedule_json = schedule_json
        self.changes = changes
        self.predicted = predicted
        self.program: Executable | None = None
        self.seconds = float("inf")
        self.failure = ""

    def trial(self) -> Trial:
        measured = 1e6 * self.seconds if self.seconds < float("inf") else None
        return Trial(self.changes, self.predicted, measured, self.failure)


def tune(
    f: Callable[..., Any],
    *args: Any,
    trials: int = 64,
    executor: concurrent.futures.Executor | None = None,
    seed: int = 0,
) -> TuningReport:
    """Measures up to ``trials`` schedules of ``f`` for these arrays and keeps the fastest.

    Half of them are what the cost model predicts to be best, the rest drawn by ``seed``. Each is
    compiled (by ``executor``, or None: here, one after the other), its results compared with the
    default schedule's, and timed in turn with the others; on a GPU its kernels are, by events.
    What is kept serves all later compilations of the same computation, in this process and
    through the cache in others. The code is called with ``args`` many times.

    Any concurrent.futures executor will do: threads compile in this process; workers elsewhere
    are sent ``f`` and ``args``, which must then be picklable, and leave the code in the cache
    directory, which they must share.
    """
    trials = _whole("trials", trials, 1, _MOST_TRIALS)
    seed = _whole("seed", seed, 0, 2**64 - 1)
    if executor is not None and not isinstance(executor, concurrent.futures.Executor):
        raise Error(
            f"tune: executor={executor!r}; it must be an executor of concurrent.futures, such as "
            "ThreadPoolExecutor(4), or None to compile here"
        )
    low = lower(f, *args)
    candidates = _proposals(low, trials, seed)
    with _Progress(2 * len(candidates)) as progress:
        _compile(low, candidates, _submitter(executor, low, f, args), progress)
        _check(candidates, args, progress)
        _time(candidates, args)
    default = candidates[0]
    if default.program is None:
        raise Error(f"the default schedule of {low._traced_call.title} fails: {default.failure}")
    best = min(candidates, key=lambda c: c.seconds)
    kept = best is not default and best.seconds < _WORTH_KEEPING * default.seconds
    if not kept:
        best = default
    keep(low, best.schedule_json if kept else None)
    return TuningReport(
        1e6 * default.seconds, 1e6 * best.seconds, [c.trial() for c in candidates], kept,
        best.changes, best.schedule_json,
    )  # fmt: skip


def _whole(name: str, given: Any, least: int, most: int) -> int:
    is_whole = isinstance(given, int | np.integer) and not isinstance(given, bool)
    if not is_whole or not least <= given <= most:
        raise Error(f"tune: {name}={given!r}; it must be an integer from {least} to {most}")
    return int(given)


def keep(low: Lowered, schedule_json: str | None) -> None:
    """Makes a schedule that of later compilations; None: the default one again."""
    text = None
    if schedule_json is not None:
        text = schedule_text("keep", schedule_json).encode()
    call("adjit_lowered_keep_schedule", low._handle.value, text)


def _proposals(low: Lowered, trials: int, seed: int) -> list[_Candidate]:
    text = ctypes.c_char_p()
    call("adjit_lowered_proposals", low._handle.value, trials, seed, ctypes.byref(text))
    return [
        _Candidate(json.dumps(p["schedule"]), p["changes"], p["predicted"])
        for p in json.loads(text.value or b"[]")
    ]


def _compile_one(low: Lowered, schedule_json: str) -> Executable:
    return low.with_schedule(schedule_json).compile()


def _compile_elsewhere(f: Callable[..., Any], args: tuple[Any, ...], schedule_json: str) -> None:
    """What a worker process does: the code is then in the cache."""
    _compile_one(lower(f, *args), schedule_json)
    flush()


_Submit = Callable[[str], "concurrent.futures.Future[Any] | None"]


def _submitter(
    executor: concurrent.futures.Executor | None,
    low: Lowered,
    f: Callable[..., Any],
    args: tuple[Any, ...],
) -> _Submit:
    """Starts to compile a schedule; None: that happens when its program is asked for."""
    if executor is None:
        return lambda schedule: None
    if isinstance(executor, concurrent.futures.ThreadPoolExecutor):
        return lambda schedule: executor.submit(_compile_one, low, schedule)
    return lambda schedule: executor.submit(_compile_elsewhere, f, args, schedule)


def _wait_for(future: concurrent.futures.Future[Any]) -> None:
    try:
        future.result()
    except Error:
        pass  # compiling here says so again
    except Exception as error:
        raise Error(
            f"the executor could not compile a schedule ({type(error).__name__}: {error}); workers "
            "in other processes need a function that can be pickled, such as one of a module"
        ) from error


def _compile(
    low: Lowered, candidates: list[_Candidate], submit: _Submit, progress: _Progress
) -> None:
    """Fills ``program`` or ``failure``."""
    try:
        pending = [submit(c.schedule_json) for c in candidates]
    except RuntimeError as error:  # shut down, or its workers have died
        raise Error(f"tune: the executor takes no work: {error}") from error
    for candidate, future in zip(candidates, pending, strict=True):
        if future is not None:
            _wait_for(future)
        try:
            candidate.program = _compile_one(low, candidate.schedule_json)
        except Error as error:
            candidate.failure = f"does not compile: {error}"
        progress.step()


def _check(candidates: list[_Candidate], args: tuple[Any, ...], progress: _Progress) -> None:
    """Drops candidates whose results differ from the default schedule's by more than rounding."""
    expected: list[Any] | None = None
    for candidate in candidates:
        progress.step()
        if candidate.program is None:
            continue
        found = [_in_memory(x) for x in pytree.flatten(candidate.program(*args))[0]]
        if expected is None:
            expected = found
        elif not all(_close(a, b) for a, b in zip(expected, found, strict=True)):
            candidate.program = None
            candidate.failure = "its results differ from the default schedule's"


def _in_memory(result: Any) -> Any:
    """A result as an array of NumPy's, also one that lies on a GPU."""
    if gpu.has_torch_type(result):
        result = result.detach().cpu()
        if str(result.dtype) == "torch.bfloat16":  # of which NumPy has none
            result = result.float()
    elif gpu.has_interface(result) and hasattr(result, "get"):  # CuPy's
        result = result.get()
    return np.asarray(result)


def _close(expected: Any, found: Any) -> bool:
    if expected.dtype.kind not in "fV":
        return bool(np.array_equal(expected, found))
    precise = expected.dtype == np.float64
    scale = np.max(np.abs(expected), initial=0, where=np.isfinite(expected))
    return bool(
        np.allclose(
            found, expected, rtol=1e-9 if precise else 1e-3,
            atol=scale * (1e-11 if precise else 1e-4), equal_nan=True,
        )
    )  # fmt: skip


def _time(candidates: list[_Candidate], args: tuple[Any, ...]) -> None:
    """Fastest call of each; those that are far behind take no further turn."""
    running = [c for c in candidates if c.program is not None]
    for _ in range(_TURNS):
        for candidate in running:
            _turn(candidate, args)
        limit = 1.2 * min(c.seconds for c in running)
        running = [c for c in running if c is candidates[0] or c.seconds <= limit]


def _turn(candidate: _Candidate, args: tuple[Any, ...]) -> None:
    program = candidate.program
    assert program is not None
    if program.report["target"] != "cpu":
        candidate.seconds = min(candidate.seconds, _seconds_on_gpu(program, args))
        return
    end = time.perf_counter() + _SECONDS_A_TURN
    while True:
        start = time.perf_counter()
        program(*args)
        now = time.perf_counter()
        candidate.seconds = min(candidate.seconds, now - start)
        if now >= end:
            return


def _seconds_on_gpu(program: Executable, args: tuple[Any, ...]) -> float:
    """Of all kernels of a call, each in its fastest run, by the events of their stream.

    A call returns before they are done, and copies of arrays in CPU memory are not the schedule's.
    """
    return 1e-6 * sum(kernel.microseconds for kernel in program.profile(*args, repeats=_GPU_RUNS))


class _Progress:
    """A bar on a terminal; nothing elsewhere."""

    _WIDTH = 40

    def __init__(self, steps: int, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._shown = self._stream.isatty()
        self._steps = steps
        self._done = 0

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._stream.write("\r" + " " * (self._WIDTH + 20) + "\r")
            self._stream.flush()

    def step(self) -> None:
        """One more of ``steps``."""
        self._done += 1
        if not self._shown:
            return
        filled = self._WIDTH * self._done // max(self._steps, 1)
        bar = "#" * filled + "." * (self._WIDTH - filled)
        self._stream.write(f"\rtuning {bar} {self._done}/{self._steps}")
        self._stream.flush()
