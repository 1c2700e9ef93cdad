"""Forwards as Halide functions, for its own automatic differentiation.

Each maker gives a function (hl, *inputs) -> Func. Halide counts axes from the innermost one, so
that x[n, c, i, j] of the other frameworks reads x[j, i, c, n] here. Inputs are 0 outside their
extents where their forward reads there.
"""

from __future__ import annotations

from typing import Any

from .workload import Function


def _vars(hl: Any, count: int) -> tuple[Any, ...]:
    return tuple(hl.Var() for _ in range(count))


def _domain(hl: Any, *extents: int) -> Any:
    return hl.RDom([hl.Range(0, e) for e in extents])


def elementwise(rank: int, formula: Function) -> Function:
    """``formula(hl, *values)`` at every point."""

    def forward(hl: Any, *inputs: Any) -> Any:
        at, out = _vars(hl, rank), hl.Func()
        out[at] = formula(hl, *[x[at] for x in inputs])
        return out

    return forward


def matmul(inner: int) -> Function:
    def forward(hl: Any, a: Any, b: Any) -> Any:
        (j, i), k, out = _vars(hl, 2), _domain(hl, inner), hl.Func()
        out[j, i] = 0.0
        out[j, i] += a[k.x, i] * b[j, k.x]
        return out

    return forward


def conv(
    channels: int, size: int, stride: int, padding: int, dilation: int, depthwise: bool
) -> Function:
    """Dense, or with one filter a channel."""

    def forward(hl: Any, x: Any, w: Any) -> Any:
        (j, i, o, n), out = _vars(hl, 4), hl.Func()
        r = _domain(hl, size, size, 1 if depthwise else channels)
        column = j * stride + r.x * dilation - padding
        row = i * stride + r.y * dilation - padding
        out[j, i, o, n] = 0.0
        channel = o if depthwise else r.z
        out[j, i, o, n] += x[column, row, channel, n] * w[r.x, r.y, r.z, o]
        return out

    return forward


def softmax(width: int) -> Function:
    """Without the row's maximum, which Halide cannot leave out of the derivative: less work."""

    def forward(hl: Any, x: Any) -> Any:
        (j, i), k = _vars(hl, 2), _domain(hl, width)
        power, total, out = (hl.Func() for _ in range(3))
        power[j, i] = hl.exp(x[j, i])
        total[i] = 0.0
        total[i] += power[k.x, i]
        out[j, i] = power[j, i] / total[i]
        return out

    return forward


def layernorm(width: int) -> Function:
    def forward(hl: Any, x: Any, scale: Any, shift: Any) -> Any:
        (j, i), k = _vars(hl, 2), _domain(hl, width)
        total, centred, squares, out = (hl.Func() for _ in range(4))
        total[i] = 0.0
        total[i] += x[k.x, i]
        centred[j, i] = x[j, i] - total[i] / width
        squares[i] = 0.0
        squares[i] += centred[k.x, i] * centred[k.x, i]
        out[j, i] = centred[j, i] / hl.sqrt(squares[i] / width + hl.f32(1e-5)) * scale[j] + shift[j]
        return out

    return forward


