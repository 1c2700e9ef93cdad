"""tools/train-cost-model: random programs, samples, the trainer's model against the library's."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import adjit as aj
import numpy as np
import pytest

_ROOT = Path(__file__).parents[3]
_SAMPLE = Path(__file__).parent / "cost_samples.jsonl"


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a part of the trainer by its name."""
    monkeypatch.syspath_prepend(str(_ROOT / "tools"))
    return lambda name: importlib.import_module(f"costmodel.{name}")


@pytest.fixture
def samples(part: Any) -> Any:
    """Measured schedules of a few random programs."""
    return part("fit").usable(part("samples").read([_SAMPLE]))


def batch_of(part: Any, samples: Any) -> Any:
    """The samples as arrays, with their own normalisation."""
    fit = part("fit")
    batch = fit.batch_of(samples)
    return replace(batch, inputs=fit.normalised(batch.inputs, *fit.normalisation(batch.inputs)))


def test_programs_repeat_themselves_and_run(part: Any) -> None:
    programs = part("programs")
    for seed in (2, 3, 13):
        one, again = programs.draw(seed), programs.draw(seed)
        assert one.kind == again.kind
        for a, b in zip(one.arguments, again.arguments, strict=True):
            np.testing.assert_array_equal(a, b)
        results = aj.jit(one.run)(*one.arguments)
        for result in results if isinstance(results, (tuple, list)) else [results]:
            assert np.isfinite(np.asarray(result)).all()


def test_a_program_is_drawn_and_measured(part: Any) -> None:
    drawn = list(part("samples").drawn(3, 3))
    found = list(part("samples").measured(drawn))
    assert [s["schedule"] for s in found] == [s["schedule"] for s in drawn]
    assert found[0]["changes"] == "" and all(s["changes"] for s in found[1:])
    for sample in found:
        assert len(sample["us"]) == len(sample["kernels"]) and min(sample["us"]) > 0


# What the trainer computes from samples is what the library predicts: sides, sums over nests and
# kernels, calls of scans' steps, entries.
def test_the_trainers_model_is_the_librarys(part: Any) -> None:
    fit, model = part("fit"), part("model")
    weights = json.loads((_ROOT / "autosched" / "cpu" / "cost" / "weights.json").read_text())
    found: list[dict[str, Any]] = []
    expected: list[float] = []
    names: list[str] = []
    for seed in (1, 8, 13, 36):
        for sample in part("samples").drawn(seed, 2):
            found.append({**sample, "us": [1.0] * len(sample["kernels"])})
    programs = {s["program"]: part("programs").draw(s["program"]) for s in found}
    for sample in found:
        program = programs[sample["program"]]
        low = aj.lower(program.run, *program.arguments)
        cost = low.with_schedule(json.dumps(sample["schedule"])).cost
        expected.append(cost["microseconds"])
        names = cost["inputs"]
    assert names == weights["inputs"]
    batch = fit.batch_of(found)
    bits = batch.machine["vector_bits"]
    network = next((n for n in weights["networks"] if n["vector_bits"] == bits), None)
    parameters: list[Any] = []
    if network:
        mean, scale = np.array(network["mean"]), np.array(network["scale"])
        batch = replace(batch, inputs=fit.normalised(batch.inputs, mean, scale))
        for layer in network["layers"]:
            parameters += [np.array(layer[k], np.float32) for k in ("weights", "bias")]
        entry = [network["entry"][k] for k in ("call", "pool", "task")]
        parameters.append(np.array([x - 1 if x >= 1 else 1 - 1 / x for x in entry], np.float32))
    _, schedules = model.predicted(parameters or None, batch)
    np.testing.assert_allclose(schedules, expected, rtol=1e-3)


