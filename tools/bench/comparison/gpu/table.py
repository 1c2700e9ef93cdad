"""The rows as the lines of one table, and what they come to."""

from __future__ import annotations

import math
from typing import Any

from .run import Row


def header(names: list[str]) -> str:
    columns = "".join(f"{n:>9}" for n in names)
    return f"{'ms':<20}{columns}{'best peer':>11}{'ratio':>8}{'limit':>9}{'of limit':>10}"


def line(row: Row, names: list[str]) -> str:
    """Milliseconds; ``ratio`` is best peer / adjit, ``of limit`` adjit / limit. Errors below."""
    cells = "".join(f"{_cell(row, n):>9}" for n in names)
    best = row.best_peer or "-"
    text = (
        f"{row.workload:<20}{cells}{best:>11}{_number(row.ratio, 8, 2)}"
        f"{_number(row.limit, 9, 4)}{_number(row.of_limit, 10, 2)}"
    )
    errors = [f"  {n}: {_first(e['error'])}" for n, e in row.found.items() if "error" in e]
    return "\n".join([text, *errors])


def summary(rows: list[Row], left_out: list[str]) -> str:
    """Geometric means, and which rows have none."""
    lines = []
    for what, values in (
        ("best peer / adjit", [r.ratio for r in rows]),
        ("adjit / limit", [r.of_limit for r in rows]),
    ):
        known = [v for v in values if v]
        if known:
            mean = math.exp(sum(map(math.log, known)) / len(known))
            lines.append(f"geometric mean of {what}: {mean:.2f} ({len(known)} rows)")
    if left_out:
        lines.append(f"left out, for want of time: {', '.join(left_out)}")
    return "\n".join(lines)


def as_json(row: Row) -> dict[str, Any]:
    """Without the samples of results."""
    found = {n: {k: v for k, v in e.items() if k != "sketch"} for n, e in row.found.items()}
    return {
        "workload": row.workload, "limit": row.limit, "best_peer": row.best_peer,
        "ratio": row.ratio, "of_limit": row.of_limit, "found": found,
    }  # fmt: skip


def wrong(rows: list[Row]) -> list[str]:
    """Rows of which ours is not right."""
    return [r.workload for r in rows if "error" in r.found.get("adjit", {})]


def _cell(row: Row, name: str) -> str:
    value = row.milliseconds(name)
    if value is not None:
        return f"{value:.3f}"
    return "fails" if "error" in row.found.get(name, {}) else "-"


def _number(value: float | None, width: int, digits: int) -> str:
    return f"{'-':>{width}}" if value is None else f"{value:{width}.{digits}f}"


def _first(error: str) -> str:
    return next((x for x in error.splitlines() if x.strip()), error)[:200]
