"""The same computation as different users write it: all phrasings should take the same time.

Each program is one function in three phrasings or more: terms of the index notation, reduction
axes, composed operators, vmap of one sample, text. All take the same inputs and give the same
value, so that their gradients are the same, too.
"""

from __future__ import annotations

import functools
import multiprocessing
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import adjit as aj
import numpy as np

from . import timing
from .measure import TOLERANCE, difference
from .workloads.workload import Function, Input, of_floats


@dataclass(frozen=True)
class Phrased:
    """Forwards by the name of their phrasing; each takes ``inputs`` in order."""

    name: str
    inputs: tuple[Input, ...]
    forwards: dict[str, Function]


def phrased() -> list[Phrased]:
    """All programs."""
    return [
        warp(4, 16, 128), bilateral_slice(2, (8, 16, 16), 256), blur(8, 256),
        convolution(4, 32, 28), softmax(2048, 512), layernorm(2048, 512),
        gaussian_kernel(1000, 1500, 3), matmul(384), lrn(4, 32, 56, 5), attention(4, 8, 128, 32),
    ]  # fmt: skip


def warp(n: int, channels: int, side: int) -> Phrased:
    """Bilinear reads at (i + flow[0], j + flow[1]), edges repeated."""
    shape = (n, channels, side, side)

    def corner(place: Any) -> tuple[Any, Any]:
        clipped = aj.clip(place, 0.0, side - 1.0)
        low = aj.minimum(aj.astype(aj.floor(clipped), "int32"), side - 2)
        return low, clipped - aj.astype(low, "float32")

    def terms(x: Any, flow: Any) -> Any:
        def at(b: Any, c: Any, i: Any, j: Any) -> Any:
            (top, f), (left, g) = corner(i + flow[b, 0, i, j]), corner(j + flow[b, 1, i, j])
            above = (1 - g) * x[b, c, top, left] + g * x[b, c, top, left + 1]
            below = (1 - g) * x[b, c, top + 1, left] + g * x[b, c, top + 1, left + 1]
            return (1 - f) * above + f * below

        return aj.compute(shape, at)

    def axes(x: Any, flow: Any) -> Any:
        p: Any = aj.reduce_axis(2)
        q: Any = aj.reduce_axis(2)

        def at(b: Any, c: Any, i: Any, j: Any) -> Any:
            (top, f), (left, g) = corner(i + flow[b, 0, i, j]), corner(j + flow[b, 1, i, j])
            weight = aj.select(p == 0, 1 - f, f) * aj.select(q == 0, 1 - g, g)
            return aj.sum(weight * x[b, c, top + p, left + q], axis=(p, q))

        return aj.compute(shape, at)

    def one(x: Any, flow: Any) -> Any:
        def at(c: Any, i: Any, j: Any) -> Any:
            (top, f), (left, g) = corner(i + flow[0, i, j]), corner(j + flow[1, i, j])
            corners = (
                (w, h, (f if w else 1 - f) * (g if h else 1 - g)) for w in (0, 1) for h in (0, 1)
            )
            return sum(weight * x[c, top + w, left + h] for w, h, weight in corners)

        return aj.compute(shape[1:], at)

    def whole(flow: Any) -> tuple[Any, Any]:
        i, j = aj.arange(side)[:, None], aj.arange(side)[None, :]
        return corner(i + flow[:, 0]), corner(j + flow[:, 1])

    def indexed(x: Any, flow: Any) -> Any:
        (top, f), (left, g) = whole(flow)
        f, g, batch = f[:, None], g[:, None], aj.arange(n)[:, None, None]

        def at(y: Any, z: Any) -> Any:
            return aj.permute_dims(x[batch, :, y, z], (0, 3, 1, 2))

        above = at(top, left) + g * (at(top, left + 1) - at(top, left))
        below = at(top + 1, left) + g * (at(top + 1, left + 1) - at(top + 1, left))
        return above + f * (below - above)

    def taken(x: Any, flow: Any) -> Any:
        (top, f), (left, g) = whole(flow)
        f, g, flat = f[:, None], g[:, None], aj.reshape(x, (n, channels, side * side))

        def at(y: Any, z: Any) -> Any:
            place = aj.broadcast_to(aj.reshape(y * side + z, (n, 1, side * side)), flat.shape)
            return aj.reshape(aj.take_along_axis(flat, place, axis=2), shape)

        above = (1 - g) * at(top, left) + g * at(top, left + 1)
        below = (1 - g) * at(top + 1, left) + g * at(top + 1, left + 1)
        return (1 - f) * above + f * below

    return Phrased(
        "warp",
        (Input(shape), Input((n, 2, side, side), scale=2.0)),
        {"terms": terms, "axes": axes, "vmap": aj.vmap(one), "indexed": indexed, "taken": taken},
    )


