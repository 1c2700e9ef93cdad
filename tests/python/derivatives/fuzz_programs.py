"""Random programs as Python source, for adjit, PyTorch and JAX alike.

A program is a list of lines ``v7 = index_add(v3, I, v3)`` over tensors of rank 1 and 2 with drawn
values. A library is a namespace that gives these names a meaning. ``shrink`` leaves out lines (a
later line then reads an earlier tensor of the same shape) as long as the program fails.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

Shape = tuple[int, ...]


@dataclass
class Line:
    name: str
    source: str  # with {a}, {b}: the operands
    operands: list[str]
    shape: Shape

    def text(self) -> str:
        reads = dict(zip("abc", self.operands, strict=False))
        return f"{self.name} = {self.source.format(**reads)}"


@dataclass
class Program:
    inputs: dict[str, np.ndarray]  # float64
    constants: dict[str, np.ndarray]  # integers and bools
    lines: list[Line] = field(default_factory=list)

    def source(self) -> str:
        names = ", ".join(self.inputs)
        body = "".join(f"    {line.text()}\n" for line in self.lines)
        read = {name for line in self.lines for name in line.operands}
        ends = [line.name for line in self.lines if line.name not in read] or list(self.inputs)
        return f"def f({names}):\n{body}    return {' + '.join(f'total({v})' for v in ends)}\n"

    def function(self, library: dict[str, Any]) -> Callable[..., Any]:
        known = {**library, **{k: library["constant"](v) for k, v in self.constants.items()}}
        exec(self.source(), known)
        function: Callable[..., Any] = known["f"]
        return function

    def test(self) -> str:
        """Source to paste into a test."""
        values = {**self.inputs, **self.constants}
        arrays = "".join(f"{k} = np.array({v.tolist()}, np.{v.dtype})\n" for k, v in values.items())
        return arrays + self.source()


# One row a kind of line: source, and the result's shape from those of the operands (None: does not
# fit). Names are what libraries below define; {n} is the number of rows, {i} a drawn integer.
def _same(*shapes: Shape) -> Shape | None:
    return shapes[0] if all(s == shapes[0] for s in shapes) else None


def _rows(*shapes: Shape) -> Shape | None:
    return shapes[0] if shapes[0] and shapes[0][0] == 5 and _same(*shapes) else None


# Rows in which no two elements are the same sum in two orders, as those of a vector beside its flip
# are: rounding would say which is the largest.
def _matrices(*shapes: Shape) -> Shape | None:
    return shapes[0] if len(shapes[0]) == 2 and _same(*shapes) else None


def _square(a: Shape) -> Shape | None:
    return a if len(a) == 2 and a[0] == a[1] else None


ROWS: list[tuple[str, Callable[..., Shape | None]]] = [
    *((f"{name}({{a}})", _same) for name in ("sin", "cos", "tanh", "exp_small", "sigmoid")),
    ("{a} + {b}", _same),
    ("{a} - {b}", _same),
    ("{a} * {b}", _same),
    ("{a} / (1.5 + {b} * {b})", _same),
    ("maximum({a}, {b})", _same),
    ("where({a} > 0.1, {a}, {b})", _same),
    ("{a} * 0.5 + 1", _same),
    ("flip({a})", lambda a: a if a else None),
    ("cumsum({a})", lambda a: a if a else None),
    ("cumsum({a}[P]) + {a}", _rows),
    ("{a}[I]", _rows),
    ("{a}[P] + {a}", _rows),
    ("{a} + {a}[I]", _rows),
    ("index_add({a}, I, {a})", _rows),
    ("index_add({a}, I, {b})", _rows),
    ("index_add({a}, P, {a}[I])", _rows),
    ("{a}[clipped({a}, -1)] - {a}", _rows),
    ("{a}[clipped({a}, 2)]", _rows),
    ("{a} * where(mask, 1.5, {a})", lambda a: a if a == (5,) else None),
    ("where(mask, {a}, 0.25)", lambda a: a if a == (5,) else None),
    ("{a}[1:4]", lambda a: (3, *a[1:]) if a and a[0] == 5 else None),
    ("{a}[::2]", lambda a: (3, *a[1:]) if a and a[0] == 5 else None),
    ("{a}[::2] + {a}[1:4]", lambda a: (3, *a[1:]) if a and a[0] == 5 else None),
    ("widened({a})", lambda a: (5, *a[1:]) if a and a[0] == 3 else None),
    ("transposed({a})", lambda a: (a[1], a[0]) if len(a) == 2 else None),
    ("reshaped({a})", lambda a: (5, 3) if a == (3, 5) else (3, 5) if a == (5, 3) else None),
    (
        "matmul({a}, {b})",
        lambda a, b: (a[0], b[1]) if len(a) == len(b) == 2 and a[1] == b[0] else None,
    ),
    ("row_sums({a})", lambda a: (a[0],) if len(a) == 2 else None),
    ("row_max({a}) - {a}", _matrices),
    ("{a} * row_min({a})", _matrices),
    ("where(at_argmax({a}), {a}, 0.25)", _matrices),
    ("where(at_argmin({a}), {a}, {b})", _matrices),
    ("row_max(unflattened({a})) + {a}", _matrices),
    ("{a} * argmax_number({a})", _matrices),
    ("{a} - taken({a}, {b})", _matrices),
    ("spread({a})", lambda a: (a[0], a[0]) if len(a) == 1 else None),
    ("softmax({a})", lambda a: a if a else None),
    ("diagonal({a})", lambda a: (a[0],) if _square(a) else None),
    ("scanned({a}, {b})", lambda a, b: b if len(a) == 2 and a[1:] == b else None),
    ("stacked({a}, {b})", lambda a, b: a if len(a) == 2 and a[1:] == b else None),
    ("remembered({a}, {b})", _same),
    ("by_hand({a})", _same),
    ("for_each_row({a})", lambda a: a if len(a) == 2 else None),
    ("chosen(total({a}) > 0.2, {a}, {b})", _same),
]


def draw(seed: int, length: int) -> Program:
    """A program of that many lines."""
    rng, source = np.random.default_rng(seed), random.Random(seed)
    shapes: dict[str, Shape] = {"x0": (5,), "x1": (5, 3), "x2": (3,), "x3": (3, 5)}
    inputs = {k: rng.uniform(-1, 1, s) for k, s in shapes.items()}
    constants = {
        "I": rng.integers(0, 5, 5),
        "P": rng.permutation(5),
        "mask": rng.integers(0, 2, 5).astype(bool),
    }
    program = Program(inputs, constants)
    while len(program.lines) < length:
        text, shape_of = source.choice(ROWS)
        count = len({c for c in "ab" if "{" + c + "}" in text})
        known = list(shapes)
        operands = [source.choice(known[-6:] if source.random() < 0.6 else known)]
        if program.lines and source.random() < 0.2:  # what an earlier line reads, otherwise
            operands = source.choice(program.lines).operands[:1]
        if count == 2:
            operands.append(source.choice(known))
        shape = shape_of(*(shapes[o] for o in operands))
        if shape is None:
            continue
        name = f"v{len(program.lines)}"
        program.lines.append(Line(name, text, operands, shape))
        shapes[name] = shape
    return program


def _renamed(line: Line, gone: str, other: str) -> list[str]:
    return [other if o == gone else o for o in line.operands]


def shrink(program: Program, fails: Callable[[Program], bool]) -> Program:
    """A program of fewer lines that still fails."""
    k = len(program.lines)
    while k > 0:
        k -= 1
        gone = program.lines[k]
        before = {n: v.shape for n, v in program.inputs.items()}
        before |= {line.name: line.shape for line in program.lines[:k]}
        read = any(gone.name in line.operands for line in program.lines)
        for other in [n for n in reversed(before) if before[n] == gone.shape or not read]:
            kept = program.lines[:k] + program.lines[k + 1 :]
            lines = [replace(i, operands=_renamed(i, gone.name, other)) for i in kept]
            candidate = Program(program.inputs, program.constants, lines)
            if fails(candidate):
                program = candidate
                break
    return program


def adjit_library() -> dict[str, Any]:
    import adjit as aj

    step = lambda c, row: (aj.tanh(c + row), c * row)  # noqa: E731

    @aj.custom_vjp
    def by_hand(x: Any) -> Any:
        return aj.sin(x) * x

    by_hand.defvjp(lambda x: (aj.sin(x) * x, x), lambda x, g: (g * (aj.cos(x) * x + aj.sin(x)),))
    remembered = aj.checkpoint(lambda a, b: aj.tanh(a * b) + aj.sin(a))
    return {
        **{n: getattr(aj, n) for n in ("sin", "cos", "tanh", "sigmoid", "maximum", "where")},
        "constant": lambda v: v,
        "total": aj.sum,
        "exp_small": lambda a: aj.exp(a * 0.1),
        "flip": lambda a: aj.flip(a, axis=0),
        "cumsum": lambda a: aj.cumsum(a, axis=0),
        "index_add": aj.index_add,
        "clipped": lambda a, k: aj.clip(np.arange(5) + k, 0, 4),
        "widened": lambda a: a[np.array([0, 1, 2, 1, 0])],
        "transposed": aj.matrix_transpose,
        "reshaped": lambda a: aj.reshape(a, (a.shape[1], a.shape[0])),
        "matmul": aj.matmul,
        "row_sums": lambda a: aj.sum(a, axis=1),
        "row_max": lambda a: aj.max(a, axis=1, keepdims=True),
        "row_min": lambda a: aj.min(a, axis=1, keepdims=True),
        "at_argmax": lambda a: aj.argmax(a, axis=1, keepdims=True) == np.arange(a.shape[1]),
        "at_argmin": lambda a: aj.argmin(a, axis=1, keepdims=True) == np.arange(a.shape[1]),
        "argmax_number": lambda a: aj.astype(aj.argmax(a, axis=1, keepdims=True), a.dtype),
        "taken": lambda a, b: aj.take_along_axis(a, aj.argmax(b, axis=1, keepdims=True), axis=1),
        "unflattened": lambda a: aj.reshape(aj.reshape(a, (-1,)), a.shape),
        "spread": lambda a: a[:, None] * a[None, :],
        "softmax": lambda a: aj.nn.softmax(a, axis=-1),
        "diagonal": aj.diagonal,
        "scanned": lambda xs, c: aj.scan(step, c, xs)[0],
        "stacked": lambda xs, c: aj.scan(step, c, xs)[1],
        "remembered": remembered,
        "by_hand": by_hand,
        "for_each_row": lambda a: aj.vmap(lambda row: row * aj.sum(row) + row[::-1])(a),
        "chosen": lambda p, a, b: aj.cond(p, lambda a, b: aj.sin(a), lambda a, b: a * b, a, b),
    }


def torch_library() -> dict[str, Any]:
    import torch

    def scan(xs: Any, c: Any) -> tuple[Any, Any]:
        outs = []
        for row in xs:
            outs.append(c * row)
            c = torch.tanh(c + row)
        return c, torch.stack(outs)

    return {
        **{n: getattr(torch, n) for n in ("sin", "cos", "tanh", "sigmoid", "maximum", "where")},
        "constant": torch.tensor,
        "total": torch.sum,
        "exp_small": lambda a: torch.exp(a * 0.1),
        "flip": lambda a: torch.flip(a, (0,)),
        "cumsum": lambda a: torch.cumsum(a, 0),
        "index_add": lambda a, i, b: torch.index_add(a, 0, i, b),
        "clipped": lambda a, k: torch.clip(torch.arange(5) + k, 0, 4),
        "widened": lambda a: a[[0, 1, 2, 1, 0]],
        "transposed": lambda a: a.T,
        "reshaped": lambda a: a.reshape(a.shape[1], a.shape[0]),
        "matmul": torch.matmul,
        "row_sums": lambda a: torch.sum(a, 1),
        "row_max": lambda a: torch.amax(a, 1, keepdim=True),
        "row_min": lambda a: torch.amin(a, 1, keepdim=True),
        "at_argmax": lambda a: torch.argmax(a, 1, keepdim=True) == torch.arange(a.shape[1]),
        "at_argmin": lambda a: torch.argmin(a, 1, keepdim=True) == torch.arange(a.shape[1]),
        "argmax_number": lambda a: torch.argmax(a, 1, keepdim=True).to(a.dtype),
        "taken": lambda a, b: torch.take_along_dim(a, torch.argmax(b, 1, keepdim=True), 1),
        "unflattened": lambda a: a.reshape(-1).reshape(a.shape),
        "spread": lambda a: a[:, None] * a[None, :],
        "softmax": lambda a: torch.softmax(a, -1),
        "diagonal": torch.diagonal,
        "scanned": lambda xs, c: scan(xs, c)[0],
        "stacked": lambda xs, c: scan(xs, c)[1],
        "remembered": lambda a, b: torch.tanh(a * b) + torch.sin(a),
        "by_hand": lambda a: torch.sin(a) * a,
        "for_each_row": lambda a: a * a.sum(1, keepdim=True) + torch.flip(a, (1,)),
        "chosen": lambda p, a, b: torch.sin(a) if bool(p) else a * b,
    }


def jax_library() -> dict[str, Any]:
    import jax
    import jax.numpy as jnp

    step = lambda c, row: (jnp.tanh(c + row), c * row)  # noqa: E731
    return {
        **{n: getattr(jnp, n) for n in ("sin", "cos", "tanh", "maximum", "where")},
        "constant": jnp.asarray,
        "total": jnp.sum,
        "sigmoid": jax.nn.sigmoid,
        "exp_small": lambda a: jnp.exp(a * 0.1),
        "flip": lambda a: jnp.flip(a, 0),
        "cumsum": lambda a: jnp.cumsum(a, 0),
        "index_add": lambda a, i, b: a.at[i].add(b),
        "clipped": lambda a, k: jnp.clip(jnp.arange(5) + k, 0, 4),
        "widened": lambda a: a[jnp.array([0, 1, 2, 1, 0])],
        "transposed": jnp.transpose,
        "reshaped": lambda a: a.reshape(a.shape[1], a.shape[0]),
        "matmul": jnp.matmul,
        "row_sums": lambda a: jnp.sum(a, 1),
        "row_max": lambda a: jnp.max(a, 1, keepdims=True),
        "row_min": lambda a: jnp.min(a, 1, keepdims=True),
        "at_argmax": lambda a: jnp.argmax(a, 1, keepdims=True) == jnp.arange(a.shape[1]),
        "at_argmin": lambda a: jnp.argmin(a, 1, keepdims=True) == jnp.arange(a.shape[1]),
        "argmax_number": lambda a: jnp.argmax(a, 1, keepdims=True).astype(a.dtype),
        "taken": lambda a, b: jnp.take_along_axis(a, jnp.argmax(b, 1, keepdims=True), 1),
        "unflattened": lambda a: a.reshape(-1).reshape(a.shape),
        "spread": lambda a: a[:, None] * a[None, :],
        "softmax": lambda a: jax.nn.softmax(a, -1),
        "diagonal": jnp.diagonal,
        "scanned": lambda xs, c: jax.lax.scan(step, c, xs)[0],
        "stacked": lambda xs, c: jax.lax.scan(step, c, xs)[1],
        "remembered": lambda a, b: jnp.tanh(a * b) + jnp.sin(a),
        "by_hand": lambda a: jnp.sin(a) * a,
        "for_each_row": jax.vmap(lambda row: row * jnp.sum(row) + row[::-1]),
        "chosen": lambda p, a, b: jnp.where(p, jnp.sin(a), a * b),
    }
