#!/usr/bin/env python3
"""What the first, the second and the thousandth call of a gradient wait for, beside the targets.

    python tools/bench/latency.py [--only cold,disk,chain,warm] [--repeats 3] [--json FILE]

cold    trace, derive, schedule and compile each listed row, nothing in a cache, in a process that
        has compiled something else
disk    the same from the disk cache, in such a process and as the first thing of a process
chain   first and later calls of 10,000 operations on 64 numbers one after the other, and how the
        first one grows with their number
warm    a call on 16 numbers: through the C interface, and from Python beside other frameworks

Every first call has a process of its own; the fastest of the repeats counts. Milliseconds, and
microseconds for warm calls. docs/performance/how-to-benchmark.md has a table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from comparison.environment import use_checkout

_ROOT = Path(__file__).parents[2]
_CHAIN = 10_000


@dataclass(frozen=True)
class Number:
    """One line of the table; no target where none was set."""

    name: str
    value: float
    unit: str
    target: float | None = None

    def line(self) -> str:
        target = "" if self.target is None else f"{self.target:g}"
        missed = self.target is not None and self.value > self.target
        return f"| {self.name} | {self.value:.3g} | {self.unit} | {target} |" + (" *" * missed)


# In processes of their own: each prints a number or a dictionary of them as JSON.


def _workload(row: str) -> Any:
    from comparison.workloads.catalogue import SETS

    return next(w for w in SETS["listed"]() if w.name == row)


def _gradient(workload: Any, inputs: list[Any]) -> Callable[..., Any]:
    """The gradients of a row for all its float inputs, as a user asks for them: the function takes
    the cotangent of the row's result, then its inputs."""
    import adjit as aj
    from comparison.workloads.workload import is_float

    def loss(cotangent: Any, *inputs: Any) -> Any:
        return aj.sum(workload.ours(*inputs) * cotangent)

    floats = [1 + k for k, x in enumerate(inputs) if is_float(x.dtype)]
    return aj.grad(loss, argnums=tuple(floats))


def _step(row: str) -> tuple[Callable[..., Any], list[Any]]:
    """The gradients of a row, and their arguments."""
    import adjit as aj
    import numpy as np

    workload = _workload(row)
    inputs = workload.draw()
    shape = np.shape(aj.jit(workload.ours)(*inputs))
    cotangent = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    return _gradient(workload, inputs), [cotangent, *inputs]


def _compile(f: Callable[..., Any], args: list[Any]) -> tuple[float, Any]:
    """Milliseconds from the function to code, and what was compiled."""
    import adjit as aj

    start = time.perf_counter()
    executable = aj.lower(f, *args).compile()
    return 1e3 * (time.perf_counter() - start), executable


def child_first(row: str, source: str, warm: str) -> float:
    """A row's first compilation, from ``source`` (miss or disk)."""
    f, args = _step(row)  # runs the forward alone: another computation
    if warm == "warm":
        _compile(*_step("tiny" if row != "tiny" else "softmax"))
    taken, executable = _compile(f, args)
    if executable.report["cache"] != source:
        raise SystemExit(f"{row}: came from {executable.report['cache']}, not from {source}")
    return taken


def child_import(row: str) -> float:
    """The first thing that a process does with adjit, from the disk cache."""
    import numpy as np

    workload = _workload(row)
    inputs = workload.draw()
    cotangent = np.load(os.environ["ADJIT_LATENCY_COTANGENT"])
    taken, executable = _compile(_gradient(workload, inputs), [cotangent, *inputs])
    if executable.report["cache"] != "disk":
        raise SystemExit(f"{row}: came from {executable.report['cache']}, not from disk")
    return taken


