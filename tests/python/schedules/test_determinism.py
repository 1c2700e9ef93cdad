"""Derived text, generated code and cache keys do not depend on the process."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROGRAM = """
import json
import numpy as np
import adjit as aj

def conv(x, w):
    return aj.sum(aj.nn.relu(aj.nn.conv2d(x, w, stride=2, padding=1)) ** 2)

def attention(q, k, v):
    return aj.sum(aj.nn.scaled_dot_product_attention(q, k, v) ** 2)

def gathered(table, index):
    return aj.sum(aj.sin(table[index]) * aj.prod(table))

def scanned(h, xs):
    carry, ys = aj.scan(lambda c, x: (aj.tanh(c + x), c * x), h, xs)
    return aj.sum(carry) + aj.sum(ys)

f32 = lambda *shape: np.ones(shape, np.float32)
cases = {
    "conv": (aj.grad(conv, argnums=(0, 1)), f32(1, 3, 8, 8), f32(4, 3, 3, 3)),
    "attention": (aj.grad(attention, argnums=(0, 1, 2)), f32(2, 6, 4), f32(2, 6, 4), f32(2, 6, 4)),
    "gathered": (aj.grad(gathered), f32(5), np.array([0, 3, 3])),
    "scanned": (aj.grad(scanned, argnums=(0, 1)), f32(3), f32(7, 3)),
    "second": (aj.grad(lambda x: aj.sum(aj.grad(lambda y: aj.sum(aj.max(y, axis=0)) ** 3)(x))),
               f32(4, 4)),
}
out = {}
for name, (f, *args) in cases.items():
    low = aj.lower(f, *args)
    exe = low.compile()
    exe(*args)
    out[name] = [low.text, low.schedule_json, exe.llvm, exe.cache]
print(json.dumps(out))
"""


def run(python: Callable[..., Any], seed: str, directory: Path) -> Any:
    directory.mkdir(mode=0o700, exist_ok=True)
    done = python(PROGRAM, PYTHONHASHSEED=seed, ADJIT_CACHE="rw", ADJIT_CACHE_DIR=str(directory))
    return json.loads(done.stdout.splitlines()[-1])


def test_text_schedule_code_and_keys_agree(python: Callable[..., Any], tmp_path: Path) -> None:
    first = run(python, "1", tmp_path / "first")
    second = run(python, "4242", tmp_path / "second")
    for name, (text, schedule, llvm, cached) in first.items():
        assert cached == "miss"
        assert second[name][0] == text, name
        assert second[name][1] == schedule, name
        assert second[name][2] == llvm, name
    names = {p.name for p in (tmp_path / "first").rglob("*") if p.is_file()}
    assert names == {p.name for p in (tmp_path / "second").rglob("*") if p.is_file()}
    assert names


def test_another_process_finds_what_one_has_stored(
    python: Callable[..., Any], tmp_path: Path
) -> None:
    run(python, "1", tmp_path / "cache")
    again = run(python, "7", tmp_path / "cache")
    assert {name: values[3] for name, values in again.items()} == dict.fromkeys(again, "disk")
