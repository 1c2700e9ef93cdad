"""Shapes that nobody tuned for: odd, thin, tiny, batch 1, long and short.

No row may be behind its best peer by more than a tenth.
"""

from __future__ import annotations

from .contractions import attention, dense_relu, lstm, matmul
from .convolutions import avg_pool, conv, conv_transpose, max_pool
from .elementwise import embedding, fused_chain, tiny
from .images import bilateral_slice, deconv_energy, upsample, warp
from .points import gaussian_kernel, gmm
from .rows import batchnorm, cross_entropy, layernorm, lrn, softmax
from .workload import Workload


def _products() -> list[Workload]:
    sides = [
        (4, 4, 4), (16, 16, 16), (64, 64, 64), (511, 513, 509), (100_000, 4, 4), (8, 65_536, 8),
        (16, 4096, 16), (4096, 16, 2048), (1, 4096, 1024), (1024, 1024, 1),
    ]  # fmt: skip
    dense = [(1, 784, 512), (127, 333, 65), (4096, 64, 10), (32, 4096, 1000)]
    return [
        *(matmul(m, k, n, f"matmul_{m}x{k}x{n}") for m, k, n in sides),
        *(dense_relu(b, i, o, f"dense_relu_{b}x{i}x{o}") for b, i, o in dense),
    ]


def _convolutions() -> list[Workload]:
    return [
        conv("conv3x3_batch1", (1, 64, 28, 28), 64),
        conv("conv3x3_odd", (7, 13, 27, 29), 17),
        conv("conv3x3_tiny", (1, 3, 8, 8), 4),
        conv("conv3x3_deep", (2, 256, 7, 7), 256),
        conv("conv7x7_s2_stem", (4, 3, 112, 112), 64, size=7, stride=2, padding=3),
        conv("conv1x1", (8, 256, 28, 28), 64, size=1, padding=0),
        conv("conv1x1_s2", (8, 128, 28, 28), 256, size=1, stride=2, padding=0),
        conv("conv5x5", (8, 32, 28, 28), 32, size=5, padding=2),
        conv("conv3x3_grouped", (8, 64, 28, 28), 128, groups=8),
        conv("depthwise3x3_x2", (8, 32, 28, 28), 64, groups=32),
        conv("depthwise3x3_s2", (8, 64, 57, 57), 64, stride=2, groups=64),
        conv("depthwise7x7", (4, 64, 28, 28), 64, size=7, padding=3, groups=64),
        conv_transpose("conv_transpose2_s2", (4, 64, 14, 14), 64, 2, 2, 0),
        conv_transpose("conv_transpose3_odd", (3, 13, 11, 9), 7, 3, 2, 1),
        max_pool("maxpool2_s2", (8, 64, 56, 56), 2, 2, 0),
        max_pool("maxpool5_s1", (2, 16, 33, 31), 5, 1, 2),
        avg_pool("avgpool7", (16, 512, 7, 7), 7, 1, 0),
    ]


def _sequences() -> list[Workload]:
    heads = [(4, 8, 128, 32), (4, 8, 128, 80), (4, 8, 128, 128), (1, 1, 63, 33)]
    tokens = [(8, 8, 1, 64), (8, 8, 17, 64), (1, 4, 2048, 64)]
    return [
        *(attention(*s, name="attention_" + "x".join(map(str, s))) for s in [*heads, *tokens]),
        lstm(1, 32, 128, 128, "lstm_1_step"),
        lstm(64, 1, 128, 128, "lstm_batch1"),
        lstm(1000, 8, 16, 16, "lstm_1000_steps"),
    ]


def _rest() -> list[Workload]:
    return [
        softmax(1, 50_000, "softmax_1x50000"),
        softmax(333, 1001, "softmax_333x1001"),
        softmax(100_000, 10, "softmax_100000x10"),
        softmax(2048, 1024, "softmax_spread", scale=30),
        cross_entropy(128, 32_000, "cross_entropy_128x32000"),
        cross_entropy(32, 10, "cross_entropy_32x10"),
        layernorm(1, 1024, "layernorm_1x1024"),
        layernorm(77, 771, "layernorm_77x771"),
        batchnorm((3, 7, 13, 11), "batchnorm_odd"),
        batchnorm((64, 256, 4, 4), "batchnorm_deep"),
        lrn((1, 5, 17, 19), 5, "lrn_odd"),
        fused_chain(1000, "fused_chain_1000"),
        fused_chain(100_003, "fused_chain_100003"),
        tiny(4, "tiny_4x4"),
        embedding(100, 64, 8192, "embedding_duplicates"),
        embedding(5000, 7, 33, "embedding_odd"),
        upsample("upsample_bilinear_odd", (1, 3, 31, 17), "bilinear"),
        upsample("upsample_nearest_odd", (1, 3, 31, 17), "nearest"),
        warp((1, 3, 57, 91), "warp_odd"),
        bilateral_slice(1, (4, 5, 7), (63, 65), "bilateral_slice_odd"),
        deconv_energy(1, 65, 5, "deconv_energy_65"),
        gmm(2, 5, 1000, "gmm_2d"),
        gmm(10, 100, 1000, "gmm_100_components"),
        gaussian_kernel(101, 57, 3, 1, "gaussian_kernel_small"),
        gaussian_kernel(1000, 1000, 32, 8, "gaussian_kernel_32d"),
    ]


def shapes() -> list[Workload]:
    """All of them."""
    return [*_products(), *_convolutions(), *_sequences(), *_rest()]
