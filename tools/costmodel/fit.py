"""Training: samples in, weights and a report of their quality out. Gradients are adjit's own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import adjit as aj
import numpy as np

from . import judge, model, samples
from .model import Batch, Parameters

STEPS = 1500
HIDDEN = (32, 16)
FORMAT = 2  # as kFormat of autosched/cpu/cost/network.cpp
_RATE = 4e-3
_DECAY = 3e-3  # of weights, for each unit of the loss
_MODEST = 0.02  # of corrections, which should be as small as will do
_ALIKE = 3.0  # what telling schedules of one program apart counts, against the level
_SHORT = 2.0  # microseconds at which a measurement counts half
_IGNORED = ("tasks",)  # on one core any number of them takes the same time
_HELD_OUT = (0, 5)  # last digits of the programs that training does not see


def held_out(program: int) -> bool:
    """Whether a program is for the report only."""
    return program % 10 in _HELD_OUT


def normalisation(inputs: Any) -> tuple[Any, Any]:
    """Mean and one over the standard deviation of each input; 0 for one that never changes."""
    mean, deviation = inputs.mean(0), inputs.std(0)
    scale = np.where(deviation > 1e-6, 1 / np.maximum(deviation, 1e-6), 0.0)
    return mean, scale


def ignored(scale: Any, names: list[str]) -> Any:
    """The scale with 0 for inputs that would tell schedules apart which are the same code."""
    return np.where(np.isin(names, _IGNORED), 0.0, scale)


def normalised(inputs: Any, mean: Any, scale: Any) -> Any:
    """As autosched/cpu/cost/network.cpp does."""
    return np.clip((inputs - mean) * scale, -model.FARTHEST, model.FARTHEST).astype(np.float32)


def batch_of(found: list[dict[str, Any]]) -> Batch:
    """Samples as arrays; inputs are not normalised yet. Programs stay together, in their order."""
    kernels = [
        (s, k, us) for s, x in enumerate(found) for k, us in zip(x["kernels"], x["us"], strict=True)
    ]
    nests = [(k, nest) for k, (_, kernel, _) in enumerate(kernels) for nest in kernel["nests"]]
    programs = samples.default_numbers(found)
    default = np.array([programs[s["program"], s["cores"]] for s in found])
    floats = {
        name: np.array([k[name] for _, k, _ in kernels], np.float32)
        for name in ("calls", "cores", "parallel", "tasks")
    }
    return Batch(
        inputs=np.array([nest["inputs"] for _, nest in nests]),
        analytic=np.array([nest["analytic"] for _, nest in nests], np.float32),
        kernel=np.array([k for k, _ in nests]),
        schedule=np.array([s for s, _, _ in kernels]),
        calls=floats["calls"], cores=floats["cores"], parallel=floats["parallel"],
        tasks=floats["tasks"] / floats["cores"],
        kernel_us=np.array([us for _, _, us in kernels], np.float32),
        schedule_us=np.array([sum(s["us"]) for s in found], np.float32),
        program=np.unique(default, return_inverse=True)[1],
        default=default,
        machine=found[0]["machine"],
    )  # fmt: skip


def usable(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of programs whose default schedule was measured and takes a microsecond at least."""
    default = samples.default_numbers(found)
    us = {key: sum(found[number]["us"]) for key, number in default.items()}
    return [s for s in found if us.get((s["program"], s["cores"]), 0) >= 1]


def _loss(batch: Batch) -> Any:
    """Of parameters: squared errors of logarithms, of kernels, schedules, and between schedules."""
    kernel_weight = batch.kernel_us / (batch.kernel_us + _SHORT)
    weight = batch.schedule_us / (batch.schedule_us + _SHORT)
    count = np.bincount(batch.program).astype(np.float32)
    kernel_log = np.log(np.maximum(batch.kernel_us, 1e-2))
    schedule_log = np.log(batch.schedule_us)

    def loss(*parameters: Any) -> Any:
        corrected = model.corrections(list(parameters), batch.inputs)
        kernels = model.kernel_microseconds(list(parameters), corrected, batch)
        off = aj.log(model.schedule_microseconds(kernels, batch)) - schedule_log
        mean = aj.index_add(aj.zeros(count.shape, dtype="float32"), batch.program, off, 0) / count
        apart = off - aj.take(mean, batch.program, axis=0)
        against_default = off - aj.take(off, batch.default, axis=0)
        total = aj.mean(kernel_weight * aj.square(aj.log(kernels) - kernel_log))
        total = total + aj.mean(weight * aj.square(off))
        total = total + _ALIKE * aj.mean(weight * (aj.square(apart) + aj.square(against_default)))
        total = total + _MODEST * aj.mean(aj.square(corrected))
        for values in parameters[:-1:2]:
            total = total + _DECAY * aj.sum(aj.square(values))
        return total

    return loss


