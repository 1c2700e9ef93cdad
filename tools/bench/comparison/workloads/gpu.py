"""The listed rows at sizes that fill a GPU, those first that its schedules are made for first.

``small`` has the same rows at sizes that an emulated GPU runs.
"""

from __future__ import annotations

from collections.abc import Callable

from .contractions import attention, dense_relu, lstm, matmul
from .convolutions import avg_pool, conv, conv_transpose, max_pool
from .elementwise import embedding, fused_chain, tiny
from .images import bilateral_slice, deconv_energy, upsample, warp
from .points import gaussian_kernel, gmm
from .rows import batchnorm, cross_entropy, layernorm, lrn, softmax
from .workload import Workload


def gpu() -> list[Workload]:
    """In the order of their importance: a run that has no time for all leaves out the last."""
    return [
        fused_chain(1 << 26),
        softmax(32_768, 1024),
        layernorm(32_768, 1024),
        batchnorm((64, 64, 112, 112)),
        cross_entropy(8192, 32_000),
        matmul(4096, 4096, 4096),
        dense_relu(4096, 4096, 4096),
        conv("conv3x3", (64, 64, 56, 56), 64),
        embedding(50_000, 512, 65_536),
        attention(8, 16, 2048, 64),
        lstm(64, 256, 512, 512),
        tiny(512),
        conv("conv3x3_s2", (64, 128, 56, 56), 256, stride=2),
        conv("conv3x3_d2", (64, 64, 56, 56), 64, padding=2, dilation=2),
        conv("depthwise3x3", (64, 256, 56, 56), 256, groups=256),
        conv_transpose("conv_transpose_s2", (64, 64, 56, 56), 32, 4, 2, 1),
        max_pool("maxpool3_s2", (64, 64, 112, 112), 3, 2, 1),
        avg_pool("avgpool3", (64, 64, 112, 112), 3, 1, 1),
        upsample("upsample_bilinear", (32, 64, 128, 128), "bilinear"),
        upsample("upsample_nearest", (32, 64, 128, 128), "nearest"),
        warp((16, 32, 256, 256)),
        bilateral_slice(4, (8, 32, 32), (1024, 1024)),
        lrn((64, 64, 112, 112), 5),
        gmm(32, 25, 100_000),
        gaussian_kernel(10_000, 12_000, 3, 4),
        deconv_energy(3, 2048),
    ]


def small() -> list[Workload]:
    """Some of them; each has its name."""
    return [
        fused_chain(1000),
        softmax(8, 32),
        layernorm(8, 32),
        batchnorm((2, 4, 8, 8)),
        cross_entropy(8, 32),
        matmul(24, 16, 32),
        dense_relu(16, 24, 8),
        conv("conv3x3", (2, 4, 8, 8), 4),
        embedding(50, 8, 64),
        attention(2, 2, 16, 8),
        lstm(3, 4, 8, 4),
        tiny(8),
        max_pool("maxpool3_s2", (2, 3, 8, 8), 3, 2, 1),
        upsample("upsample_bilinear", (2, 3, 8, 8), "bilinear"),
        warp((2, 3, 8, 8)),
        bilateral_slice(2, (4, 4, 4), (8, 8)),
        gmm(4, 3, 20),
        gaussian_kernel(20, 30, 3, 4),
    ]


#: Names of rows differ within a set.
SETS: dict[str, Callable[[], list[Workload]]] = {"gpu": gpu, "small": small}
