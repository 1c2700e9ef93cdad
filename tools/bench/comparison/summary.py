"""What is said below the rows: geometric means, and the rows that miss a target."""

from __future__ import annotations

import math
from typing import Any

from .report import least_workspace, megabytes

#: The share of what limits a row that it should reach.
_TARGETS = {"fma": (0.9, "the multiply-adds' peak"), "mem": (0.85, "the triad")}

#: Bytes of workspace that do not count: what the table would round off.
_SLACK = 5000


def text(rows: list[dict[str, Any]]) -> str:
    """Geometric means, the rows that a peer wins, and those that leave too much unused."""
    found, lines = means(rows), []
    for key, what in (("ratio", "best peer / adjit"), ("of_limit", "adjit / limit")):
        if key in found:
            count = sum(key in row for row in rows)
            lines.append(f"{what}: {found[key]:.2f} in the geometric mean of {count} rows")
    if "of_limit_at_least_1" in found:
        lines[-1] += f"; {found['of_limit_at_least_1']:.2f} where no row counts as less than 1"
    lost = [f"{r['workload']} ({1 / r['ratio']:.2f})" for r in rows if r.get("ratio", 1) < 1]
    if lost:
        lines.append(f"behind the best peer (by a factor): {', '.join(lost)}")
    lines += _below_targets(rows)
    if failed := [r["workload"] for r in rows if "adjit" not in r]:
        lines.append(f"without a number of adjit: {', '.join(failed)}")
    return "\n".join(lines)


def means(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Geometric ones, of the rows that have the number.

    ``of_limit_at_least_1`` counts rows below their limit, whose arrays stay in a cache, as if they
    were at it: they do not make up for others.
    """
    found = {key: [row[key] for row in rows if key in row] for key in ("ratio", "of_limit")}
    found["of_limit_at_least_1"] = [max(1.0, x) for x in found["of_limit"]]
    return {key: geometric_mean(values) for key, values in found.items() if values}


def _below_targets(rows: list[dict[str, Any]]) -> list[str]:
    """Rows that leave more of the machine unused, or take more memory, than they should."""
    lines = []
    for part, (target, what) in _TARGETS.items():
        below = [
            f"{r['workload']} ({100 * r['reached']['share']:.1f} %)"
            for r in rows
            if r.get("reached", {}).get("limited_by") == part and r["reached"]["share"] < target
        ]
        if below:
            lines.append(f"below {100 * target:.0f} % of {what}: {', '.join(below)}")
    more = [
        f"{r['workload']} ({megabytes(r['adjit'])}, {least_workspace(r)})"
        for r in rows
        if "adjit" in r
        and "least_workspace" in r
        and r["adjit"]["workspace_bytes"] > r["least_workspace"]["workspace_bytes"] + _SLACK
    ]
    if more:
        lines.append(f"more workspace (MB) than the least of the peers': {', '.join(more)}")
    return lines


def geometric_mean(values: list[float]) -> float:
    """Of at least one positive number."""
    return math.exp(sum(map(math.log, values)) / len(values))