def test_gradients_are_those_of_differences(part: Any, samples: Any) -> None:
    fit, model = part("fit"), part("model")
    batch = batch_of(part, samples[:40])
    rng = np.random.default_rng(0)
    parameters = model.start(batch.inputs.shape[1], (4,), rng)
    parameters = [(p + 0.05 * rng.standard_normal(p.shape)).astype(np.float32) for p in parameters]
    step = aj.jit(aj.value_and_grad(fit._loss(batch), argnums=tuple(range(len(parameters)))))
    _, gradients = step(*parameters)
    for k in range(len(parameters)):
        direction = rng.standard_normal(parameters[k].shape).astype(np.float32)
        values = []
        for sign in (-1, 1):
            moved = list(parameters)
            moved[k] = parameters[k] + np.float32(sign * 2e-3) * direction
            values.append(float(step(*moved)[0]))
        expected = (values[1] - values[0]) / 4e-3
        found = float(np.sum(np.asarray(gradients[k]) * direction))
        assert found == pytest.approx(expected, rel=0.05, abs=2e-3)


def test_training_lowers_the_loss_and_repeats_itself(part: Any, samples: Any) -> None:
    fit, model, judge = part("fit"), part("model"), part("judge")
    batch = batch_of(part, samples)
    parameters = fit.train(batch, 60)
    again = fit.train(batch, 60)
    for a, b in zip(parameters, again, strict=True):
        np.testing.assert_array_equal(a, b)
    before, after = (judge.quality(batch, *model.predicted(p, batch)) for p in (None, parameters))
    assert after["r2_kernels"] > before["r2_kernels"]
    assert after["rank"] > before["rank"]


def test_choices_need_their_margin(part: Any, samples: Any) -> None:
    judge, batch = part("judge"), batch_of(part, samples)
    assert (judge.choices(batch, batch.schedule_us, 0) <= 1).all()
    assert (judge.choices(batch, batch.schedule_us, 1e9) == 1).all()


def test_weights_are_written_and_checked(part: Any, tmp_path: Path) -> None:
    del part
    weights, check = tmp_path / "weights.json", tmp_path / "check.json"
    run = subprocess.run(
        [sys.executable, _ROOT / "tools" / "train-cost-model", "fit", _SAMPLE, "--steps", "5",
         "--weights", weights, "--check", check],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "held out, learned" in run.stdout
    made = json.loads(weights.read_text())
    assert made["format"] == 2
    (network,) = made["networks"]
    assert network["vector_bits"] == 512 and len(network["layers"]) == 3
    assert network["provenance"]["report"]["held out, learned"]["r2_kernels"] < 1
    assert len(json.loads(check.read_text())["512"]) > 20


def test_networks_of_other_widths_stay(part: Any, tmp_path: Path) -> None:
    fit = part("fit")
    path, names = tmp_path / "weights.json", ["a", "b"]
    for network in ({"vector_bits": 512}, {"vector_bits": 256, "mean": 1}, {"vector_bits": 512}):
        file, widths = fit.with_network(path, names, network)
        path.write_text(json.dumps(file))
    assert file["networks"] == [{"vector_bits": 256, "mean": 1}, {"vector_bits": 512}]
    assert widths == {"256", "512"}
    file, widths = fit.with_network(path, ["a", "c"], {"vector_bits": 256})
    assert file["networks"] == [{"vector_bits": 256}], "the others were for other inputs"
    assert widths == {"256"}


def test_samples_of_one_target_only(part: Any, tmp_path: Path) -> None:
    mixed = tmp_path / "mixed.jsonl"
    lines = _SAMPLE.read_text().splitlines()
    lines[0] = lines[0].replace('"vector_bits":512', '"vector_bits":256')
    mixed.write_text("\n".join(lines) + "\n")
    with pytest.raises(SystemExit, match=r"\[256, 512\] bits"):
        part("fit").run([mixed], tmp_path / "weights.json", None, 1)


def test_shipped_weights_say_how_good_they_are() -> None:
    for network in json.loads((_ROOT / "autosched" / "cpu" / "cost" / "weights.json").read_text())[
        "networks"
    ]:
        report = network["provenance"]["report"]
        assert (
            report["held out, learned"]["r2_kernels"] > report["held out, analytic"]["r2_kernels"]
        )
        assert report["held out, learned"]["rank"] > report["held out, analytic"]["rank"]
