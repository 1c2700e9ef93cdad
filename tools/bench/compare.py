#!/usr/bin/env python3
"""Training steps of adjit beside those of PyTorch, torch.compile, JAX and libraries.

    python tools/bench/compare.py [--only NAME,...] [--threads N] [--json FILE] [--chart FILE.svg]
    python tools/bench/compare.py --device cuda [--minutes 8]
    python tools/bench/compare.py --primal
    python tools/bench/compare.py --phrasings

Every row is what a training step computes: the value and the gradients of sum(out * cotangent) for
all float inputs, float32, the same forward in every framework (comparison/ has them). --gradients
leaves the value out, which flatters whoever need not compute it. Results are checked against
torch's first. The frameworks take turns in one process; with --allocator both, one process has
glibc's allocator as it is, another one keeps large blocks, and a peer counts by the better one.
Times are milliseconds, minima; --json has medians, too. The limit follows from what bench_machine
measures here, and from the work that is written beside each row. --primal measures adjit alone:
gradients over the functions that they are derived from; --phrasings the same computations as
different users write them.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from comparison import chart, limits, machine, phrasing_report, primal_report, report, summary
from comparison.allowance import Allowance
from comparison.environment import ALLOCATORS, hold_to
from comparison.session import Session

_FRAMEWORKS = ["adjit", "torch", "compile", "jax", "openblas", "onednn", "drjit", "halide"]
_OPTIONAL = {"drjit", "halide"}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--only", help="names of rows, or beginnings of names ending in *, separated by commas")
    add("--shapes", dest="rows", action="store_const", const="shapes", help="odd shapes instead")
    add("--parts", dest="rows", action="store_const", const="parts", help="of networks, losses")
    add("--growth", dest="rows", action="store_const", const="growth", help="n, 2n, 4n, 8n instead")
    add("--dtypes", dest="rows", action="store_const", const="dtypes", help="f32, f64, bf16, f16")
    add("--primal", dest="rows", action="store_const", const="primal", help="gradient over value")
    add("--phrasings", dest="rows", action="store_const", const="phrasings", help="one, many ways")
    add("--device", choices=["cpu", "cuda"], default="cpu", help="cuda: comparison/gpu instead")
    add("--minutes", type=float, default=8, help="that --device cuda takes at most")
    add("--gradients", action="store_true", help="without the value: gradients alone")
    add("--frameworks", help=f"default: {','.join(_FRAMEWORKS)}, those that are installed")
    add("--threads", type=int, default=len(os.sched_getaffinity(0)))
    add("--allocator", choices=[*ALLOCATORS, "both"], default="both")
    add("--seconds", type=float, default=0.2, help="a framework, row and allocator")
    add("--compile-budget", type=float, default=40, help="seconds of torch.compile a row")
    add("--compile-total", type=float, default=180, help="seconds of torch.compile in all rows")
    add("--row-limit", type=float, default=120, help="seconds after which a row is given up")
    add("--json", type=Path, help="write the rows here, too")
    add("--chart", type=Path, help="draw the ratios here, as SVG")
    parser.set_defaults(rows="listed")
    options = parser.parse_args()
    alone = options.rows in ("primal", "phrasings")
    if alone and (options.chart or options.frameworks or options.gradients):
        parser.error(f"--{options.rows} is of adjit only: no --chart, --frameworks, --gradients")
    if options.device == "cuda" and (alone or options.chart or options.gradients):
        parser.error("--device cuda has its own rows, and no --chart, --gradients")
    return options


def chosen(rows: list[str], only: str | None) -> list[str]:
    """The rows that --only names; exits where it names none."""
    found = []
    for pattern in only.split(",") if only else ["*"]:
        start = pattern[:-1] if pattern.endswith("*") else None
        some = [r for r in rows if r == pattern or (start is not None and r.startswith(start))]
        if not some:
            sys.exit(f"--only: there is no row {pattern}; rows are: {', '.join(rows)}")
        found += some
    return found


def installed() -> str:
    """The frameworks of a report that names none."""
    missing = {name for name in _OPTIONAL if importlib.util.find_spec(name) is None}
    for name in sorted(missing):
        print(f"without {name}: not installed")
    return ",".join(name for name in _FRAMEWORKS if name not in missing)


def constants(threads: int) -> machine.Machine | None:
    """The machine's, printed; None where the program that measures them is not built."""
    path = machine.program()
    if path is None:
        print("no limits: build bench_machine for them (cmake --build --preset release)")
        return None
    found = machine.measured(path, threads)
    print(
        f"{threads} threads: {found.flops / 1e9:.0f} GFLOP/s, {found.bandwidth / 1e9:.1f} GB/s, "
        f"{found.gathers / 1e9:.2f} G gathers/s",
        flush=True,
    )
    return found


