"""A row of the report from what each allocator's process measured, and the table's lines."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .session import Session

_SHOWN = ("torch", "compile", "jax")


def asked(
    name: str, sessions: dict[str, Session], without: Iterable[str] = ()
) -> dict[str, dict[str, Any]]:
    """Allocator -> its numbers. A framework that ran out of its budget is not asked again.

    Halide takes seconds to compile and writes into arrays that are there: it is asked once, with
    the allocator that keeps its temporary ones.
    """
    answers: dict[str, dict[str, Any]] = {}
    late = set(without)
    for allocator, session in sessions.items():
        elsewhere = {"halide"} if allocator != "keep" and "keep" in sessions else set()
        answers[allocator] = _asked_twice(name, session, late | elsewhere)
        errors = {k: e["error"] for k, e in answers[allocator].items() if "error" in e}
        late |= {k for k, error in errors.items() if error.startswith("BudgetExceeded")}
    return answers


def _asked_twice(name: str, session: Session, without: set[str]) -> dict[str, Any]:
    """A row that was given up is asked again without what cannot be stopped: Halide's compiler."""
    answer = session.ask(name, without)
    if "row" not in answer or "halide" in without:
        return answer
    again = session.ask(name, without | {"halide"})
    return again if "row" in again else {**again, "halide": answer["row"]}


def merged(name: str, limit: float | None, answers: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Peers at the better allocator; adjit at the first one, and at all of them beside."""
    row: dict[str, Any] = {"workload": name, "limit": limit, "peers": {}, "errors": {}}
    for allocator, answer in answers.items():
        for framework, entry in answer.items():
            if "error" in entry:
                row["errors"][framework] = entry["error"]
            elif framework == "adjit":
                row.setdefault("adjit", entry)
                row.setdefault("adjit_by_allocator", {})[allocator] = entry
            else:
                best = row["peers"].get(framework)
                if best is None or entry["minimum"] < best["minimum"]:
                    row["peers"][framework] = {**entry, "allocator": allocator}
    if row["peers"]:
        row["best_peer"] = min(row["peers"], key=lambda p: row["peers"][p]["minimum"])
        if "adjit" in row:
            best = row["peers"][row["best_peer"]]["minimum"]
            row["ratio"] = best / row["adjit"]["minimum"]
    if "adjit" in row and limit:
        row["of_limit"] = row["adjit"]["minimum"] / limit
    used = {k: e["workspace_bytes"] for k, e in row["peers"].items() if "workspace_bytes" in e}
    if used:
        least = min(used, key=lambda p: used[p])
        row["least_workspace"] = {"peer": least, "workspace_bytes": used[least]}
    return row


def exponents(times: dict[str, float], works: dict[str, float]) -> dict[str, float]:
    """Row -> how often time doubles while work doubles once, from the smallest to the largest.

    ``times`` and ``works`` are by name of a row and size; rows of one size only are left out.
    """
    sizes: dict[str, list[str]] = {}
    for name in times:
        sizes.setdefault(name.split("/")[0], []).append(name)
    return {
        row: math.log(times[names[-1]] / times[names[0]])
        / math.log(works[names[-1]] / works[names[0]])
        for row, names in sizes.items()
        if len(names) > 1
    }


def header() -> str:
    """Above the lines."""
    names = "".join(f"{n:>9}" for n in ("adjit", "keep", *_SHOWN))
    return (
        f"{'workload':<26}{names}{'best peer':>18}{'limit':>9}{'ratio':>9}{'of limit':>9}"
        f"{'reached':>10}{'compile':>9}{'work MB':>9}{'least peer':>16}{'kernels':>9}"
    )


def lines(row: dict[str, Any]) -> str:
    """Milliseconds; ``ratio`` is best peer / adjit, ``of limit`` adjit / limit.

    ``reached`` is the share of the rate that limits the row, ``least peer`` the peer that needs
    the least workspace, in MB. Below, why a framework has no number.
    """
    errors = [f"  {name}: {_first_line(error)}" for name, error in row["errors"].items()]
    return "\n".join([_line(row), *errors])


def _first_line(error: str) -> str:
    return next((x for x in error.splitlines() if x.strip()), error)[:200]


def _line(row: dict[str, Any]) -> str:
    ours = row.get("adjit")
    by_allocator = row.get("adjit_by_allocator", {})
    kept = by_allocator.get("keep") if len(by_allocator) > 1 else None
    text = f"{row['workload']:<26}"
    text += _cell(row, "adjit", ours) + _cell(row, "adjit", kept)
    for name in _SHOWN:
        text += _cell(row, name, row["peers"].get(name))
    best = row.get("best_peer")
    shown = f"{best} {row['peers'][best]['minimum']:.3f}" if best else "-"
    text += f"{shown:>18}" + _number(row.get("limit"), 9, 3)
    text += _number(row.get("ratio"), 9, 2) + _number(row.get("of_limit"), 9, 2)
    text += f"{_reached(row):>10}"
    if ours:
        compiled = sum(v for k, v in ours.items() if k.endswith("_ms") and k != "first_ms")
        text += f"{compiled:9.1f}{megabytes(ours):>9}{least_workspace(row):>16}"
        text += f"{ours['kernels']:9d}"
    return text


def _reached(row: dict[str, Any]) -> str:
    if "reached" not in row:
        return "-"
    part, share = row["reached"]["limited_by"], row["reached"]["share"]
    return part if share is None else f"{100 * share:.0f}% {part}"


def megabytes(entry: dict[str, Any]) -> str:
    """Of workspace."""
    return f"{entry['workspace_bytes'] / 1e6:.2f}"


def least_workspace(row: dict[str, Any]) -> str:
    """The peer that takes the least, and its megabytes."""
    least = row.get("least_workspace")
    return f"{least['peer']} {megabytes(least)}" if least else "-"


def _cell(row: dict[str, Any], framework: str, entry: dict[str, Any] | None) -> str:
    if entry is not None:
        return f"{entry['minimum']:9.3f}"
    failed = framework in row["errors"] or "row" in row["errors"]
    return f"{'fails' if failed else '-':>9}"


def _number(value: float | None, width: int, digits: int) -> str:
    return f"{'-':>{width}}" if value is None else f"{value:{width}.{digits}f}"
