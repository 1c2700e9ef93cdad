"""The report as a picture: how much faster than its best peer each row is."""

from __future__ import annotations

import math
from html import escape
from typing import Any

_ROW, _LEFT, _WIDTH, _TOP = 22, 210, 620, 58
_STYLE = (
    "text { font: 13px sans-serif; fill: #222 } .small { font-size: 11px; fill: #666 } "
    ".ahead { fill: #2a7f62 } .behind { fill: #b5452c } .grid { stroke: #ddd } "
    ".even { stroke: #222 } rect.page { fill: white }"
)


def svg(rows: list[dict[str, Any]], title: str) -> str:
    """One bar a row that has a ratio, on a logarithmic scale; 1 is as fast as the best peer."""
    shown = [r for r in rows if "ratio" in r]
    ratios = [r["ratio"] for r in shown] or [1.0]
    low = min(0, math.floor(math.log2(min(ratios))))
    high = max(1, math.ceil(math.log2(max(ratios))))

    def x(ratio: float) -> float:
        return _LEFT + _WIDTH * (math.log2(ratio) - low) / (high - low)

    bottom = _TOP + _ROW * len(shown)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 190}" '
        f'height="{bottom + 16}">',
        f'<style>{_STYLE}</style><rect class="page" width="100%" height="100%"/>',
        f'<text x="12" y="24">{escape(title)}</text>',
        *(_line(x(2.0**k), k, bottom) for k in range(low, high + 1)),
        *(_bar(row, x, _TOP + _ROW * k) for k, row in enumerate(shown)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _line(x: float, power: int, bottom: int) -> str:
    label = f"{2**power}" if power >= 0 else f"1/{2**-power}"
    return (
        f'<line class="{"even" if power == 0 else "grid"}" x1="{x:.1f}" x2="{x:.1f}" '
        f'y1="{_TOP - 8}" y2="{bottom}"/>'
        f'<text class="small" text-anchor="middle" x="{x:.1f}" y="{_TOP - 12}">{label}</text>'
    )


def _bar(row: dict[str, Any], x: Any, top: int) -> str:
    ratio = row["ratio"]
    left, right = sorted((x(1), x(ratio)))
    peer = row["peers"][row["best_peer"]]["minimum"]
    label = f"{ratio:.2f}   {row['adjit']['minimum']:.3g} ms, {row['best_peer']} {peer:.3g} ms"
    middle = top + _ROW / 2 + 4
    return (
        f'<text text-anchor="end" x="{_LEFT - 10}" y="{middle}">{escape(row["workload"])}</text>'
        f'<rect class="{"ahead" if ratio >= 1 else "behind"}" x="{left:.1f}" y="{top + 4}" '
        f'width="{max(right - left, 1):.1f}" height="{_ROW - 8}"/>'
        f'<text class="small" x="{right + 6:.1f}" y="{middle}">{escape(label)}</text>'
    )
