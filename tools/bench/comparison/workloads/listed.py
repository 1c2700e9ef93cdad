"""The rows that every report has."""

from __future__ import annotations

from .contractions import attention, dense_relu, lstm, matmul
from .convolutions import avg_pool, conv, conv_transpose, max_pool
from .elementwise import embedding, fused_chain, tiny
from .images import bilateral_slice, deconv_energy, upsample, warp
from .points import gaussian_kernel, gmm
from .rows import batchnorm, cross_entropy, layernorm, lrn, softmax
from .workload import Workload


def listed() -> list[Workload]:
    """All of them, in the order of the report."""
    return [
        dense_relu(256, 784, 512),
        matmul(512, 512, 512),
        conv("conv3x3", (8, 64, 28, 28), 64),
        conv("conv3x3_s2", (8, 64, 56, 56), 128, stride=2),
        conv("conv3x3_d2", (8, 64, 28, 28), 64, padding=2, dilation=2),
        conv("depthwise3x3", (8, 128, 56, 56), 128, groups=128),
        conv_transpose("conv_transpose_s2", (8, 64, 28, 28), 32, 4, 2, 1),
        max_pool("maxpool3_s2", (16, 64, 56, 56), 3, 2, 1),
        avg_pool("avgpool3", (16, 64, 56, 56), 3, 1, 1),
        softmax(4096, 1024),
        cross_entropy(2048, 1000),
        layernorm(4096, 1024),
        batchnorm((16, 64, 56, 56)),
        fused_chain(4_194_304),
        embedding(50_000, 128, 8192),
        upsample("upsample_bilinear", (8, 32, 64, 64), "bilinear"),
        upsample("upsample_nearest", (8, 32, 64, 64), "nearest"),
        warp((4, 16, 128, 128)),
        bilateral_slice(2, (8, 16, 16), (256, 256)),
        lstm(64, 32, 128, 128),
        attention(8, 8, 256, 64),
        lrn((8, 64, 56, 56), 5),
        gmm(32, 25, 1000),
        gaussian_kernel(2000, 3000, 3, 4),
        deconv_energy(3, 512),
        tiny(64),
    ]