@contextlib.contextmanager
def progress(text: str) -> Iterator[None]:
    """What is being measured, on a terminal; gone when it is done."""
    if sys.stderr.isatty():
        print(text, end="", file=sys.stderr, flush=True)
    yield
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def session(options: argparse.Namespace, allocator: str, frameworks: str) -> Session:
    """What measures with one allocator."""
    inner = [
        f"--seconds={options.seconds}", f"--compile-budget={options.compile_budget}",
        f"--frameworks={frameworks}", f"--rows={options.rows}",
        *(["--gradients"] if options.gradients else []),
    ]  # fmt: skip
    return Session(allocator, options.threads, inner, options.row_limit)


def compared(
    options: argparse.Namespace, limits_of: machine.Machine | None
) -> list[dict[str, Any]]:
    """The rows, printed as they come."""
    allocators = list(ALLOCATORS) if options.allocator == "both" else [options.allocator]
    frameworks = options.frameworks or installed()
    allowance = Allowance(options.compile_total, options.compile_budget)
    rows: list[dict[str, Any]] = []
    with contextlib.ExitStack() as stack:
        sessions = {a: stack.enter_context(session(options, a, frameworks)) for a in allocators}
        works = sessions[allocators[0]].rows
        print(report.header(), flush=True)
        names = chosen(list(works), options.only)
        for k, name in enumerate(names):
            left_out = allowance.left_out()
            with progress(f"[{k + 1}/{len(names)}] {name}"):
                answers = report.asked(name, sessions, left_out)
            allowance.spend(answers)
            work = works[name]
            limit = limits.limit_ms(work, limits_of) if limits_of else None
            row = {**report.merged(name, limit, answers), "work": asdict(work)}
            row["errors"].update(left_out)
            if limits_of and "adjit" in row:
                row["reached"] = limits.reached(work, limits_of, row["adjit"]["minimum"])
            rows.append(row)
            print(report.lines(row), flush=True)
    return rows


def of_adjit(options: argparse.Namespace, table: Any) -> list[dict[str, Any]]:
    """The rows of --primal or --phrasings, printed by the report ``table`` as they come; with one
    allocator, glibc's if both are asked.
    """
    allocator = "default" if options.allocator == "both" else options.allocator
    rows = []
    with session(options, allocator, "adjit") as asked:
        print(table.header(), flush=True)
        names = chosen(list(asked.rows), options.only)
        for k, name in enumerate(names):
            with progress(f"[{k + 1}/{len(names)}] {name}"):
                answer = asked.ask(name)
            rows.append(table.row(name, answer))
            print(table.line(rows[-1]), flush=True)
    return rows


def print_growth(rows: list[dict[str, Any]]) -> None:
    """Exponents of adjit and of the best peer, against floating-point operations."""
    works = {r["workload"]: r["work"]["flops"] for r in rows}
    ours = {r["workload"]: r["adjit"]["minimum"] for r in rows if "adjit" in r}
    best = {r["workload"]: r["peers"][r["best_peer"]]["minimum"] for r in rows if r["peers"]}
    for who, times in (("adjit", ours), ("best peer", best)):
        if not times:
            continue
        found = report.exponents(times, works).items()
        print(f"{who}: time grows as work to the", ", ".join(f"{v:.2f} ({k})" for k, v in found))


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """All that --json holds, but for how long it took."""
    whole: dict[str, Any] = {"threads": options.threads, "gradients_alone": options.gradients}
    of_one = {"primal": primal_report, "phrasings": phrasing_report}
    if table := of_one.get(options.rows):
        whole["rows"] = of_adjit(options, table)
        print(table.text(whole["rows"]))
        return whole
    found = constants(options.threads)
    rows = compared(options, found)
    print(summary.text(rows))
    if options.rows == "growth":
        print_growth(rows)
    return {
        **whole, "machine": found and asdict(found), "rows": rows,
        "geometric_means": summary.means(rows),
    }  # fmt: skip


def on_gpu(options: argparse.Namespace) -> dict[str, Any]:
    """All of comparison/gpu; exits where there is no GPU."""
    from comparison.gpu import benchmark, card, driver
    from comparison.gpu.clock import Clock

    clock = Clock(60 * options.minutes)
    try:
        there = driver.Driver()
    except driver.NoGpuError as error:
        sys.exit(str(error))
    facts = there.facts()
    print(card.described(facts, driver.driver_version(), driver.ptxas()), flush=True)
    only = options.only.split(",") if options.only else None
    names = benchmark.taking_part(options.frameworks)
    found = benchmark.benchmark(there, clock, "gpu", only, names, options.seconds)
    return {"card": facts, **found}


def main() -> None:
    start = time.monotonic()
    options = arguments()
    if options.device == "cuda":
        whole = on_gpu(options)
    else:
        hold_to(options.threads)
        whole = measured(options)
    whole["seconds"] = time.monotonic() - start
    minutes, seconds = divmod(round(whole["seconds"]), 60)
    print(f"the run took {minutes} min {seconds} s")
    if options.json:
        options.json.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    if options.chart:
        what = "gradients" if options.gradients else "value and gradients"
        title = f"Best peer's time / adjit's, {options.threads} threads: {what}"
        options.chart.write_text(chart.svg(whole["rows"], title), encoding="utf-8")


if __name__ == "__main__":
    main()
