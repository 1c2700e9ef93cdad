"""aj.export: libraries that are loaded without adjit."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import adjit as aj
import numpy as np
import pytest
import torch


def run(library: Path, function: str, inputs: list[Any], outputs: list[Any]) -> int:
    """Calls an exported function on NumPy arrays; its status."""
    call = getattr(ctypes.CDLL(str(library)), function)
    call.restype = ctypes.c_int
    return int(call(*[ctypes.c_void_p(a.ctypes.data) for a in [*inputs, *outputs]]))


def message(library: Path, function: str, status: int) -> str:
    call = getattr(ctypes.CDLL(str(library)), f"{function}_message")
    call.restype = ctypes.c_char_p
    return call(status).decode()


def test_forward_and_backward(tmp_path: Path, rng: np.random.Generator) -> None:
    def layer(x: Any, w: Any, b: Any) -> Any:
        y = aj.tanh(x @ w + b)
        return y, aj.sum(y * y, axis=1)

    x, w, b = (rng.standard_normal(s) for s in ((5, 7), (7, 3), (3,)))
    library = aj.export(layer, x, w, b, dir=tmp_path / "out")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "layer.c", "layer.h", "layer.o", "liblayer.so",
    ]  # fmt: skip
    y, s = np.empty((5, 3)), np.empty(5)
    assert run(library, "layer", [x, w, b], [y, s]) == 0
    np.testing.assert_allclose(y, np.tanh(x @ w + b), rtol=1e-12)
    np.testing.assert_allclose(s, (y * y).sum(1), rtol=1e-12)

    cotangents = [rng.standard_normal(y.shape), rng.standard_normal(s.shape)]
    gradients = [np.empty_like(a) for a in (x, w, b)]
    assert run(library, "layer_backward", [x, w, b, *cotangents], gradients) == 0
    _, pullback = aj.vjp(layer, x, w, b)
    for ours, wanted in zip(gradients, pullback(tuple(cotangents)), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-12, atol=1e-14)


def test_chains(tmp_path: Path, rng: np.random.Generator) -> None:
    """Heads one after the other: what passes between kernels has room for one of them only."""
    q, k, v = (rng.standard_normal((16, 256, 8), dtype="f4") for _ in range(3))
    function = aj.nn.scaled_dot_product_attention
    executable = aj.lower(function, q, k, v).compile()
    assert executable.report["workspace_bytes"] < 16 * 256 * 256 * 4
    out = np.empty_like(q)
    library = aj.export(function, q, k, v, dir=tmp_path, name="attend")
    assert run(library, "attend", [q, k, v], [out]) == 0
    np.testing.assert_array_equal(out, executable(q, k, v))
    weights = torch.softmax(torch.tensor(q @ k.transpose(0, 2, 1)) / 8**0.5, -1).numpy()
    np.testing.assert_allclose(out, weights @ v, rtol=2e-5, atol=2e-6)


def test_scans_loops_constants_and_library_functions(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    table = [0.5, 1.5, 2.5, 3.5]

    def series(c: Any, xs: Any) -> Any:
        weights = aj.stack([aj.full((), t, dtype="float64") for t in table])

        def step(carry: Any, x: Any) -> Any:
            new = aj.sin(carry) * x + carry * weights
            return new, aj.sum(new)

        last, ys = aj.scan(step, c, xs)
        return aj.fmod(last, 1.5), ys[::-1]

    c, xs = rng.standard_normal(4), rng.standard_normal((6, 4))
    library = aj.export(series, c, xs, dir=tmp_path)
    last, ys = np.empty(4), np.empty(6)
    assert run(library, "series", [c, xs], [last, ys]) == 0
    carry, sums = c, []
    for x in xs:
        carry = np.sin(carry) * x + carry * table
        sums.append(carry.sum())
    np.testing.assert_allclose(last, np.fmod(carry, 1.5), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ys, sums[::-1], rtol=1e-9)
    seeds, gradients = [np.ones(4), np.ones(6)], [np.empty(4), np.empty((6, 4))]
    assert run(library, "series_backward", [c, xs, *seeds], gradients) == 0
    _, pullback = aj.vjp(series, c, xs)
    for ours, wanted in zip(gradients, pullback(tuple(seeds)), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-9, atol=1e-12)

    def halvings(n: Any) -> Any:
        return aj.while_loop(lambda s: s[0] > 1, lambda s: (s[0] // 2, s[1] + 1), (n, 0 * n))[1]

    n, out = np.array(1000), np.empty((), np.int64)
    assert run(aj.export(halvings, n, dir=tmp_path, backward=False), "halvings", [n], [out]) == 0
    assert out == 9


def test_indices_out_of_range_are_a_status(tmp_path: Path) -> None:
    def rows(x: Any, i: Any) -> Any:
        return aj.take(x, i, axis=0)

    x, i, out = np.arange(6.0).reshape(3, 2), np.array([2, 0]), np.empty((2, 2))
    library = aj.export(rows, x, i, dir=tmp_path)
    assert run(library, "rows", [x, i], [out]) == 0
    np.testing.assert_array_equal(out, x[i])
    i[1] = 3
    status = run(library, "rows", [x, i], [out])
    assert status >= 2
    assert "index out of range" in message(library, "rows", status)
    assert message(library, "rows", 0) == ""


def test_two_objects_in_one_c_program(tmp_path: Path) -> None:
    for name, factor in (("twice", 2.0), ("thrice", 3.0)):
        aj.export(
            lambda x, factor=factor: aj.sin(x) * factor, aj.ShapeDtype((3,), np.float32),
            dir=tmp_path, name=name,
        )  # fmt: skip
    (tmp_path / "main.c").write_text(
        '#include "twice.h"\n#include "thrice.h"\n'
        "int main(void) {\n  const float x[3] = {1, 2, 3};\n  float a[3], b[3];\n"
        "  if (twice(x, a) || thrice(x, b)) return 1;\n"
        "  for (int k = 0; k < 3; ++k)\n"
        "    if (b[k] * 2 - a[k] * 3 > 1e-5f || b[k] * 2 - a[k] * 3 < -1e-5f || a[k] == 0)"
        " return 2;\n  return 0;\n}\n"
    )
    program = str(tmp_path / "main")
    objects = [str(tmp_path / f) for f in ("main.c", "twice.o", "thrice.o")]
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    subprocess.run(["cc", *flags, *objects, "-lm", "-o", program], check=True)
    subprocess.run([program], check=True)


def test_refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x, outside = np.ones(3), np.ones(3)
    with pytest.raises(aj.Error, match="captures 1 arrays"):
        aj.export(lambda x: x + outside, x, dir=tmp_path, name="f")
    for name in ("no-name", "", "int"):
        with pytest.raises(aj.Error, match="no C identifier"):
            aj.export(lambda x: x + 1, x, dir=tmp_path, name=name)
    with pytest.raises(aj.CompileError, match="digamma"):
        aj.export(lambda x: aj.digamma(x), x, dir=tmp_path, name="f")
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(aj.CompileError, match="no-such-compiler.*set CC"):
        aj.export(lambda x: x + 1, x, dir=tmp_path, name="f")
    monkeypatch.setenv("CC", "false")
    with pytest.raises(aj.CompileError, match="'false' failed"):
        aj.export(lambda x: x + 1, x, dir=tmp_path, name="f")
    (tmp_path / "file").write_text("")
    with pytest.raises(aj.Error, match="file"):
        aj.export(lambda x: x + 1, x, dir=tmp_path / "file", name="f")