def train(batch: Batch, steps: int, seed: int = 0) -> Parameters:
    """Adam over all samples at once; the rate falls to 0. Deterministic."""
    parameters = model.start(batch.inputs.shape[1], HIDDEN, np.random.default_rng(seed))
    step = aj.jit(aj.value_and_grad(_loss(batch), argnums=tuple(range(len(parameters)))))
    first = [np.zeros_like(p) for p in parameters]
    second = [np.zeros_like(p) for p in parameters]
    for k in range(steps):
        value, gradients = step(*parameters)
        rate = _RATE * 0.5 * (1 + np.cos(np.pi * k / steps))
        for i, g in enumerate(np.asarray(x) for x in gradients):
            first[i] = 0.9 * first[i] + 0.1 * g
            second[i] = 0.99 * second[i] + 0.01 * g * g
            mean, square = first[i] / (1 - 0.9 ** (k + 1)), second[i] / (1 - 0.99 ** (k + 1))
            parameters[i] = (parameters[i] - rate * mean / (np.sqrt(square) + 1e-8)).astype(
                np.float32
            )
        if k % 250 == 0 or k + 1 == steps:
            print(f"step {k:5}: loss {float(value):.4f}", flush=True)
    return parameters


def network_json(
    parameters: Parameters, mean: Any, scale: Any, vector_bits: int, provenance: dict[str, Any]
) -> dict[str, Any]:
    """One network of autosched/cpu/cost/weights.json."""

    def short(values: Any) -> Any:
        return [short(v) for v in values] if np.ndim(values) else float(f"{float(values):.6g}")

    entry = [1 + x if x >= 0 else 1 / (1 - x) for x in (float(v) for v in parameters[-1])]
    layers = [
        {"weights": short(w), "bias": short(b)}
        for w, b in zip(parameters[:-1:2], parameters[1:-1:2], strict=True)
    ]
    return {
        "vector_bits": vector_bits, "mean": short(mean), "scale": short(scale),
        "layers": layers, "entry": dict(zip(("call", "pool", "task"), short(entry), strict=True)),
        "provenance": provenance,
    }  # fmt: skip


def with_network(
    path: Path, names: list[str], made: dict[str, Any]
) -> tuple[dict[str, Any], set[str]]:
    """The file with this network in place of one for its width, and the widths that it has.

    Networks of a file of another format, or for other inputs, are dropped.
    """
    file = json.loads(path.read_text()) if path.exists() else {}
    others = file["networks"] if (file.get("format"), file.get("inputs")) == (FORMAT, names) else []
    networks = [n for n in others if n["vector_bits"] != made["vector_bits"]] + [made]
    networks.sort(key=lambda network: int(network["vector_bits"]))
    widths = {str(network["vector_bits"]) for network in networks}
    return {"format": FORMAT, "inputs": names, "networks": networks}, widths


def exact_corrections(weights: dict[str, Any], inputs: Any) -> Any:
    """(nests, TERMS + 1) factors of raw inputs by a network, in double precision."""
    x = (np.asarray(inputs) - weights["mean"]) * weights["scale"]
    x = np.clip(x, -model.FARTHEST, model.FARTHEST)
    for k, layer in enumerate(weights["layers"]):
        x = x @ np.array(layer["weights"]).T + np.array(layer["bias"])
        if k + 1 < len(weights["layers"]):
            x = np.maximum(x, model.LEAK * x)
    return np.where(x >= 0, 1 + x, 1 / (1 - np.minimum(x, 0)))


def cases(weights: dict[str, Any], found: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """Inputs and corrections of nests spread over the samples: what the C++ test compares."""
    nests = [nest["inputs"] for s in found for kernel in s["kernels"] for nest in kernel["nests"]]
    chosen = nests[:: max(1, len(nests) // count)]
    return [
        {"inputs": inputs, "corrections": [float(x) for x in corrections]}
        for inputs, corrections in zip(chosen, exact_corrections(weights, chosen), strict=True)
    ]


def input_names() -> list[str]:
    """Of this library."""
    return list(aj.lower(lambda x: x + 1, np.zeros(4, np.float32)).cost["inputs"])


def run(files: list[Path], weights: Path, check: Path | None, steps: int) -> None:
    """Trains, prints the report, writes the weights and cases that check them."""
    found = usable(samples.read(files))
    found.sort(key=lambda s: (s["cores"], s["program"]))
    bits = sorted({int(s["machine"]["vector_bits"]) for s in found})
    if len(bits) != 1:
        raise SystemExit(f"the samples are of vectors of {bits} bits: train on those of one width")
    parts = {
        name: batch_of([s for s in found if held_out(s["program"]) == test])
        for name, test in (("training", False), ("held out", True))
    }
    mean, scale = normalisation(parts["training"].inputs)
    scale = ignored(scale, input_names())
    parts = {
        name: replace(b, inputs=normalised(b.inputs, mean, scale)) for name, b in parts.items()
    }
    parameters = train(parts["training"], steps)
    report = {}
    for name, batch in parts.items():
        for kind, of in (("analytic", None), ("learned", parameters)):
            report[f"{name}, {kind}"] = judge.quality(batch, *model.predicted(of, batch))
            print(f"{name + ', ' + kind:20}", judge.text(report[f"{name}, {kind}"]))
    judge.print_margins(parts["held out"], model.predicted(parameters, parts["held out"])[1])
    provenance = {
        "samples": len(found), "programs": len({s["program"] for s in found}),
        "steps": steps, "report": report,
    }  # fmt: skip
    made = network_json(parameters, mean, scale, bits[0], provenance)
    file, widths = with_network(weights, input_names(), made)
    weights.write_text(json.dumps(file, separators=(",", ":")).replace("],[", "],\n[") + "\n")
    if check is not None:
        checks = json.loads(check.read_text()) if check.exists() else {}
        checks = {width: kept for width, kept in checks.items() if width in widths}
        checks[str(bits[0])] = cases(made, found, 40)
        check.write_text(json.dumps(checks, separators=(",", ":")) + "\n")