def chain(kind: str, operations: int) -> Callable[[Any], Any]:
    """So many operations one after the other: products and sums in turn, or hyperbolic tangents."""
    import adjit as aj

    def product(x: Any) -> Any:
        y = x
        for _ in range(operations // 2):
            y = y * x + 0.5
        return aj.sum(y)

    def tanh(x: Any) -> Any:
        y = x
        for _ in range(operations):
            y = aj.tanh(y)
        return aj.sum(y)

    return {"product": product, "tanh": tanh}[kind]


def child_chain(kind: str, operations: str) -> dict[str, float]:
    """Tracing, all of the first call, and a step."""
    import adjit as aj
    import numpy as np

    x = np.linspace(-0.5, 0.5, 64).astype(np.float32)
    aj.grad(chain("product", 4))(x)
    f = chain(kind, int(operations))
    step = aj.jit(aj.grad(f))
    start = time.perf_counter()
    step(x)
    first = 1e3 * (time.perf_counter() - start)
    times = []
    for _ in range(20):
        start = time.perf_counter()
        step(x)
        times.append(1e3 * (time.perf_counter() - start))
    report = aj.lower(aj.grad(f), x).compile().report
    return {"first": first, "trace": report["trace_ms"], "step": min(times)}


def child_warm() -> dict[str, float]:
    """Microseconds a call of the gradient of sin(x) x at 16 numbers, each framework in turn."""
    import adjit as aj
    import jax
    import jax.numpy as jnp
    import numpy as np
    import torch

    x, c = (np.linspace(0.1, k, 16).astype(np.float32) for k in (1, 2))

    def ours(x: Any, c: Any) -> Any:
        return aj.vjp(lambda x: aj.sin(x) * x, x)[1](c)

    pull = aj.jit(ours)
    out = np.empty_like(x)
    tx, tc = torch.tensor(x, requires_grad=True), torch.tensor(c)
    plain = torch.tensor(x)
    jx, jc = jnp.asarray(x), jnp.asarray(c)
    theirs = jax.jit(lambda x, c: jax.vjp(lambda x: jnp.sin(x) * x, x)[1](c))

    def eager() -> Any:
        return torch.autograd.grad(torch.sin(tx) * tx, tx, tc)

    calls: dict[str, Callable[[], Any]] = {
        "adjit, NumPy": lambda: pull(x, c),
        "adjit, NumPy, out=": lambda: pull(x, c, out=(out,)),
        "adjit, torch tensors": lambda: pull(plain, tc),
        "NumPy by hand": lambda: c * (np.cos(x) * x + np.sin(x)),
        "jax": lambda: theirs(jx, jc),
        "torch eager": eager,
    }
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(5):
        for name, call in calls.items():
            for _ in range(200):
                call()
            start = time.perf_counter()
            for _ in range(5000):
                call()
            best[name] = min(best[name], 1e6 * (time.perf_counter() - start) / 5000)
    return best


def _child(repeats: int, name: str, *arguments: str, **environment: str) -> Any:
    """The least of what the repeats print, each in a process of its own."""
    found = []
    for _ in range(repeats):
        run = subprocess.run(
            [sys.executable, __file__, "--child", name, *arguments],
            env={**os.environ, **environment}, stdout=subprocess.PIPE, check=True, text=True,
        )  # fmt: skip
        found.append(json.loads(run.stdout))
    if isinstance(found[0], dict):
        return {key: min(one[key] for one in found) for key in found[0]}
    return min(found)


# What the table says.


def cold(repeats: int) -> list[Number]:
    from comparison.workloads.listed import listed

    return [
        Number(f"cold, {w.name}", _child(repeats, "first", w.name, "miss", "warm",
                                         ADJIT_CACHE="off"),
               "ms", 200 if w.name == "lstm" else 50)
        for w in listed()
    ]  # fmt: skip


def disk(repeats: int) -> list[Number]:
    import numpy as np

    found = []
    with tempfile.TemporaryDirectory() as directory:
        cotangent = Path(directory) / "cotangent.npy"
        shared = {
            "ADJIT_CACHE": "rw", "ADJIT_CACHE_DIR": directory,
            "ADJIT_LATENCY_COTANGENT": str(cotangent),
        }  # fmt: skip
        for row in ("conv3x3", "lstm"):
            _child(1, "first", row, "miss", "warm", **shared)
            np.save(cotangent, _step(row)[1][0])
            warm = _child(repeats, "first", row, "disk", "warm", **shared)
            found.append(Number(f"from disk, {row}", warm, "ms", 2))
            after_import = _child(repeats, "import", row, **shared)
            found.append(Number(f"from disk, {row}, first after import", after_import, "ms", 6))
    return found


def chains(repeats: int) -> list[Number]:
    found = []
    for kind in ("product", "tanh"):
        for operations in (_CHAIN // 8, _CHAIN // 4, _CHAIN // 2, _CHAIN):
            times = _child(repeats, "chain", kind, str(operations), ADJIT_CACHE="off")
            name = f"{operations} operations ({kind})"
            whole = operations == _CHAIN
            found += [
                Number(f"{name}, first call", times["first"], "ms", 1000 if whole else None),
                Number(f"{name}, of it tracing", times["trace"], "ms"),
                Number(f"{name}, a step", times["step"], "ms", 2 if whole else None),
            ]
    return found


def warm(repeats: int) -> list[Number]:
    program = _ROOT / "build" / "release" / "bench_c_api"
    run = subprocess.run(
        [program, "--benchmark_format=json", f"--benchmark_repetitions={repeats}"],
        stdout=subprocess.PIPE, check=True, text=True,
    )  # fmt: skip
    best: dict[str, float] = {}
    for entry in json.loads(run.stdout)["benchmarks"]:
        if entry["run_type"] == "iteration":
            name = entry["run_name"]
            best[name] = min(best.get(name, float("inf")), entry["cpu_time"] / 1e3)
    found = [
        Number("C, 16 numbers, arrays checked", best["CheckedCall/16"], "us", 0.5),
        Number("C, 16 numbers, addresses alone", best["RawCall/16"], "us", 0.5),
    ]
    for name, value in _child(repeats, "warm").items():
        found.append(
            Number(f"16 numbers, {name}", value, "us", 4 if name == "adjit, NumPy" else None)
        )
    return found


_PARTS = {"cold": cold, "disk": disk, "chain": chains, "warm": warm}
_CHILDREN = {
    "first": child_first, "import": child_import, "chain": child_chain, "warm": child_warm,
}  # fmt: skip


def main() -> None:
    use_checkout()
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(_CHILDREN[sys.argv[2]](*sys.argv[3:])))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(_PARTS), help="parts, separated by commas")
    parser.add_argument("--repeats", type=int, default=3, help="processes a number")
    parser.add_argument("--json", type=Path, help="file for all numbers")
    arguments = parser.parse_args()
    parts = arguments.only.split(",")
    if unknown := [part for part in parts if part not in _PARTS]:
        parser.error(f"--only {','.join(unknown)}: parts are {', '.join(_PARTS)}")
    if arguments.repeats < 1:
        parser.error(f"--repeats {arguments.repeats}: at least 1")
    numbers: list[Number] = []
    print("| what | measured | unit | at most |\n|---|---|---|---|")
    for part in parts:
        for number in _PARTS[part](arguments.repeats):
            print(number.line(), flush=True)
            numbers.append(number)
    missed = [n.name for n in numbers if n.target is not None and n.value > n.target]
    print("\nover the target: " + (", ".join(missed) or "none"))
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(n) for n in numbers], indent=1))


if __name__ == "__main__":
    main()