def bilateral_slice(n: int, grid: tuple[int, int, int], side: int) -> Phrased:
    """HDRNet's layer, with four input channels."""
    levels, rows, columns = grid

    def corner(place: Any, extent: int) -> tuple[Any, Any]:
        clipped = aj.clip(place, 0.0, extent - 1.0)
        low = aj.minimum(aj.astype(aj.floor(clipped), "int32"), extent - 2)
        return low, clipped - aj.astype(low, "float32")

    def place(guide: Any, i: Any, j: Any) -> tuple[Any, ...]:
        y = (aj.astype(i, "float32") + 0.5) * (rows / side) - 0.5
        x = (aj.astype(j, "float32") + 0.5) * (columns / side) - 0.5
        return corner(guide * levels - 0.5, levels), corner(y, rows), corner(x, columns)

    def terms(grid: Any, guide: Any, image: Any) -> Any:
        def coefficient(b: Any, c: Any, i: Any, j: Any) -> Any:
            (z, f), (y, g), (x, h) = place(guide[b, i, j], i, j)
            return sum(
                (f if p else 1 - f) * (g if q else 1 - g) * (h if r else 1 - h)
                * grid[b, c, z + p, y + q, x + r]
                for p in (0, 1) for q in (0, 1) for r in (0, 1)
            )  # fmt: skip

        a = aj.compute((n, 12, side, side), coefficient)
        k = aj.reduce_axis(4)
        return aj.compute(
            (n, 3, side, side),
            lambda b, c, i, j: aj.sum(a[b, 4 * c + k, i, j] * image[b, k, i, j], axis=k),
        )

    def axes(grid: Any, guide: Any, image: Any) -> Any:
        p, q, r = (aj.reduce_axis(2) for _ in range(3))
        k: Any = aj.reduce_axis(4)

        def at(b: Any, c: Any, i: Any, j: Any) -> Any:
            (z, f), (y, g), (x, h) = place(guide[b, i, j], i, j)
            shares = ((p, f), (q, g), (r, h))
            weight: Any = 1.0
            for axis, part in shares:
                weight = weight * aj.select(axis == 0, 1 - part, part)
            read = grid[b, 4 * c + k, z + p, y + q, x + r]
            return aj.sum(weight * read * image[b, k, i, j], axis=(p, q, r, k))

        return aj.compute((n, 3, side, side), at)

    def composed(grid: Any, guide: Any, image: Any) -> Any:
        p, q, r = (aj.reduce_axis(2) for _ in range(3))

        def coefficient(b: Any, c: Any, i: Any, j: Any) -> Any:
            (z, f), (y, g), (x, h) = place(guide[b, i, j], i, j)
            weight = aj.select(p == 0, 1 - f, f) * aj.select(q == 0, 1 - g, g)
            weight = weight * aj.select(r == 0, 1 - h, h)
            return aj.sum(weight * grid[b, c, z + p, y + q, x + r], axis=(p, q, r))

        a = aj.reshape(aj.compute((n, 12, side, side), coefficient), (n, 3, 4, side, side))
        return aj.sum(a * image[:, None], axis=2)

    return Phrased(
        "bilateral_slice",
        (
            Input((n, 12, *grid)), Input((n, side, side), "uniform"), Input((n, 4, side, side)),
        ),
        {"terms": terms, "axes": axes, "composed": composed},
    )  # fmt: skip


def blur(n: int, side: int) -> Phrased:
    """3 x 3 weights, edges repeated."""
    shape = (n, side, side)

    def near(index: Any) -> Any:
        return aj.clip(index, 0, side - 1)

    def terms(x: Any, w: Any) -> Any:
        return aj.compute(
            shape,
            lambda b, i, j: sum(
                w[p, q] * x[b, near(i + p - 1), near(j + q - 1)]
                for p in range(3) for q in range(3)
            ),
        )  # fmt: skip

    def axes(x: Any, w: Any) -> Any:
        p, q = aj.reduce_axis(3), aj.reduce_axis(3)
        return aj.compute(
            shape,
            lambda b, i, j: aj.sum(
                w[p, q] * x[b, near(i + p - 1), near(j + q - 1)], axis=(p, q)
            ),
        )  # fmt: skip

    def composed(x: Any, w: Any) -> Any:
        padded = aj.pad(x, ((0, 0), (1, 1), (1, 1)), mode="edge")
        return sum(
            w[p, q] * padded[:, p : p + side, q : q + side] for p in range(3) for q in range(3)
        )

    def operator(x: Any, w: Any) -> Any:
        padded = aj.pad(x, ((0, 0), (1, 1), (1, 1)), mode="edge")
        return aj.nn.conv2d(padded[:, None], w[None, None])[:, 0]

    return Phrased(
        "blur",
        (Input(shape), Input((3, 3))),
        {"terms": terms, "axes": axes, "composed": composed, "operator": operator},
    )


