"""The table of value and gradient: times, their ratios, and what others have reached."""

from __future__ import annotations

from typing import Any

from .summary import geometric_mean

#: What a derivative takes over what the function takes, by row: ours should be at most that.
#: ADBench's are of the Jacobian and the objective, without the value.
ANCHORS = {
    "gmm": {"Futhark": 5.1, "by hand": 4.6},
    "lstm": {"Futhark": 3.2},
    "bundle_adjustment": {"by hand": 8.6},
    "bundle_adjustment_rows": {"by hand": 8.6},
    "maxpool3_s2": {"our aim": 2.0},
}


def row(name: str, answer: dict[str, Any]) -> dict[str, Any]:
    """What the process measured, and times over that of the value; or {"error"}."""
    if "row" in answer:
        return {"workload": name, "error": answer["row"]["error"]}
    value = answer["value"]["minimum"]
    over_value = {kind: answer[kind]["minimum"] / value for kind in ("gradient", "both")}
    return {"workload": name, **answer, "over_value": over_value, "at_most": ANCHORS.get(name, {})}


def header() -> str:
    """Above the lines."""
    names = "".join(f"{n:>10}" for n in ("value", "gradient", "both"))
    return f"{'workload':<26}{names}{'gradient / value':>18}{'both / value':>14}  at most"


def line(row: dict[str, Any]) -> str:
    """Milliseconds, their ratios, and the anchors."""
    if "error" in row:
        return f"{row['workload']:<26}{'fails':>10}\n  {row['error'][:200]}"
    times = "".join(f"{row[kind]['minimum']:10.3f}" for kind in ("value", "gradient", "both"))
    ratios = f"{row['over_value']['gradient']:18.2f}{row['over_value']['both']:14.2f}"
    anchors = ", ".join(f"{most:g} ({whose})" for whose, most in row["at_most"].items())
    return f"{row['workload']:<26}{times}{ratios}  {anchors}".rstrip()


def text(rows: list[dict[str, Any]]) -> str:
    """Geometric means, and the anchors that are exceeded."""
    measured = [r for r in rows if "over_value" in r]
    return "\n".join(_of(kind, measured) for kind in ("gradient", "both") if measured)


def _of(kind: str, rows: list[dict[str, Any]]) -> str:
    mean = geometric_mean([r["over_value"][kind] for r in rows])
    said = f"{kind} / value: {mean:.2f} in the geometric mean of {len(rows)} rows"
    above = [
        f"{r['workload']} ({r['over_value'][kind]:.2f} of {most:g})"
        for r in rows
        for most in r["at_most"].values()
        if r["over_value"][kind] > most
    ]
    return f"{said}; above: {', '.join(above)}" if above else said
