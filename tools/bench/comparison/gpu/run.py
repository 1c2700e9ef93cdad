"""All rows on a GPU within a time: what is compiled in all frameworks at once, then timed in turn.

Compiling comes first, a process for each framework side by side, until a part of the time is
spent: nothing runs beside what is timed. Rows are taken by importance, the last ones are left out.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..workloads.workload import TOLERANCE, Workload
from .clock import Clock
from .rates import Rates
from .session import Session

#: Of the time, for what is compiled.
_COMPILING = 0.5
#: Seconds that one step may take to compile, that one row may be timed in one framework, and that
#: are kept for the end.
BUDGET, _ROW, _END = 60.0, 30.0, 3.0


@dataclass
class Row:
    """What was measured of a workload: framework -> its numbers or {"error": why}."""

    workload: str
    limit: float | None = None
    found: dict[str, dict[str, Any]] = field(default_factory=dict)

    def milliseconds(self, name: str) -> float | None:
        """None, too, of what is not right."""
        found = self.found.get(name, {})
        return float(found["minimum"]) if "minimum" in found and "error" not in found else None

    @property
    def best_peer(self) -> str | None:
        """The fastest of those that have a time."""
        peers = [n for n in self.found if n != "adjit" and self.milliseconds(n) is not None]
        return min(peers, key=lambda n: self.milliseconds(n) or 0, default=None)

    @property
    def ratio(self) -> float | None:
        """The best peer's time over ours."""
        ours, best = self.milliseconds("adjit"), self.best_peer
        return None if best is None or not ours else (self.milliseconds(best) or 0) / ours

    @property
    def of_limit(self) -> float | None:
        ours = self.milliseconds("adjit")
        return None if ours is None or not self.limit else ours / self.limit


def limit_ms(workload: Workload, rates: Rates) -> float:
    """What multiply-adds take at their peak, or bytes at the copy: the larger one."""
    work = workload.least(with_value=True)
    return 1e3 * max(work.flops / rates.flops, 4 * work.floats / rates.bandwidth)


def measured(
    workloads: list[Workload], rows: str, names: list[str], clock: Clock, seconds: float,
    rates: Rates | None, show: Callable[[Row], None],
) -> tuple[list[Row], list[str]]:  # fmt: skip
    """The rows, each shown when it is there; and those that were left out."""
    with contextlib.ExitStack() as stack:
        sessions = [stack.enter_context(Session(n, rows, BUDGET)) for n in names]
        until = _COMPILING * clock.left()
        with concurrent.futures.ThreadPoolExecutor(len(sessions)) as pool:
            end = clock.left() - until
            jobs = [pool.submit(_compile, s, workloads, clock, end) for s in sessions]
            errors = {s.framework: job.result() for s, job in zip(sessions, jobs, strict=True)}
        made: list[Row] = []
        left_out: list[str] = []
        for workload in workloads:
            if clock.left() < _END + 4 * seconds:
                left_out.append(workload.name)
                continue
            row = Row(workload.name, limit_ms(workload, rates) if rates else None)
            for session in sessions:
                _time(session, workload, row, errors[session.framework], clock, seconds)
            _compare(row, workload)
            made.append(row)
            show(row)
    return made, left_out


def _compile(
    session: Session, workloads: list[Workload], clock: Clock, end: float
) -> dict[str, str]:
    """Row -> why it has no step, until so much time is left."""
    errors: dict[str, str] = {}
    for workload in workloads:
        if clock.left() <= end:
            errors[workload.name] = "not compiled: the time for that was spent"
            continue
        # The last one may take longer than is left: what was compiled before is lost with it.
        seconds = min(BUDGET + 20, clock.left() - end + 20)
        answer = session.ask({"do": "prepare", "row": workload.name}, seconds)
        if "error" in answer:
            errors[workload.name] = answer["error"]
        elif "none" not in answer:
            session.prepared.add(workload.name)
    return errors


def _time(
    session: Session, workload: Workload, row: Row, errors: dict[str, str], clock: Clock,
    seconds: float,
) -> None:  # fmt: skip
    name = workload.name
    if name in errors:
        row.found[session.framework] = {"error": errors[name]}
    elif name in session.prepared:
        cap = max(1.0, min(_ROW, clock.left() - _END))
        job = {"do": "time", "row": name, "seconds": seconds}
        row.found[session.framework] = session.ask(job, cap)
    elif name in session.lost:
        row.found[session.framework] = {"error": "the process that had compiled it has ended"}


def _compare(row: Row, workload: Workload) -> None:
    """Of ours with the first peer's that has results; a difference is an error of ours.

    So are bits that differ from run to run and numbers that are none, also without a peer.
    """
    ours = row.found.get("adjit", {})
    theirs = next(
        (row.found[n]["sketch"] for n in row.found if n != "adjit" and "sketch" in row.found[n]),
        None,
    )
    if "sketch" not in ours:
        return
    if not ours["same_bits"]:
        ours["error"] = "two runs gave different bits"
    elif not all(result["finite"] for result in ours["sketch"]):
        ours["error"] = "gave numbers that are not finite"
    elif theirs is not None:
        ours["difference"] = difference(ours["sketch"], theirs)
        if not ours["difference"] <= TOLERANCE[workload.dtype]:
            ours["error"] = f"differs from its peers by {ours['difference']:.1e}"


def difference(mine: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> float:
    """The largest one of all samples, relative to the largest number of the result.

    A gradient that is far smaller than the others counts as if it were not so small
    (measure.difference).
    """
    least = 1e-3 * max(t["largest"] for t in theirs[1:] or theirs) + 1e-30
    worst = 0.0
    for m, t in zip(mine, theirs, strict=True):
        if m["shape"] != t["shape"] or not m["finite"]:
            return float("inf")
        apart = [abs(a - b) for a, b in zip(m["samples"], t["samples"], strict=True)]
        worst = max(worst, max(apart, default=0) / max(t["largest"], least))
    return worst
