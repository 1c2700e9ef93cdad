#!/usr/bin/env python3
"""What the innermost loop of each row's longest kernels is made of.

    python tools/bench/hot_loops.py [--rows listed|shapes] [--only NAME,...] [--share 0.1]

Compiles the gradient step of each row of the comparison, measures its kernels, and reads the
assembly of those that take at least a share of the time: of the innermost loop with the most
vector arithmetic, how many instructions do vector arithmetic (and how many of these are
multiply-adds), load, store, shuffle, gather, touch the stack (values that found no register), or
do something else. Prints a Markdown table; docs/performance/README.md has one with what it says.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from comparison.environment import use_checkout

use_checkout()

import adjit as aj  # noqa: E402
from comparison.workloads.catalogue import SETS  # noqa: E402
from rank_schedules import step_of  # noqa: E402

_LABEL = re.compile(r"^(\.L\w+):")
_JUMP = re.compile(r"^\s+j\w+\s+(\.L\w+)")
_SHUFFLES = (
    "shuf",
    "perm",
    "unpck",
    "insert",
    "extract",
    "expand",
    "compress",
    "align",
    "broadcast",
)
_MOVES = ("vmov", "vbroadcast")


def kinds(line: str, frame: bool) -> Iterator[str]:
    """What an instruction counts as; one that computes on memory counts twice.

    ``frame``: %rbp is the function's frame, not any register.
    """
    name, _, operands = line.strip().partition("\t")
    memory = "(" in operands and not operands.startswith("$")
    stack = memory and ("(%rsp" in operands or (frame and "(%rbp)" in operands))
    vector = name.startswith("v") and (
        "%zmm" in operands or "%ymm" in operands or "%xmm" in operands
    )
    if "gather" in name or "scatter" in name:
        yield "gathers"
    elif stack:
        yield "stack"
    elif memory and vector and name.startswith(_MOVES) and not operands.endswith(")"):
        yield "loads"
        return
    elif memory and name.startswith("vmov"):
        yield "stores"
        return
    elif memory and vector:
        yield "loads"
    if not vector:
        if not memory:
            yield "other"
        return
    if name.startswith(("vfm", "vfnm")):
        yield "fma"
    if name.startswith("vmov"):
        yield "other"
    elif any(part in name for part in _SHUFFLES):
        yield "shuffles"
    elif not stack:
        yield "arithmetic"


@dataclass
class Loop:
    """An innermost loop: from a label to a jump back to it."""

    lines: list[str]
    frame: bool

    @property
    def counts(self) -> Counter[str]:
        return Counter(kind for line in self.lines for kind in kinds(line, self.frame))


def innermost_loops(code: list[str]) -> list[Loop]:
    """Loops without a loop inside."""
    frame = any(line.split() == ["movq", "%rsp,", "%rbp"] for line in code)
    at: dict[str, int] = {}
    found: list[tuple[int, int]] = []
    for number, line in enumerate(code):
        if label := _LABEL.match(line):
            at[label[1]] = number
        elif (jump := _JUMP.match(line)) and jump[1] in at:
            found.append((at[jump[1]], number))
    inner = [
        (a, b)
        for a, b in found
        if not any(a <= c and d <= b and (a, b) != (c, d) for c, d in found)
    ]
    return [
        Loop([x for x in code[a : b + 1] if x.startswith("\t") and not x.startswith("\t.")], frame)
        for a, b in inner
    ]


def functions(assembly: str) -> dict[str, list[str]]:
    """The lines of each function, by its symbol."""
    found: dict[str, list[str]] = {}
    code: list[str] = []
    for line in assembly.splitlines():
        if name := re.match(r"^(adjit_\w+|\w*kernel_\w+):", line):
            code = found.setdefault(name[1], [])
        code.append(line)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", choices=list(SETS), default="listed")
    parser.add_argument("--only", help="names of rows, separated by commas")
    parser.add_argument(
        "--share", type=float, default=0.1, help="of a row's time; less is left out"
    )
    options = parser.parse_args()
    columns = ("arithmetic", "fma", "loads", "stores", "shuffles", "gathers", "stack", "other")
    print(f"| row | kernel | share | of roofline | {' | '.join(columns)} |")
    print(f"|---|---|---|---|{'---|' * len(columns)}")
    only = options.only.split(",") if options.only else None
    for workload in SETS[options.rows]():
        if only and workload.name not in only:
            continue
        f, args = step_of(workload)
        executable = aj.lower(f, *args).compile()
        kernels = executable.profile(*args, repeats=10)
        whole = sum(k.microseconds for k in kernels)
        code = functions(executable.asm)
        for kernel in kernels:
            share = kernel.microseconds / whole
            loops = innermost_loops(code.get(kernel.symbol, []))
            if share < options.share or not loops:
                continue
            counts = max((loop.counts for loop in loops), key=lambda c: (c["fma"], c["arithmetic"]))
            reached = kernel.roofline / max(kernel.microseconds, 1e-3)
            print(
                f"| {workload.name} | {kernel.stages[0]} | {share:.0%} | {reached:.0%} | "
                f"{' | '.join(str(counts[c]) for c in columns)} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
