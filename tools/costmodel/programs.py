"""Random programs: forwards of many kinds and sizes, and gradients of most of them.

``draw(seed)`` gives one; equal seeds give equal programs. Sizes are drawn so that a run takes
between some microseconds and some milliseconds; every sixteenth program is larger, so that its
arrays may leave the caches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import adjit as aj
import numpy as np

Function = Callable[..., Any]


@dataclass(frozen=True)
class RandomProgram:
    """``run(*arguments)`` is what is scheduled: the gradient of sum(forward * cotangent), or it."""

    kind: str
    run: Function
    arguments: list[Any]


class Draw:
    """Random numbers of one program."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.scale = 10 if seed % 16 == 7 else 1

    def size(self, low: int, high: int) -> int:
        """Log-uniform; every other time a multiple of 16, where there is one."""
        x = round(np.exp(self.rng.uniform(np.log(low), np.log(high))))
        return 16 * max(1, x // 16) if x >= 16 and self.rng.random() < 0.5 else x

    def sizes(self, count: int, points: float, low: int = 1) -> list[int]:
        """So many extents with about that product at most."""
        shares = self.rng.dirichlet(np.full(count, 4.0))
        points *= self.scale
        target = np.log(points) * self.rng.uniform(0.85, 1.0)
        found = [max(low, round(np.exp(s * target))) for s in shares]
        while np.prod(found) > points and max(found) > low:
            found[int(np.argmax(found))] //= 2
        return [16 * (x // 16) if x > 16 and self.rng.random() < 0.4 else x for x in found]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def of(self, *options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def array(self, *shape: int) -> Any:
        return self.rng.standard_normal(shape).astype(np.float32)

    def indices(self, below: int, *shape: int) -> Any:
        return self.rng.integers(0, below, shape)


def draw(seed: int) -> RandomProgram:
    """The program of that number."""
    d = Draw(seed)
    kinds = list(_KINDS)
    weights = np.array([_KINDS[k] for k in kinds], dtype=float)
    make = kinds[int(d.rng.choice(len(kinds), p=weights / weights.sum()))]
    forward, inputs = make(d)
    kind = make.__name__.strip("_")
    if d.chance(0.25):
        return RandomProgram(kind, forward, inputs)
    return RandomProgram(kind + "_gradient", *_gradient(d, forward, inputs))


def _gradient(d: Draw, forward: Function, inputs: list[Any]) -> tuple[Function, list[Any]]:
    """Of all float inputs; the cotangent goes first."""
    floats = [k for k, x in enumerate(inputs) if x.dtype.kind == "f"]

    def pull(cotangent: Any, *given: Any) -> Any:
        def of_floats(*values: Any) -> Any:
            arguments = list(given)
            for k, x in zip(floats, values, strict=True):
                arguments[k] = x
            return forward(*arguments)

        return aj.vjp(of_floats, *[given[k] for k in floats])[1](cotangent)

    result = np.asarray(aj.jit(forward)(*inputs))
    return pull, [d.array(*result.shape), *inputs]


# Contractions.


def _product(d: Draw) -> tuple[Function, list[Any]]:
    m, k, n = d.sizes(3, d.of(1e5, 1e6, 1e7, 5e7))
    left, right = d.chance(0.3), d.chance(0.3)
    activation = d.of(None, None, aj.tanh, aj.nn.relu, aj.sigmoid)

    def forward(a: Any, b: Any) -> Any:
        c = (a.T if left else a) @ (b.T if right else b)
        return c if activation is None else activation(c)

    return forward, [
        d.array(*((k, m) if left else (m, k))),
        d.array(*((n, k) if right else (k, n))),
    ]


def _contraction(d: Draw) -> tuple[Function, list[Any]]:
    """Einsum of random roles: batch, left, right and summed letters in any order."""
    letters = iter("abcdefgh")
    roles = {
        role: [next(letters) for _ in range(int(d.rng.integers(low, high)))]
        for role, low, high in (("batch", 0, 2), ("left", 1, 3), ("right", 0, 3), ("sum", 1, 3))
    }
    used = [x for group in roles.values() for x in group]
    extents = dict(zip(used, d.sizes(len(used), d.of(1e5, 1e6, 1e7, 3e7)), strict=True))

    def shuffled(*groups: str) -> str:
        return "".join(d.rng.permutation([x for g in groups for x in roles[g]]))

    a, b = shuffled("batch", "left", "sum"), shuffled("batch", "right", "sum")
    result = shuffled("batch", "left", "right")
    rule = f"{a},{b}->{result}"
    return lambda x, y: aj.einsum(rule, x, y), [
        d.array(*(extents[x] for x in word)) for word in (a, b)
    ]


def _dense(d: Draw) -> tuple[Function, list[Any]]:
    batch, inputs, outputs = d.sizes(3, d.of(1e5, 1e6, 2e7))
    activation = d.of(aj.nn.relu, aj.tanh, aj.nn.gelu, aj.nn.silu)
    return (
        lambda x, w, b: activation(aj.nn.linear(x, w, b)),
        [d.array(batch, inputs), d.array(outputs, inputs), d.array(outputs)],
    )


def _layers(d: Draw) -> tuple[Function, list[Any]]:
    batch, inputs, hidden, outputs = d.sizes(4, 1e8)
    batch, inputs, hidden, outputs = (min(x, 512) for x in (batch, inputs, hidden, outputs))
    return (
        lambda x, w, v: aj.tanh(aj.nn.relu(x @ w) @ v),
        [d.array(batch, inputs), d.array(inputs, hidden), d.array(hidden, outputs)],
    )


def _attention(d: Draw) -> tuple[Function, list[Any]]:
    heads, tokens, keys, width = d.size(1, 16), d.size(8, 256), d.size(8, 256), d.size(8, 96)
    causal = d.chance(0.3)

    def forward(q: Any, k: Any, v: Any) -> Any:
        scores = aj.einsum("htd,hsd->hts", q, k) * (1 / math.sqrt(width))
        if causal:
            scores = aj.tril(scores)
        return aj.einsum("hts,hsd->htd", aj.nn.softmax(scores, dim=-1), v)

    return forward, [
        d.array(heads, tokens, width), d.array(heads, keys, width), d.array(heads, keys, width)
    ]  # fmt: skip


# Convolutions and windows.


def _convolution(d: Draw) -> tuple[Function, list[Any]]:
    size, stride, dilation = d.of(1, 2, 3, 3, 4, 5, 7), d.of(1, 1, 1, 2, 3), d.of(1, 1, 1, 2)
    groups = d.of(1, 1, 1, 2, 4)
    n, side = d.size(1, 8), d.size(7, 64)
    side = max(side, dilation * (size - 1) + 1)
    most = 4e7 / (n * side * side * size * size / stride**2)
    channels, outputs = d.sizes(2, max(most * groups, 16), low=1)
    channels, outputs = (groups * max(1, min(x, 256) // groups) for x in (channels, outputs))
    padding = d.of(0, size // 2, size // 2, dilation * (size // 2))
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return (
        lambda x, w: aj.nn.conv2d(x, w, **options),
        [d.array(n, channels, side, d.size(side, side + 8)),
         d.array(outputs, channels // groups, size, size)],
    )  # fmt: skip


def _depthwise(d: Draw) -> tuple[Function, list[Any]]:
    size, stride = d.of(3, 3, 5, 7), d.of(1, 1, 2)
    n, channels, side = d.size(1, 8), d.size(4, 128), d.size(max(8, size), 57)
    return (
        lambda x, w: aj.nn.conv2d(x, w, stride=stride, padding=size // 2, groups=channels),
        [d.array(n, channels, side, side), d.array(channels, 1, size, size)],
    )


def _line_convolution(d: Draw) -> tuple[Function, list[Any]]:
    size, stride = d.of(2, 3, 5, 9, 16), d.of(1, 1, 2, 4)
    n, channels, length, outputs = d.size(1, 8), d.size(1, 64), d.size(32, 1024), d.size(1, 64)
    length = max(length, size)
    return (
        lambda x, w: aj.nn.conv1d(x, w, stride=stride, padding=size // 2),
        [d.array(n, channels, length), d.array(outputs, channels, size)],
    )


def _transposed_convolution(d: Draw) -> tuple[Function, list[Any]]:
    size, stride = d.of(2, 3, 4, 4, 5), d.of(1, 2, 2, 3)
    n, channels, side, outputs = d.size(1, 4), d.size(4, 64), d.size(5, 28), d.size(3, 64)
    padding = d.of(0, min(1, size - 1))
    return (
        lambda x, w: aj.nn.conv_transpose2d(x, w, stride=stride, padding=padding),
        [d.array(n, channels, side, side), d.array(channels, outputs, size, size)],
    )


def _pool(d: Draw) -> tuple[Function, list[Any]]:
    size, stride = d.of(2, 3, 3, 5), d.of(1, 2, 2, 3)
    padding = d.of(0, size // 2)
    pool = d.of(aj.nn.max_pool2d, aj.nn.avg_pool2d)
    x = d.array(d.size(1, 16), d.size(3, 64), d.size(8, 57), d.size(8, 57))
    return lambda x: pool(x, size, stride, padding), [x]


def _resize(d: Draw) -> tuple[Function, list[Any]]:
    mode, factor = d.of("nearest", "bilinear"), d.of(2, 2, 3)
    x = d.array(d.size(1, 4), d.size(1, 32), d.size(8, 48), d.size(8, 48))
    return lambda x: aj.nn.interpolate(x, scale_factor=factor, mode=mode), [x]


# Elementwise, reductions, rows.

_UNARY: list[Function] = [
    aj.tanh, aj.exp, aj.sin, aj.sigmoid, aj.square, aj.abs, aj.negative, aj.nn.relu, aj.nn.softplus,
    lambda x: 1.5 * x + 0.25, lambda x: aj.sqrt(aj.square(x) + 1), lambda x: aj.log(aj.abs(x) + 1),
]  # fmt: skip
_BINARY: list[Function] = [aj.add, aj.subtract, aj.multiply, aj.multiply, aj.maximum, aj.hypot]


def _expression(d: Draw, operands: list[int], nodes: int) -> Function:
    """A random expression graph over numbered operands of shapes that broadcast."""
    steps: list[tuple[Function, list[int]]] = []
    count = len(operands)
    for k in range(nodes):
        recent = list(range(max(0, count + k - 4), count + k))
        if d.chance(0.5):
            steps.append((d.of(*_UNARY), [d.of(*recent)]))
        else:
            steps.append((d.of(*_BINARY), [d.of(*recent), d.of(*range(count + k))]))

    def evaluate(*given: Any) -> Any:
        values = list(given)
        for operation, of in steps:
            values.append(aj.tanh(operation(*(values[i] for i in of))))
        # Every operand takes part.
        total = values[-1]
        for value in given:
            total = total + value
        return total

    return evaluate


def _shapes(d: Draw) -> tuple[list[int], list[list[int]]]:
    """A full shape, and those of operands that broadcast to it, the first one full."""
    full = d.sizes(int(d.rng.integers(1, 5)), d.of(1e4, 1e5, 5e5, 2e6))
    shapes = [full]
    for _ in range(int(d.rng.integers(0, 3))):
        shapes.append([1 if d.chance(0.4) else e for e in full] if d.chance(0.5) else full)
    return full, shapes


def _elementwise(d: Draw) -> tuple[Function, list[Any]]:
    _, shapes = _shapes(d)
    forward = _expression(d, list(range(len(shapes))), int(d.rng.integers(1, 12)))
    return forward, [d.array(*s) for s in shapes]


def _reduction(d: Draw) -> tuple[Function, list[Any]]:
    full, shapes = _shapes(d)
    inner = _expression(d, list(range(len(shapes))), int(d.rng.integers(0, 6)))
    axes = [a for a in range(len(full)) if d.chance(0.5)] or [int(d.rng.integers(len(full)))]
    reduce = d.of(aj.sum, aj.mean, aj.max, aj.var, aj.logsumexp)
    return lambda *x: reduce(inner(*x), axis=tuple(axes)), [d.array(*s) for s in shapes]


def _centred(d: Draw) -> tuple[Function, list[Any]]:
    """Values minus, or over, what their rows or columns reduce to, once or twice."""
    full, shapes = _shapes(d)
    inner = _expression(d, list(range(len(shapes))), int(d.rng.integers(0, 4)))
    axis = int(d.rng.integers(len(full)))
    first, second = d.of(aj.mean, aj.max), d.of(None, aj.mean, aj.sum)

    def forward(*given: Any) -> Any:
        x = inner(*given)
        x = x - first(x, axis=axis, keepdims=True)
        if second is None:
            return aj.tanh(x)
        y = aj.exp(-aj.square(x))
        return y / (second(y, axis=axis, keepdims=True) + 1)

    return forward, [d.array(*s) for s in shapes]


def _rows(d: Draw) -> tuple[Function, list[Any]]:
    rows, width = d.sizes(2, d.of(3e4, 3e5, 1e6, 3e6))
    axis = d.of(-1, -1, -1, 0)
    f = d.of(aj.nn.softmax, aj.nn.log_softmax)
    return lambda x: f(x, dim=axis), [d.array(rows, width)]


def _normalization(d: Draw) -> tuple[Function, list[Any]]:
    if d.chance(0.5):
        rows, width = d.sizes(2, d.of(1e4, 1e6, 3e6), low=2)
        return (
            lambda x, w, b: aj.nn.layer_norm(x, (width,), w, b),
            [d.array(rows, width), d.array(width), d.array(width)],
        )
    n, channels, side = d.size(1, 16), d.size(3, 128), d.size(4, 48)

    def batch_norm(x: Any, w: Any, b: Any) -> Any:
        centred = x - aj.mean(x, axis=(0, 2, 3), keepdims=True)
        variance = aj.mean(aj.square(centred), axis=(0, 2, 3), keepdims=True)
        return centred * aj.rsqrt(variance + 1e-5) * w + b

    return batch_norm, [
        d.array(n, channels, side, side), d.array(1, channels, 1, 1), d.array(1, channels, 1, 1)
    ]  # fmt: skip


def _loss(d: Draw) -> tuple[Function, list[Any]]:
    rows, classes = d.sizes(2, d.of(1e4, 1e6), low=2)
    return aj.nn.cross_entropy, [d.array(rows, classes), d.indices(classes, rows)]


def _distances(d: Draw) -> tuple[Function, list[Any]]:
    """A function of all pairs of points, reduced."""
    n, m, width = d.size(16, 1000), d.size(16, 1000), d.size(1, 16)
    kernel = d.of(lambda r: aj.exp(-r), lambda r: aj.sqrt(r + 1), lambda r: 1 / (1 + r))

    def forward(x: Any, y: Any, v: Any) -> Any:
        r = aj.sum(aj.square(x[:, None, :] - y[None, :, :]), axis=-1)
        return kernel(r / width) @ v

    return forward, [d.array(n, width), d.array(m, width), d.array(m, d.size(1, 8))]


# Data movement.


def _transposition(d: Draw) -> tuple[Function, list[Any]]:
    shape = d.sizes(int(d.rng.integers(2, 5)), d.of(1e4, 1e6, 3e6))
    order = tuple(int(a) for a in d.rng.permutation(len(shape)))
    other = [shape[a] for a in order]
    return (
        lambda x, y: aj.tanh(aj.permute_dims(x, order)) * y,
        [d.array(*shape), d.array(*other)],
    )


def _gathering(d: Draw) -> tuple[Function, list[Any]]:
    rows, width, count = d.size(10, 20000), d.size(1, 256), d.size(10, 8000)
    return lambda table, index: aj.take(table, index, axis=0) * 2.0, [
        d.array(rows, width), d.indices(rows, count)
    ]  # fmt: skip


def _scattering(d: Draw) -> tuple[Function, list[Any]]:
    rows, width, count = d.size(10, 5000), d.size(1, 128), d.size(10, 5000)
    return lambda base, index, values: aj.index_add(base, index, aj.tanh(values), 0), [
        d.array(rows, width), d.indices(rows, count), d.array(count, width)
    ]  # fmt: skip


def _running(d: Draw) -> tuple[Function, list[Any]]:
    shape = d.sizes(int(d.rng.integers(1, 3)), d.of(1e4, 1e6), low=2)
    axis = int(d.rng.integers(len(shape)))
    return lambda x: aj.tanh(aj.cumsum(x, axis)), [d.array(*shape)]


def _recurrence(d: Draw) -> tuple[Function, list[Any]]:
    steps, batch, width = d.size(2, 32), d.size(1, 32), d.size(8, 128)

    def forward(x: Any, w: Any) -> Any:
        def step(h: Any, given: Any) -> Any:
            h = aj.tanh(given + h @ w)
            return h, h

        return aj.scan(step, aj.zeros((batch, width), dtype="float32"), x)[1]

    return forward, [d.array(steps, batch, width), 0.1 * d.array(width, width)]


_KINDS: dict[Callable[[Draw], tuple[Function, list[Any]]], float] = {
    _product: 4, _contraction: 4, _dense: 2, _layers: 1, _attention: 1.5, _convolution: 5,
    _depthwise: 1.5, _line_convolution: 1, _transposed_convolution: 1.5, _pool: 1.5, _resize: 0.7,
    _elementwise: 2, _reduction: 2, _centred: 1.5, _rows: 1.5, _normalization: 1.5, _loss: 0.7,
    _distances: 1, _transposition: 1, _gathering: 0.5, _scattering: 0.5, _running: 0.5,
    _recurrence: 0.7,
}  # fmt: skip