def lrn(size: int, alpha: float) -> Function:
    def forward(hl: Any, x: Any) -> Any:
        (j, i, c, n), k = _vars(hl, 4), _domain(hl, size)
        squares, out = hl.Func(), hl.Func()
        squares[j, i, c, n] = 0.0
        near = x[j, i, c + k.x - size // 2, n]
        squares[j, i, c, n] += near * near
        out[j, i, c, n] = x[j, i, c, n] / hl.pow(
            1 + hl.f32(alpha / size) * squares[j, i, c, n], 0.75
        )
        return out

    return forward


def gaussian_kernel(count: int, dimensions: int) -> Function:
    def forward(hl: Any, x: Any, y: Any, b: Any) -> Any:
        (c, j, i), r = _vars(hl, 3), _domain(hl, count)
        weight, out = hl.Func(), hl.Func()
        square: Any = 0.0
        for k in range(dimensions):
            square += (x[k, i] - y[k, j]) * (x[k, i] - y[k, j])
        weight[j, i] = hl.exp(-square)
        out[c, i] = 0.0
        out[c, i] += weight[r.x, i] * b[c, r.x]
        return out

    return forward


def max_pool(size: int, stride: int, padding: int, height: int, width: int) -> Function:
    """The largest of size^2 values as one expression; a reduction would have no derivative."""

    def forward(hl: Any, x: Any) -> Any:
        (j, i, c, n), out = _vars(hl, 4), hl.Func()
        largest = None
        for a in range(size):
            for b in range(size):
                row, column = i * stride + a - padding, j * stride + b - padding
                inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
                value = hl.select(inside, x[column, row, c, n], hl.f32(-3e38))
                largest = value if largest is None else hl.max(largest, value)
        out[j, i, c, n] = largest
        return out

    return forward


def warp(height: int, width: int) -> Function:
    def forward(hl: Any, x: Any, flow: Any) -> Any:
        (j, i, c, n), out = _vars(hl, 4), hl.Func()
        y, z = i + flow[j, i, 0, n], j + flow[j, i, 1, n]
        top, left = hl.floor(y), hl.floor(z)
        total: Any = 0.0
        for a, down in ((0, 1 - (y - top)), (1, y - top)):
            for b, right in ((0, 1 - (z - left)), (1, z - left)):
                row = hl.clamp(hl.i32(top) + a, 0, height - 1)
                column = hl.clamp(hl.i32(left) + b, 0, width - 1)
                total += down * right * x[column, row, c, n]
        out[j, i, c, n] = total
        return out

    return forward


def bilateral_slice(grid: tuple[int, int, int], size: tuple[int, int]) -> Function:
    (levels, rows, columns), (height, width) = grid, size

    def forward(hl: Any, grid: Any, guide: Any, image: Any) -> Any:
        (j, i, c, n), (k,), affine, out = _vars(hl, 4), _vars(hl, 1), hl.Func(), hl.Func()
        places = (
            ((j + 0.5) * hl.f32(columns / width) - 0.5, columns),
            ((i + 0.5) * hl.f32(rows / height) - 0.5, rows),
            (guide[j, i, n] * levels - 0.5, levels),
        )
        total: Any = 0.0
        for corner in range(8):
            weight: Any = 1.0
            index = []
            for axis, (place, extent) in enumerate(places):
                bit, low = corner >> axis & 1, hl.floor(place)
                weight = weight * (place - low if bit else 1 - (place - low))
                index.append(hl.clamp(hl.i32(low) + bit, 0, extent - 1))
            total += weight * grid[(*index, k, n)]
        affine[j, i, k, n] = total
        out[j, i, c, n] = affine[j, i, 4 * c + 3, n]
        for channel in range(3):
            out[j, i, c, n] += affine[j, i, 4 * c + channel, n] * image[j, i, channel, n]
        return out

    return forward


def deconv_energy(channels: int, side: int, size: int) -> Function:
    def forward(hl: Any, image: Any, kernel: Any) -> Any:
        (j, i, c), r = _vars(hl, 3), _domain(hl, size, size)
        blurred, variation, out = (hl.Func() for _ in range(3))
        blurred[j, i, c] = 0.0
        shifted = image[j + r.x - size // 2, i + r.y - size // 2, c]
        blurred[j, i, c] += shifted * kernel[r.x, r.y]
        here = image[j, i, c]
        across, down = image[j + 1, i, c] - here, image[j, i + 1, c] - here
        variation[j, i, c] = hl.sqrt(across * across + down * down + hl.f32(1e-3))
        whole = _domain(hl, side, side, channels)
        inner = _domain(hl, side - 1, side - 1, channels)
        out[()] = 0.0
        out[()] += blurred[whole.x, whole.y, whole.z] * blurred[whole.x, whole.y, whole.z]
        out[()] += variation[inner.x, inner.y, inner.z]
        return out

    return forward