def convolution(n: int, channels: int, side: int) -> Phrased:
    """3 x 3, zeros around."""
    size = (n, channels, side, side)
    around = ((0, 0), (0, 0), (1, 1), (1, 1))

    def composed(x: Any, w: Any) -> Any:
        padded = aj.pad(x, around)
        return sum(
            aj.einsum("nchw,oc->nohw", padded[:, :, p : p + side, q : q + side], w[:, :, p, q])
            for p in range(3) for q in range(3)
        )  # fmt: skip

    def axes(x: Any, w: Any) -> Any:
        c, p, q = aj.reduce_axis(channels), aj.reduce_axis(3), aj.reduce_axis(3)
        padded = aj.pad(x, around)
        return aj.compute(
            size,
            lambda b, o, i, j: aj.sum(padded[b, c, i + p, j + q] * w[o, c, p, q], axis=(c, p, q)),
        )

    text = aj.define("""
    def conv(float(N, C, H, W) x, float(O, C, P, Q) w) -> (y) {
        y(n, o, i, j) +=! select(1 <= i + p && i + p <= H && 1 <= j + q && j + q <= W,
                                 x(n, c, i + p - 1, j + q - 1) * w(o, c, p, q), 0)
            where i in 0:H, j in 0:W, p in 0:P, q in 0:Q
    }
    """)
    return Phrased(
        "convolution",
        (Input(size), Input((channels, channels, 3, 3), scale=0.1)),
        {
            "operator": lambda x, w: aj.nn.conv2d(x, w, padding=1),
            "composed": composed, "axes": axes, "text": text.conv,
        },
    )  # fmt: skip


def softmax(count: int, width: int) -> Phrased:
    """Over the last axis."""

    def composed(x: Any) -> Any:
        power = aj.exp(x - aj.max(x, axis=-1, keepdims=True))
        return power / aj.sum(power, axis=-1, keepdims=True)

    def notation(x: Any) -> Any:
        k, r = aj.reduce_axis(width), aj.reduce_axis(width)
        most = aj.compute((count,), lambda i: aj.max(x[i, k], axis=k))
        power = aj.compute((count, width), lambda i, j: aj.exp(x[i, j] - most[i]))
        total = aj.compute((count,), lambda i: aj.sum(power[i, r], axis=r))
        return aj.compute((count, width), lambda i, j: power[i, j] / total[i])

    return Phrased(
        "softmax",
        (Input((count, width)),),
        {
            "operator": lambda x: aj.nn.softmax(x, dim=-1), "composed": composed,
            "notation": notation, "vmap": aj.vmap(composed),
        },
    )  # fmt: skip


def layernorm(count: int, width: int) -> Phrased:
    """Over the last axis, with scale and shift."""

    def composed(x: Any, scale: Any, shift: Any) -> Any:
        centred = x - aj.mean(x, axis=-1, keepdims=True)
        variance = aj.mean(centred * centred, axis=-1, keepdims=True)
        return centred / aj.sqrt(variance + 1e-5) * scale + shift

    return Phrased(
        "layernorm",
        (Input((count, width)), Input((width,)), Input((width,))),
        {
            "operator": lambda x, scale, shift: aj.nn.layer_norm(x, [width], scale, shift),
            "composed": composed,
            "vmap": aj.vmap(composed, in_axes=(0, None, None)),
        },
    )


def gaussian_kernel(n: int, m: int, dimensions: int) -> Phrased:
    """sum_j exp(-|x_i - y_j|^2) b_j."""

    def axes(x: Any, y: Any, b: Any) -> Any:
        j, k = aj.reduce_axis(m), aj.reduce_axis(dimensions)
        squares = aj.compute((n, m), lambda i, j: aj.sum((x[i, k] - y[j, k]) ** 2, axis=k))
        return aj.compute((n,), lambda i: aj.sum(aj.exp(-squares[i, j]) * b[j], axis=j))

    def composed(x: Any, y: Any, b: Any) -> Any:
        squares = aj.sum((x[:, None] - y[None]) ** 2, axis=2)
        return aj.exp(-squares) @ b

    def one(x: Any, y: Any, b: Any) -> Any:
        return aj.sum(aj.exp(-aj.sum((x - y) ** 2, axis=1)) * b)

    return Phrased(
        "gaussian_kernel",
        (Input((n, dimensions)), Input((m, dimensions)), Input((m,))),
        {"axes": axes, "composed": composed, "vmap": aj.vmap(one, in_axes=(0, None, None))},
    )


