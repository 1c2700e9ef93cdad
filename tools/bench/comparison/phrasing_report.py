"""The table of phrasings: the slowest one over the fastest, running and compiling."""

from __future__ import annotations

from typing import Any

#: What the slowest phrasing may take over the fastest: of a step, and of a first call.
MOST_STEP, MOST_FIRST = 1.3, 2.0


def row(name: str, answer: dict[str, Any]) -> dict[str, Any]:
    """What the process measured with the two ratios; or {"error"}."""
    if "row" in answer:
        return {"workload": name, "error": answer["row"]["error"]}
    steps = [entry["minimum"] for entry in answer.values()]
    first = [entry["first_ms"] for entry in answer.values()]
    ratios = {"step_ratio": max(steps) / min(steps), "first_ratio": max(first) / min(first)}
    return {"workload": name, "phrasings": answer, **ratios}


def header() -> str:
    """Above the lines."""
    return f"{'program':<18}{'step':>7}{'first':>7}  phrasing: step ms, first call ms"


def line(row: dict[str, Any]) -> str:
    """Ratios of the slowest over the fastest, then each phrasing."""
    if "error" in row:
        return f"{row['workload']:<18}{'fails':>7}\n  {row['error'][:200]}"
    each = "; ".join(
        f"{name} {entry['minimum']:.3f}, {entry['first_ms']:.0f}"
        for name, entry in row["phrasings"].items()
    )
    return f"{row['workload']:<18}{row['step_ratio']:7.2f}{row['first_ratio']:7.2f}  {each}"


def text(rows: list[dict[str, Any]]) -> str:
    """The programs whose phrasings differ by more than they should."""
    lines = []
    for key, most, what in (
        ("step_ratio", MOST_STEP, "steps"),
        ("first_ratio", MOST_FIRST, "first calls"),
    ):
        above = [f"{r['workload']} ({r[key]:.2f})" for r in rows if r.get(key, 0) > most]
        lines.append(f"{what} of phrasings within {most:g}: all but {', '.join(above) or 'none'}")
    return "\n".join(lines)
