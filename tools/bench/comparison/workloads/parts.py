"""Parts of networks, losses and array programs, as users write them; peers are torch and JAX.

No row stands here because it suits anyone: they were written down first and measured then.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .library import Library, in_each
from .workload import Input, Work, Workload

Shape = tuple[int, ...]


def part(
    name: str, inputs: list[Shape | Input], forward: Callable[..., Any], flops: float = 0
) -> Workload:
    """A row of normal numbers (of deviation 0.5) of these shapes.

    ``flops``: of the products and convolutions that the gradients need at least; the arrays cross
    the bus once, and their gradients. What functions and pairs cost is left out: where these
    decide, the limit says little.
    """
    drawn = [i if isinstance(i, Input) else Input(i, scale=0.5) for i in inputs]
    floats = 2 * sum(math.prod(i.shape) for i in drawn if i.kind != "index")
    ours, torch, jax = in_each(forward)
    # A forward product is half of its two gradients.
    work, value = Work(flops=flops, floats=floats), Work(flops=flops / 2)
    return Workload(name, tuple(drawn), work, value, ours, torch, jax)


def index(below: int, *shape: int) -> Input:
    return Input(shape, "index", below=below)


def weight(*shape: int) -> Input:
    """A matrix whose products stay small."""
    return Input(shape, scale=0.1)


def product(*extents: int) -> float:
    """FLOPs of both gradients of a product (or convolution) over these extents."""
    return 4.0 * math.prod(extents)


def silu(m: Library, x: Any) -> Any:
    return x * m.sigmoid(x)


def squared(x: Any) -> Any:
    return x * x


# ---- Networks -----------------------------------------------------------------------------------


def transformer_block(
    m: Library, x: Any, s1: Any, b1: Any, wq: Any, wk: Any, wv: Any, wo: Any, s2: Any, b2: Any,
    w1: Any, w2: Any,
) -> Any:  # fmt: skip
    batch, steps, width = x.shape
    normal = m.layer_norm(x, s1, b1)

    def heads(w: Any) -> Any:
        return m.permute(m.reshape(normal @ w, (batch, steps, 4, width // 4)), (0, 2, 1, 3))

    mixed = m.permute(attention(m, heads(wq), heads(wk), heads(wv)), (0, 2, 1, 3))
    x = x + m.reshape(mixed, (batch, steps, width)) @ wo
    return x + m.gelu(m.layer_norm(x, s2, b2) @ w1) @ w2


def attention_layers(m: Library, x: Any, *weights: Any) -> Any:
    """Heads of 64, mixed by a product before the next layer."""
    batch, steps, width = x.shape
    for wq, wk, wv, wo in zip(*(weights[k::4] for k in range(4)), strict=True):
        q, k, v = (
            m.permute(m.reshape(x @ w, (batch, steps, width // 64, 64)), (0, 2, 1, 3))
            for w in (wq, wk, wv)
        )
        mixed = m.permute(m.fused_attention(q, k, v), (0, 2, 1, 3))
        x = x + m.reshape(mixed, (batch, steps, width)) @ wo
    return x


def attention(m: Library, q: Any, k: Any, v: Any, bias: Any = 0.0) -> Any:
    scores = (q @ m.permute(k, (0, 1, 3, 2))) * 0.125
    return m.softmax(scores + bias) @ v


def causal_attention(m: Library, q: Any, k: Any, v: Any) -> Any:
    steps = q.shape[2]
    later = np.triu(np.full((steps, steps), -1e9, np.float32), 1)
    return attention(m, q, k, v, m.constant(later))


def perceptron(
    m: Library, x: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, y: Any
) -> Any:
    h = m.gelu(m.gelu(x @ w1 + b1) @ w2 + b2)
    return -m.sum(m.log_softmax(h @ w3 + b3) * y, axis=-1)


def residual_block(m: Library, x: Any, w1: Any, s1: Any, b1: Any, w2: Any, s2: Any, b2: Any) -> Any:
    h = silu(m, m.batch_norm(m.conv(x, w1, padding=1), s1, b1))
    return silu(m, m.batch_norm(m.conv(h, w2, padding=1), s2, b2) + x)


def group_norm(m: Library, x: Any, scale: Any, shift: Any) -> Any:
    n, channels, height, width = x.shape
    shape = (1, channels, 1, 1)
    y = m.reshape(m.standardized(m.reshape(x, (n, 8, -1)), -1), (n, channels, height, width))
    return silu(m, y * m.reshape(scale, shape) + m.reshape(shift, shape))


def squeeze_and_excite(m: Library, x: Any, w1: Any, w2: Any) -> Any:
    gate = m.sigmoid(m.relu(m.mean(x, axis=(2, 3)) @ w1) @ w2)
    return x * m.reshape(gate, (*x.shape[:2], 1, 1))


def gru(m: Library, x: Any, wx: Any, wh: Any) -> Any:
    """Steps written out in Python."""
    width = wh.shape[0]
    given = x @ wx
    h = m.tanh(given[0][:, 2 * width :])
    for t in range(1, x.shape[0]):
        a, b = given[t], h @ wh
        z = m.sigmoid(a[:, :width] + b[:, :width])
        r = m.sigmoid(a[:, width : 2 * width] + b[:, width : 2 * width])
        h = z * h + (1 - z) * m.tanh(a[:, 2 * width :] + r * b[:, 2 * width :])
    return h


def mixture_of_experts(m: Library, x: Any, gate: Any, w: Any) -> Any:
    return m.einsum("ne,neo->no", m.softmax(x @ gate), m.einsum("nd,edo->neo", x, w))


def rotary(m: Library, x: Any, c: Any, s: Any) -> Any:
    a, b = x[..., :32], x[..., 32:]
    return m.concat([a * c - b * s, a * s + b * c], -1)


def pixel_shuffle(m: Library, x: Any) -> Any:
    n, channels, height, width = x.shape
    split = m.permute(m.reshape(x, (n, channels // 4, 2, 2, height, width)), (0, 1, 4, 2, 5, 3))
    return m.tanh(m.reshape(split, (n, channels // 4, 2 * height, 2 * width)))


def patches(m: Library, x: Any, w: Any) -> Any:
    split = m.permute(m.reshape(x, (8, 3, 14, 16, 14, 16)), (0, 2, 4, 1, 3, 5))
    return m.reshape(split, (8, 196, 768)) @ w


def additive_attention(m: Library, keys: Any, queries: Any, w: Any) -> Any:
    summed = m.reshape(keys, (16, 1, 64, 128)) + m.reshape(queries, (16, 32, 1, 128))
    return m.softmax(m.sum(m.tanh(summed) * w, axis=3))


def networks() -> list[Workload]:
    d = 256
    block = [(4, 128, d), (d,), (d,), *[weight(d, d)] * 4, (d,), (d,), weight(d, 4 * d)]
    image: Shape = (8, 64, 56, 56)
    head: Shape = (2, 8, 256, 64)
    return [
        part("transformer_block", [*block, weight(4 * d, d)], transformer_block,
             product(512, 12 * d, d) + 8 * product(2, 128, 128, d)),
        part("attention_layers_1024", [(1, 1024, d), *[weight(d, d)] * 8], attention_layers,
             2 * (product(1024, 4 * d, d) + 3 * product(4, 1024, 1024, 64))),
        part("attention_layers_2048", [(1, 2048, d), *[weight(d, d)] * 8], attention_layers,
             2 * (product(2048, 4 * d, d) + 3 * product(4, 2048, 2048, 64))),
        part("perceptron", [(128, 784), weight(784, 512), (512,), weight(512, 512), (512,),
                            weight(512, 10), (10,), (128, 10)],
             perceptron, product(128, 512, 784 + 512 + 10)),
        part("residual_block", [(8, 64, 28, 28), *[weight(64, 64, 3, 3), (64,), (64,)] * 2],
             residual_block, 2 * product(8, 784, 64, 64, 9)),
        part("group_norm_silu", [image, (64,), (64,)], group_norm),
        part("instance_norm", [(16, 64, 56, 56)], lambda m, x: m.standardized(x, (2, 3))),
        part("batch_norm_last", [(16, 56, 56, 64), (64,), (64,)],
             lambda m, x, s, b: m.standardized(x, (0, 1, 2)) * s + b),
        part("rms_norm", [(4096, 1024), (1024,)],
             lambda m, x, s: x / m.sqrt(m.mean(x * x, axis=-1, keepdims=True) + 1e-6) * s),
        part("layer_norm_short", [(32768, 64), (64,), (64,)], Library.layer_norm),
        part("layer_norm_channels", [(8, 96, 28, 28), (96,), (96,)],
             lambda m, x, s, b: m.layer_norm(m.permute(x, (0, 2, 3, 1)), s, b)),
        part("gelu_bias", [(4096, 1024), (1024,)], lambda m, x, b: m.gelu(x + b)),
        part("swiglu", [(512, d), weight(d, 688), weight(d, 688), weight(688, d)],
             lambda m, x, w, v, o: (silu(m, x @ w) * (x @ v)) @ o, 3 * product(512, d, 688)),
        part("conv1d", [(8, 64, 1024), weight(64, 64, 5)],
             lambda m, x, w: m.conv(x, w, padding=2), product(8, 1024, 64, 64, 5)),
        part("conv1d_d4", [(8, 64, 512), weight(64, 64, 3)],
             lambda m, x, w: silu(m, m.conv(x, w, padding=4, dilation=4)),
             product(8, 512, 64, 64, 3)),
        part("conv3d", [(2, 16, 16, 32, 32), weight(32, 16, 3, 3, 3)],
             lambda m, x, w: m.conv(x, w, padding=1), product(2, 16, 1024, 16, 32, 27)),
        part("conv_1x7", [(8, 64, 28, 28), weight(64, 64, 1, 7)],
             lambda m, x, w: m.conv(x, w, padding=(0, 3)), product(8, 784, 64, 64, 7)),
        part("conv_patches16", [(8, 3, 224, 224), weight(192, 3, 16, 16)],
             lambda m, x, w: m.conv(x, w, stride=16), product(8, 196, 192, 768)),
        part("conv_to_colour", [(4, 64, 128, 128), weight(3, 64, 3, 3)],
             lambda m, x, w: m.conv(x, w, padding=1), product(4, 16384, 64, 3, 9)),
        part("conv_of_colour", [(4, 3, 128, 128), weight(64, 3, 3, 3)],
             lambda m, x, w: m.conv(x, w, padding=1), product(4, 16384, 64, 3, 9)),
        part("conv_dilated_groups", [(4, 64, 32, 32), weight(64, 16, 3, 3)],
             lambda m, x, w: m.conv(x, w, padding=4, dilation=4, groups=4),
             product(4, 1024, 64, 16, 9)),
        part("conv_small_images", [(256, 32, 4, 4), weight(64, 32, 3, 3)],
             lambda m, x, w: m.conv(x, w, padding=1), product(256, 16, 64, 32, 9)),
        part("separable_conv", [image, weight(64, 1, 3, 3), weight(128, 64, 1, 1)],
             lambda m, x, v, w: m.conv(silu(m, m.conv(x, v, padding=1, groups=64)), w),
             product(8, 3136, 64, 128 + 9)),
        part("conv_flatten_linear", [(64, 16, 28, 28), weight(32, 16, 3, 3), weight(6272, 128)],
             lambda m, x, k, w: m.tanh(
                 m.reshape(silu(m, m.conv(x, k, stride=2, padding=1)), (64, -1)) @ w),
             product(64, 196, 32, 16, 9) + product(64, 6272, 128)),
        part("squeeze_and_excite", [image, (64, 16), (16, 64)], squeeze_and_excite),
        part("film", [image, (8, 64), (8, 64)],
             lambda m, x, s, b: silu(m, x * m.reshape(s, (8, 64, 1, 1))
                                     + m.reshape(b, (8, 64, 1, 1)))),
        part("global_max", [(16, 256, 14, 14)], lambda m, x: m.max(x, (2, 3))),
        part("pixel_shuffle", [image], pixel_shuffle),
        part("patches", [(8, 3, 224, 224), weight(768, 192)], patches,
             product(8, 196, 768, 192)),
        part("spatial_softmax", [(16, 64, 56, 56)],
             lambda m, x: m.reshape(m.softmax(m.reshape(x, (16, 64, -1))), (16, 64, 56, 56))),
        part("causal_attention", [head] * 3, causal_attention, 2.5 * product(16, 256, 256, 64)),
        part("attention_bias", [head, head, head, (8, 256, 256)], attention,
             2.5 * product(16, 256, 256, 64)),
        part("cross_attention", [(2, 8, 64, 64), (2, 8, 1024, 64), (2, 8, 1024, 64)], attention,
             2.5 * product(16, 64, 1024, 64)),
        part("one_query_attention", [(8, 8, 1, 64), (8, 8, 2048, 64), (8, 8, 2048, 64)],
             attention),
        part("additive_attention", [(16, 64, 128), (16, 32, 128), (128,)], additive_attention),
        part("rotary", [(4, 8, 512, 64), (512, 32), (512, 32)], rotary),
        part("gru_in_python", [(32, 32, 64), weight(64, 192), weight(64, 192)], gru,
             64 * product(32, 64, 192)),
        part("mixture_of_experts", [(1024, d), (d, 8), weight(8, d, 64)], mixture_of_experts,
             product(1024, d, 512)),
        part("highway", [(512, 512), weight(512, 512), weight(512, 512)],
             lambda m, x, w, v: (lambda t: t * m.tanh(x @ w) + (1 - t) * x)(m.sigmoid(x @ v)),
             2 * product(512, 512, 512)),
        part("bilinear_layer", [(d, 64), weight(128, 64, 64), (d, 64)],
             lambda m, x, w, y: m.einsum("bi,oij,bj->bo", x, w, y), product(d, 128, 64, 64)),
        part("sine_network", [(4096, 64), (64, 64), weight(64, 64)],
             lambda m, x, a, b: m.sin(3 * (m.sin(3 * (x @ a)) @ b)), 2 * product(4096, 64, 64)),
        part("low_rank", [(1024, 1024), (1024, 8), (8, 1024), (64, 1024)],
             lambda m, w, a, b, x: x @ (w + a @ b), product(64, 1024, 1024)),
    ]  # fmt: skip


# ---- Losses and models --------------------------------------------------------------------------


def gaussian_mixture(m: Library, p: Any, mean: Any, spread: Any, y: Any) -> Any:
    z = (y - mean) * m.exp(-spread)
    return m.logsumexp(m.log_softmax(p) - 0.5 * z * z - spread, 1)


def volume_rendering(m: Library, density: Any, colour: Any) -> Any:
    alpha = 1 - m.exp(-0.1 * m.relu(density))
    weights = alpha * m.cumprod(1 - alpha + 1e-6, 1)
    return m.sum(m.reshape(weights, (*density.shape, 1)) * colour, axis=1)


def factorization(m: Library, i: Any, j: Any, u: Any, v: Any, rating: Any) -> Any:
    return squared(m.sum(m.take(u, i, axis=0) * m.take(v, j, axis=0), axis=1) - rating)


def contrastive(m: Library, x: Any) -> Any:
    identity = m.constant(np.eye(512, dtype=np.float32))
    return -m.sum(m.log_softmax((x @ m.permute(x, (1, 0))) * 0.1) * identity, axis=1)


def energy_of_bodies(m: Library, p: Any, q: Any) -> Any:
    n = p.shape[0]
    apart = m.reshape(p, (n, 1, 3)) - m.reshape(p, (1, n, 3))
    distance = m.sqrt(m.sum(apart * apart, axis=2) + 0.01)
    return m.sum(m.reshape(q, (n, 1)) * m.reshape(q, (1, n)) / distance, axis=1)


def squared_distances(m: Library, x: Any, y: Any) -> Any:
    n, k, width = x.shape[0], y.shape[0], x.shape[1]
    return m.sum(squared(m.reshape(x, (n, 1, width)) - m.reshape(y, (1, k, width))), axis=2)


def mahalanobis(m: Library, x: Any, mean: Any, a: Any) -> Any:
    z = m.reshape(x, (1000, 1, 16)) - mean
    return m.einsum("nki,kij,nkj->nk", z, a, z)


def huber(m: Library, x: Any, y: Any) -> Any:
    e = x - y
    return m.where(m.abs(e) < 1, 0.5 * e * e, m.abs(e) - 0.5)


def losses() -> list[Workload]:
    return [
        part("contrastive", [(512, 128)], contrastive, product(512, 512, 128)),
        part("mixture_density", [(4096, 16), (4096, 16), (4096, 16), (4096, 1)],
             gaussian_mixture),
        part("volume_rendering", [(4096, 64), (4096, 64, 3)], volume_rendering),
        part("matrix_factorization",
             [index(10000, 100000), index(5000, 100000), (10000, 32), (5000, 32), (100000,)],
             factorization),
        part("bag_of_words", [index(20000, 256, 50), (20000, 64), (64, 10)],
             lambda m, i, t, w: m.mean(m.take(t, i, axis=0), axis=1) @ w),
        part("bodies", [(1000, 3), (1000,)], energy_of_bodies),
        part("radial_basis", [(2000, 8), (100, 8), (100, 3)],
             lambda m, x, c, w: m.exp(-squared_distances(m, x, c)) @ w),
        part("mahalanobis", [(1000, 16), (20, 16), (20, 16, 16)], mahalanobis,
             product(20000, 16, 16)),
        part("pairwise_l1", [(300, 64), (400, 64)],
             lambda m, x, y: m.sum(m.abs(m.reshape(x, (300, 1, 64)) - m.reshape(y, (1, 400, 64))),
                                   axis=2)),
        part("huber", [(4096, 1024), (4096, 1024)], huber),
        part("kl_of_rows", [(2048, 1000), (2048, 1000)],
             lambda m, p, q: m.sum(m.softmax(p) * (m.log_softmax(p) - m.log_softmax(q)), axis=1)),
        part("cosine", [(4096, 256), (4096, 256)],
             lambda m, a, b: m.sum(a * b, axis=1)
             / m.sqrt(m.sum(a * a, axis=1) * m.sum(b * b, axis=1))),
        part("normalized_rows", [(16384, 128)],
             lambda m, x: x / m.sqrt(m.sum(x * x, axis=1, keepdims=True) + 1e-12)),
        part("logistic_regression", [(10000, 100), (100,), (10000,)],
             lambda m, x, w, y: m.log(1 + m.exp(-y * (x @ w)))),
        part("cross_entropy_of_logits", [(64, 1, 128, 128), (64, 1, 128, 128)],
             lambda m, x, y: m.relu(x) - x * y + m.log(1 + m.exp(-m.abs(x)))),
        part("focal", [(65536, 4), (65536, 4)],
             lambda m, x, y: -m.sum(y * squared(1 - m.softmax(x)) * m.log_softmax(x), axis=1)),
        part("log_softmax_channels", [(8, 21, 64, 64)], lambda m, x: m.log_softmax(x, 1)),
        part("chosen_log_likelihood", [index(1000, 4096, 1), (4096, 1000)],
             lambda m, i, x: -m.take_along_axis(m.log_softmax(x), i, axis=1)),
        part("gram", [(8, 64, 56, 56)],
             lambda m, x: (lambda z: z @ m.permute(z, (0, 2, 1)))(m.reshape(x, (8, 64, 3136))),
             product(8, 64, 64, 3136)),
        part("covariance", [(4096, 128)],
             lambda m, x: (lambda c: m.permute(c, (1, 0)) @ c)(
                 x - m.mean(x, axis=0, keepdims=True)), product(4096, 128, 128) / 2),
        part("quadratic_form", [(4096, 64), (64, 64)],
             lambda m, x, a: m.sum((x @ a) * x, axis=1), product(4096, 64, 64)),
    ]  # fmt: skip


# ---- Arrays and images --------------------------------------------------------------------------


def neighbours(u: Any) -> Any:
    """The sum of four, in the interior of the last two axes."""
    return u[..., 2:, 1:-1] + u[..., :-2, 1:-1] + u[..., 1:-1, 2:] + u[..., 1:-1, :-2]


def reflected_blur(m: Library, x: Any) -> Any:
    p = m.reflected(x)
    return p[:, :, 2:, :] + 2 * p[:, :, 1:-1, :] + p[:, :, :-2, :]


def arrays() -> list[Workload]:
    million: Shape = (1 << 20,)
    return [
        part("softmax_axis0", [(1024, 4096)], lambda m, x: m.softmax(x, 0)),
        part("logsumexp_middle", [(32, 256, 512)], lambda m, x: m.logsumexp(x, 1)),
        part("tanh_of_sums", [(2048, 1024)], lambda m, x: m.tanh(m.cumsum(x, 1))),
        part("tanh_of_sums_axis0", [(1024, 2048)], lambda m, x: m.tanh(m.cumsum(x, 0))),
        part("column_sums", [(65536, 64), (64,)], lambda m, x, w: m.sum(m.tanh(x * w), axis=0)),
        part("transposed_product", [(1024, 1024), (1024, 1024)],
             lambda m, x, y: m.tanh(m.permute(x, (1, 0)) * y)),
        part("permuted", [(16, 32, 48, 40)], lambda m, x: m.exp(m.permute(x, (3, 1, 0, 2)))),
        part("channel_shuffle", [(8, 64, 56, 56)],
             lambda m, x: m.tanh(m.reshape(m.permute(
                 m.reshape(x, (8, 4, 16, 56, 56)), (0, 2, 1, 3, 4)), (8, 64, 56, 56)))),
        part("strided_slices", [(1024, 1024)],
             lambda m, x: m.sin(x[::2, ::2]) * m.cos(x[1::2, 1::2])),
        part("rolled", [(512, 1024), (512, 1024)], lambda m, x, y: m.roll(x, 17, 1) * y),
        part("flipped", [(512, 1024)], lambda m, x: m.tanh(m.flip(x, axis=1)) * x),
        part("conditions", [million, million],
             lambda m, x, y: m.where(x > 0, m.where(y > 0, x * y, x + y),
                                     m.where(y > 0.5, m.exp(x), y * y * x))),
        part("polynomial", [million], lambda m, x: 1 + x * (2 + x * (3 + x * (4 + x * 5)))),
        part("laplacian", [(8, 256, 256)],
             lambda m, x: squared(neighbours(x) - 4 * x[:, 1:-1, 1:-1])),
        part("wave_step", [(256, 256), (256, 256)],
             lambda m, u, v: 1.6 * u[1:-1, 1:-1] - v[1:-1, 1:-1] + 0.1 * neighbours(u)),
        part("total_variation", [(2048, 2048)],
             lambda m, x: m.sum(m.abs(x[1:] - x[:-1])) + m.sum(m.abs(x[:, 1:] - x[:, :-1]))),
        part("reflected_blur", [(8, 1, 128, 128)], reflected_blur),
        part("outer_products", [(1024, 64), (1024, 64)],
             lambda m, a, b: m.reshape(a, (1024, 64, 1)) * m.reshape(b, (1024, 1, 64))),
        part("kronecker", [(32, 32), (48, 48)],
             lambda m, a, b: m.tanh(m.reshape(
                 m.reshape(a, (32, 1, 32, 1)) * m.reshape(b, (1, 48, 1, 48)), (1536, 1536)))),
        part("small_products", [(4096, 8, 8), (4096, 8, 8)], lambda m, a, b: a @ b,
             product(4096, 8, 8, 8)),
        part("matrix_vector", [(512, 128, 128), (512, 128, 1)], lambda m, a, b: a @ b),
        part("transposed_matrices", [(384, 512), (640, 384)],
             lambda m, a, b: m.permute(a, (1, 0)) @ m.permute(b, (1, 0)),
             product(384, 512, 640)),
        part("cube_of_a_matrix", [(128, 128)], lambda m, a: a @ a @ a,
             1.5 * product(128, 128, 128)),
        part("tall_product", [(100000, 32), (32, 32)], lambda m, x, w: silu(m, x @ w),
             1.5 * product(100000, 32, 32)),
        part("einsum_of_three", [(16, 32, 24), (24, 20, 32), (16, 20)],
             lambda m, a, b, c: m.einsum("abc,cdb,ad->a", a, b, c)),
        part("diagonals", [(64, 64, 64)], lambda m, a: m.einsum("iij->j", a)),
    ]  # fmt: skip


def parts() -> list[Workload]:
    return [*networks(), *losses(), *arrays()]
