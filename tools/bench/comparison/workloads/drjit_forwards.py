"""Forwards of Dr.Jit's tensors: functions (dr, *tensors) -> tensor."""

from __future__ import annotations

from typing import Any


def _types(dr: Any, tensor: Any) -> tuple[Any, Any, Any]:
    """Arrays of floats, unsigned and signed integers that go with a tensor."""
    floats = dr.array_t(tensor)
    return floats, dr.uint32_array_t(floats), dr.int32_array_t(floats)


def softmax(dr: Any, x: Any) -> Any:
    power = dr.exp(x - dr.detach(dr.max(x, axis=1))[:, None])
    return power / dr.sum(power, axis=1)[:, None]


def layernorm(dr: Any, x: Any, scale: Any, shift: Any) -> Any:
    centred = x - dr.mean(x, axis=1)[:, None]
    variance = dr.mean(centred * centred, axis=1)[:, None]
    return centred * dr.rsqrt(variance + 1e-5) * scale[None, :] + shift[None, :]


def warp(dr: Any, x: Any, flow: Any) -> Any:
    """One lane a number of the result; each reads four."""
    floats, unsigned, signed = _types(dr, x)
    n, channels, height, width = x.shape
    number = dr.arange(unsigned, n * channels * height * width)
    image = number // (channels * height * width)
    within = number % (height * width)
    plane, across = number - within, image * (2 * height * width) + within
    y = floats(within // width) + dr.gather(floats, flow.array, across)
    z = floats(within % width) + dr.gather(floats, flow.array, across + height * width)
    top, left = dr.floor(dr.detach(y)), dr.floor(dr.detach(z))
    total: Any = 0
    for a, down in ((0, 1 - (y - top)), (1, y - top)):
        for b, right in ((0, 1 - (z - left)), (1, z - left)):
            row = dr.clip(signed(top) + a, 0, height - 1)
            column = dr.clip(signed(left) + b, 0, width - 1)
            at = plane + unsigned(row * width + column)
            total += down * right * dr.gather(floats, x.array, at)
    return type(x)(total, x.shape)


def gaussian_kernel(dr: Any, x: Any, y: Any, b: Any) -> Any:
    """One lane a row of x, a loop over y."""
    floats, unsigned, _ = _types(dr, x)
    (n, dimensions), (m, columns) = x.shape, b.shape
    i = dr.arange(unsigned, n)
    own = [dr.gather(floats, x.array, i * dimensions + k) for k in range(dimensions)]

    def add(j: Any, *sums: Any) -> Any:
        square: Any = 0
        for k in range(dimensions):
            square += (own[k] - dr.gather(floats, y.array, j * dimensions + k)) ** 2
        weight = dr.exp(-square)
        parts = [weight * dr.gather(floats, b.array, j * columns + c) for c in range(columns)]
        return (j + 1, *[s + p for s, p in zip(sums, parts, strict=True)])

    start = (unsigned(0), *[dr.zeros(floats, n) for _ in range(columns)])
    sums = dr.while_loop(start, lambda j, *_: j < m, add, max_iterations=m)[1:]
    out = dr.zeros(floats, n * columns)
    for c, column in enumerate(sums):
        dr.scatter(out, column, i * columns + c)
    return type(x)(out, (n, columns))


def product(dr: Any, a: Any, b: Any) -> Any:
    return a @ b