def matmul(side: int) -> Phrased:
    """a b."""

    def axes(a: Any, b: Any) -> Any:
        k = aj.reduce_axis(side)
        return aj.compute((side, side), lambda i, j: aj.sum(a[i, k] * b[k, j], axis=k))

    text = aj.define(
        "def mm(float(M, K) a, float(K, N) b) -> (c) { c(i, j) +=! a(i, k) * b(k, j) }"
    )
    return Phrased(
        "matmul",
        (Input((side, side)), Input((side, side))),
        {
            "operator": lambda a, b: a @ b, "axes": axes, "text": text.mm,
            "einsum": lambda a, b: aj.einsum("ik,kj->ij", a, b),
            "composed": lambda a, b: aj.sum(a[:, :, None] * b[None], axis=1),
            "vmap": aj.vmap(lambda row, b: row @ b, in_axes=(0, None)),
        },
    )  # fmt: skip


def lrn(n: int, channels: int, side: int, size: int) -> Phrased:
    """x / (1 + alpha mean(x^2 over ``size`` channels))^0.75."""
    shape, before, alpha = (n, channels, side, side), size // 2, 0.5

    def composed(x: Any) -> Any:
        padded = aj.pad(x * x, ((0, 0), (before, size - 1 - before), (0, 0), (0, 0)))
        total = sum(padded[:, k : k + channels] for k in range(size))
        return x / (1 + alpha / size * total) ** 0.75

    def axes(x: Any) -> Any:
        k: Any = aj.reduce_axis(size)

        def total(b: Any, c: Any, i: Any, j: Any) -> Any:
            at = c + k - before
            return aj.sum(x[b, at, i, j] ** 2, axis=k, where=(at >= 0) & (at < channels))

        squares = aj.compute(shape, total)
        return x / (1 + alpha / size * squares) ** 0.75

    return Phrased(
        "lrn",
        (Input(shape),),
        {
            "operator": lambda x: aj.nn.local_response_norm(x, size, alpha=alpha),
            "composed": composed, "axes": axes,
        },
    )  # fmt: skip


def attention(batch: int, heads: int, tokens: int, width: int) -> Phrased:
    """softmax(q k^T / sqrt(width)) v."""
    shape = (batch, heads, tokens, width)

    def one(q: Any, k: Any, v: Any) -> Any:
        return aj.nn.softmax((q @ k.T) * width**-0.5, dim=-1) @ v

    def composed(q: Any, k: Any, v: Any) -> Any:
        scores = aj.einsum("bhtd,bhsd->bhts", q, k) * width**-0.5
        return aj.einsum("bhts,bhsd->bhtd", aj.nn.softmax(scores, dim=-1), v)

    return Phrased(
        "attention",
        (Input(shape), Input(shape), Input(shape)),
        {
            "operator": aj.nn.scaled_dot_product_attention, "composed": composed,
            "vmap": aj.vmap(aj.vmap(one)),
        },
    )  # fmt: skip


def step_of(forward: Function) -> Callable[..., Any]:
    """(cotangent, *inputs) -> value, gradients; traced."""

    def step(cotangent: Any, *inputs: Any) -> Any:
        f, floats = of_floats(forward, list(inputs))
        out, pullback = aj.vjp(f, *floats)
        return (out, *pullback(cotangent))

    return step


def arguments_of(program: Phrased) -> list[Any]:
    """The cotangent and the inputs."""
    rng = np.random.default_rng(0)
    inputs = [i.draw(rng) for i in program.inputs]
    first = next(iter(program.forwards.values()))
    shape = np.shape(aj.jit(first)(*inputs))
    return [np.asarray(rng.standard_normal(shape), np.float32), *inputs]


def cold_ms(step: Callable[[], Any]) -> float:
    """A first call in a process of its own, which has compiled others but not this one."""
    here, there = multiprocessing.get_context("fork").Pipe(duplex=False)

    def call() -> None:
        start = time.perf_counter()
        step()
        there.send(1e3 * (time.perf_counter() - start))

    child = multiprocessing.get_context("fork").Process(target=call)
    child.start()
    there.close()
    milliseconds: float = here.recv()
    child.join()
    return milliseconds


def measure(program: Phrased, seconds: float) -> dict[str, Any]:
    """Phrasing -> its numbers and its first call's ``first_ms``; refuses a result that differs."""
    arguments = arguments_of(program)
    steps: dict[str, Callable[[], Any]] = {
        name: functools.partial(aj.jit(step_of(forward)), *arguments)
        for name, forward in program.forwards.items()
    }
    # Equal programs are compiled once: after another phrasing a first call would be none.
    first = {name: cold_ms(step) for name, step in steps.items()}
    wanted: list[Any] | None = None
    for name, step in steps.items():
        results = [np.asarray(r, np.float64) for r in step()]
        wanted = wanted or results
        off = difference(results, wanted)
        if not off <= TOLERANCE["float32"]:
            raise RuntimeError(f"'{name}' differs from the first phrasing by {off:.1e}")
    times = timing.interleaved(steps, seconds)
    return {name: {**asdict(t), "first_ms": first[name]} for name, t in times.items()}
