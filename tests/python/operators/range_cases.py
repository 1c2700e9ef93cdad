"""How operators that are not elementwise are called at the ends of the range, and PyTorch's way.

A new operator needs a row here unless it is elementwise and PyTorch has it by the same name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import adjit as aj
import numpy as np
import torch

F = torch.nn.functional


class Case(NamedTuple):
    """Both take operands of these shapes, all floats; integer operands are closed over."""

    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]


ROW, ROWS, IMAGE = (4,), (2, 4), (1, 2, 4, 4)
_AT = np.array([[2, 0, 1], [0, 0, 3]])
_T_AT = torch.tensor(_AT)
_CLASSES = np.array([1, 3])
_MASK = np.array([[True, False, False, True], [False, True, False, False]])
_T_MASK = torch.tensor(_MASK)
_ONCE = np.array([[2, 0], [1, 3]])
_TARGETS = np.array([[0.0, 1.0, 0.0, 0.5], [1.0, 0.25, 0.0, 1.0]], np.float32)
_ROWS = np.array([1, 0, 1])


def _axis(name: str, **attributes: Any) -> Case:
    """A reduction over the last axis: axis= for dim=."""
    ours, theirs = getattr(aj, name), getattr(torch, name)
    return Case(
        lambda x: ours(x, axis=1, **attributes), lambda x: theirs(x, dim=1, **attributes), (ROWS,)
    )


def _nn(name: str, *shapes: tuple[int, ...], **attributes: Any) -> Case:
    """torch.nn.functional's function of that name and with these attributes."""
    ours, theirs = getattr(aj.nn, name), getattr(F, name)
    return Case(lambda *x: ours(*x, **attributes), lambda *x: theirs(*x, **attributes), shapes)


def _method(name: str, *shapes: tuple[int, ...]) -> Case:
    return Case(getattr(aj, name), getattr(torch, name), shapes or (ROWS,))


def _values(name: str) -> Case:
    """The extremes over an axis, with even shares."""
    ours, theirs = getattr(aj, name), getattr(torch, "a" + name)
    return Case(lambda x: ours(x, axis=1), lambda x: theirs(x, 1), (ROWS,))


def _running(name: str) -> Case:
    ours, theirs = getattr(aj, name), getattr(torch, name)

    def run(x: Any) -> Any:
        y = theirs(x, 1)
        return y if isinstance(y, torch.Tensor) else y.values

    return Case(lambda x: ours(x, axis=1), run, (ROWS,))


def _moved(ours: Callable[..., Any], theirs: Callable[..., Any], *shapes: tuple[int, ...]) -> Case:
    return Case(ours, theirs, shapes or (ROWS,))


def _rms(x: Any, w: Any) -> Any:
    return F.rms_norm(x, (4,), w, eps=1e-5)


CASES: dict[str, Case] = {
    # Reductions.
    "sum": _axis("sum"),
    "prod": _axis("prod"),
    "mean": _axis("mean"),
    "max": _values("max"),
    "min": _values("min"),
    "var": _axis("var", correction=1),
    "std": _axis("std", correction=1),
    "any": _moved(lambda x: aj.any(x != 0, axis=1), lambda x: (x != 0).any(1)),
    "all": _moved(lambda x: aj.all(x != 0, axis=1), lambda x: (x != 0).all(1)),
    "count_nonzero": _axis("count_nonzero"),
    "argmax": _axis("argmax"),
    "argmin": _axis("argmin"),
    "logsumexp": _axis("logsumexp"),
    "linalg.vector_norm": Case(
        lambda x: aj.linalg.vector_norm(x, axis=1),
        lambda x: torch.linalg.vector_norm(x, dim=1),
        (ROWS,),
    ),
    "trace": _moved(aj.trace, torch.trace, (3, 3)),
    # Running.
    **{name: _running(name) for name in ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp")},
    # Products.
    "matmul": _method("matmul", (2, 3), (3, 2)),
    "dot": _method("dot", ROW, ROW),
    "vecdot": Case(aj.vecdot, torch.linalg.vecdot, (ROWS, ROWS)),
    "outer": _method("outer", ROW, ROW),
    "tensordot": Case(
        lambda a, b: aj.tensordot(a, b, axes=1),
        lambda a, b: torch.tensordot(a, b, 1),
        ((2, 3), (3, 2)),
    ),
    "einsum": Case(
        lambda a, b: aj.einsum("ij,kj->ik", a, b),
        lambda a, b: torch.einsum("ij,kj->ik", a, b),
        ((2, 3), (2, 3)),
    ),
    "nn.linear": _nn("linear", (2, 3), (2, 3), (2,)),
    "nn.bias_add": _moved(aj.nn.bias_add, lambda x, b: x + b, (2, 3), (3,)),
    "nn.conv1d": _nn("conv1d", (1, 2, 5), (2, 2, 3), (2,), padding=1),
    "nn.conv2d": _nn("conv2d", IMAGE, (2, 2, 3, 3), padding=1),
    "nn.conv3d": _nn("conv3d", (1, 1, 3, 3, 3), (1, 1, 2, 2, 2), padding=1),
    "nn.conv_transpose1d": _nn("conv_transpose1d", (1, 2, 4), (2, 2, 3), stride=2),
    "nn.conv_transpose2d": _nn("conv_transpose2d", (1, 1, 3, 3), (1, 2, 2, 2), stride=2),
    "nn.conv_transpose3d": _nn("conv_transpose3d", (1, 1, 2, 2, 2), (1, 1, 2, 2, 2)),
    "nn.scaled_dot_product_attention": _nn(
        "scaled_dot_product_attention", (1, 2, 3), (1, 3, 3), (1, 3, 2)
    ),
    # Normalizations.
    "nn.softmax": _nn("softmax", ROWS, dim=1),
    "nn.softmin": _nn("softmin", ROWS, dim=1),
    "nn.log_softmax": _nn("log_softmax", ROWS, dim=1),
    "nn.layer_norm": Case(
        lambda x, w, b: aj.nn.layer_norm(x, (4,), w, b),
        lambda x, w, b: F.layer_norm(x, (4,), w, b),
        (ROWS, ROW, ROW),
    ),
    "nn.rms_norm": Case(lambda x, w: aj.nn.rms_norm(x, (4,), w, eps=1e-5), _rms, (ROWS, ROW)),
    "nn.batch_norm": _nn("batch_norm", (4, 2), running_mean=None, running_var=None, training=True),
    "nn.group_norm": _nn("group_norm", (1, 4, 3), num_groups=2),
    "nn.instance_norm": _nn("instance_norm", (1, 2, 4)),
    "nn.normalize": _nn("normalize", ROWS),
    "nn.local_response_norm": _nn("local_response_norm", (1, 4, 2), size=3),
    "nn.cosine_similarity": _nn("cosine_similarity", ROWS, ROWS),
    # Losses over classes.
    "nn.cross_entropy": Case(
        lambda x: aj.nn.cross_entropy(x, _CLASSES, label_smoothing=0.1),
        lambda x: F.cross_entropy(x, torch.tensor(_CLASSES), label_smoothing=0.1),
        (ROWS,),
    ),
    "nn.nll_loss": Case(
        lambda x: aj.nn.nll_loss(x, _CLASSES),
        lambda x: F.nll_loss(x, torch.tensor(_CLASSES)),
        (ROWS,),
    ),
    # Windows.
    **{
        f"nn.avg_pool{d}d": _nn(f"avg_pool{d}d", (1, 1, *(4,) * d), kernel_size=2)
        for d in (1, 2, 3)
    },
    **{
        f"nn.max_pool{d}d": _nn(
            f"max_pool{d}d", (1, 1, *(4,) * d), kernel_size=3, stride=1, padding=1
        )
        for d in (1, 2, 3)
    },
    "nn.adaptive_avg_pool1d": _nn("adaptive_avg_pool1d", (1, 1, 5), output_size=2),
    "nn.adaptive_avg_pool2d": _nn("adaptive_avg_pool2d", IMAGE, output_size=(2, 3)),
    "nn.adaptive_max_pool1d": _nn("adaptive_max_pool1d", (1, 1, 5), output_size=2),
    "nn.adaptive_max_pool2d": _nn("adaptive_max_pool2d", IMAGE, output_size=(2, 3)),
    "nn.global_avg_pool": _moved(
        aj.nn.global_avg_pool, lambda x: F.adaptive_avg_pool2d(x, 1), IMAGE
    ),
    "nn.global_max_pool": _moved(
        aj.nn.global_max_pool, lambda x: F.adaptive_max_pool2d(x, 1), IMAGE
    ),
    "nn.interpolate": _nn("interpolate", IMAGE, size=(7, 5), mode="nearest"),
    "nn.upsample": _moved(
        lambda x: aj.nn.upsample(x, scale_factor=2, mode="bilinear"),
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
        IMAGE,
    ),
    "image.upsample": _moved(
        lambda x: aj.image.upsample(x, scale_factor=2),
        lambda x: F.interpolate(x, scale_factor=2),
        IMAGE,
    ),
    "image.resize": _moved(
        lambda x: aj.image.resize(x, size=(3, 5)),
        lambda x: F.interpolate(x, size=(3, 5), mode="bilinear"),
        IMAGE,
    ),
    # Choices.
    "where": _moved(
        lambda x, y: aj.where(_MASK, x, y), lambda x, y: torch.where(_T_MASK, x, y), ROWS, ROWS
    ),
    "masked_fill": _moved(
        lambda x, v: aj.masked_fill(x, _MASK, v), lambda x, v: x.masked_fill(_T_MASK, v), ROWS, ()
    ),
    "clip": _moved(lambda x: aj.clip(x, -0.5, 1.5), lambda x: torch.clip(x, -0.5, 1.5)),
    "nn.prelu": _nn("prelu", (1, 2, 3), (2,)),
    "nn.glu": _nn("glu", ROWS),
    "tril": _method("tril"),
    "triu": _method("triu"),
    "astype": _moved(lambda x: aj.astype(aj.astype(x, "float64"), x.dtype), lambda x: x.double()),
    "stop_gradient": _moved(lambda x: aj.stop_gradient(x) + x, lambda x: x.detach() + x),
    # Elements that move.
    "broadcast_arrays": _moved(
        lambda x, y: aj.broadcast_arrays(x, y)[0],
        lambda x, y: torch.broadcast_tensors(x, y)[0],
        ROW,
        ROWS,
    ),
    "broadcast_to": _moved(
        lambda x: aj.broadcast_to(x, (3, 4)), lambda x: x.broadcast_to(3, 4), ROW
    ),
    "broadcast_to_like": _moved(
        lambda x, y: aj.broadcast_to_like(x, y),
        lambda x, y: x.broadcast_to(y.shape) + 0 * torch.ones_like(y),
        ROW,
        ROWS,
    ),
    "concat": _moved(lambda x, y: aj.concat([x, y]), lambda x, y: torch.cat([x, y]), ROWS, ROWS),
    "stack": _moved(lambda x, y: aj.stack([x, y]), lambda x, y: torch.stack([x, y]), ROWS, ROWS),
    "unstack": _moved(lambda x: aj.unstack(x)[1], lambda x: x[1]),
    "split": _moved(lambda x: aj.split(x, 2, axis=1)[1], lambda x: x[:, 2:]),
    "meshgrid": _moved(
        lambda x, y: aj.meshgrid(x, y)[0],
        lambda x, y: torch.meshgrid(x, y, indexing="xy")[0],
        ROW,
        (3,),
    ),
    "diag_embed": _moved(aj.diag_embed, torch.diag_embed),
    "diagonal": _moved(aj.diagonal, torch.diagonal, (3, 3)),
    "expand_dims": _moved(aj.expand_dims, lambda x: x[None]),
    "flatten": _method("flatten"),
    "flip": _moved(aj.flip, lambda x: x.flip(0, 1)),
    "full": _moved(lambda x: aj.full((3,), x), lambda x: x.expand(3), ()),
    "full_like": _moved(lambda x, v: aj.full_like(x, v), lambda x, v: v.expand(2, 4), ROWS, ()),
    "gather": _moved(lambda x: aj.gather(x, _AT), lambda x: torch.gather(x, 1, _T_AT)),
    "take_along_axis": _moved(
        lambda x: aj.take_along_axis(x, _AT), lambda x: torch.take_along_dim(x, _T_AT, 1)
    ),
    "take": _moved(lambda x: aj.take(x, _ROWS, axis=0), lambda x: x[torch.tensor(_ROWS)]),
    "getitem": _moved(lambda x: x[1:, ::2], lambda x: x[1:, ::2]),
    "strided_slice": _moved(
        lambda x: aj.strided_slice(x, [1, 0], [2, 4], [1, 2]), lambda x: x[1:, ::2]
    ),
    "slice_like": _moved(lambda x, y: aj.slice_like(x, y), lambda x, y: x[:1, :2], ROWS, (1, 2)),
    "index_add": _moved(
        lambda x, s: aj.index_add(x, _ROWS, s),
        lambda x, s: torch.index_add(x, 0, torch.tensor(_ROWS), s),
        ROWS,
        (3, 4),
    ),
    "scatter": _moved(
        lambda x, s: aj.scatter(x, _ONCE, s),
        lambda x, s: x.scatter(1, torch.tensor(_ONCE), s),
        ROWS,
        (2, 2),
    ),
    "scatter_add": _moved(
        lambda x, s: aj.scatter_add(x, _AT, s),
        lambda x, s: x.scatter_add(1, _T_AT, s),
        ROWS,
        (2, 3),
    ),
    "nn.embedding": _moved(
        lambda w: aj.nn.embedding(_ROWS, w), lambda w: F.embedding(torch.tensor(_ROWS), w)
    ),
    "nn.pad": _moved(lambda x: aj.nn.pad(x, (1, 2)), lambda x: F.pad(x, (1, 2))),
    "pad": _moved(
        lambda x: aj.pad(x, ((0, 0), (1, 2)), mode="reflect"),
        lambda x: F.pad(x, (1, 2), mode="reflect"),
    ),
    "nn.pixel_shuffle": _nn("pixel_shuffle", (1, 4, 2, 2), upscale_factor=2),
    "nn.pixel_unshuffle": _nn("pixel_unshuffle", (1, 1, 4, 4), downscale_factor=2),
    "matrix_transpose": _moved(aj.matrix_transpose, lambda x: x.T),
    "moveaxis": _moved(lambda x: aj.moveaxis(x, 0, 1), lambda x: x.T),
    "permute_dims": _moved(lambda x: aj.permute_dims(x, (1, 0)), lambda x: x.T),
    "swapaxes": _moved(lambda x: aj.swapaxes(x, 0, 1), lambda x: x.T),
    "transpose": _moved(aj.transpose, lambda x: x.T),
    "repeat": _moved(lambda x: aj.repeat(x, 2, axis=0), lambda x: x.repeat_interleave(2, 0)),
    "reshape": _moved(lambda x: aj.reshape(x, (4, 2)), lambda x: x.reshape(4, 2)),
    "reshape_like": _moved(
        lambda x, y: aj.reshape_like(x, y), lambda x, y: x.reshape(y.shape), ROWS, (4, 2)
    ),
    "roll": _moved(lambda x: aj.roll(x, 1, axis=1), lambda x: x.roll(1, 1)),
    "squeeze": _moved(lambda x: aj.squeeze(x, axis=0), lambda x: x.squeeze(0), (1, 4)),
    "tile": _moved(lambda x: aj.tile(x, (2, 1)), lambda x: x.tile(2, 1)),
    # Elementwise, but for what they are called with or what PyTorch calls or lacks.
    **{
        name: _moved(getattr(aj, name), getattr(torch, theirs), ROWS, ROWS)
        for name, theirs in (("equal", "eq"), ("not_equal", "ne"))
    },
    "floor_divide": _moved(
        aj.floor_divide, lambda x, y: torch.floor_divide(x.detach(), y.detach()) + 0 * x, ROWS, ROWS
    ),
    "nn.hardsigmoid": _moved(aj.nn.hardsigmoid, lambda x: F.hardtanh(x + 3, 0.0, 6.0) / 6),
    "nn.binary_cross_entropy": _moved(
        lambda x: aj.nn.binary_cross_entropy(
            aj.clip(aj.where(aj.isnan(x), 0.5, x), 0.0, 1.0),
            _TARGETS.astype(str(x.dtype)),
            reduction="none",
        ),
        lambda x: F.binary_cross_entropy(
            torch.where(x.isnan(), 0.5, x).clip(0, 1),
            torch.tensor(_TARGETS, dtype=x.dtype),
            reduction="none",
        ),
    ),
    "nn.threshold": Case(
        functools.partial(aj.nn.threshold, threshold=0.5, value=-1.0),
        functools.partial(F.threshold, threshold=0.5, value=-1.0),
        (ROWS,),
    ),
    "nn.kl_div": Case(
        lambda x, t: aj.nn.kl_div(x, t, reduction="batchmean"),
        lambda x, t: F.kl_div(x, t, reduction="batchmean"),
        (ROWS, ROWS),
    ),
}

# Operators of no float operand, and why they are swept elsewhere or not at all.
WITHOUT_FLOATS: dict[str, str] = {
    **dict.fromkeys(
        ("arange", "eye", "linspace", "ones", "ones_like", "zeros", "zeros_like", "nn.one_hot"),
        "makes constants",
    ),
    **dict.fromkeys(
        (
            "random.bernoulli",
            "random.bits",
            "random.key",
            "random.normal",
            "random.split",
            "random.uniform",
            "nn.dropout",
        ),
        "random numbers: test_random.py",
    ),
    **dict.fromkeys(
        (
            "bitwise_and",
            "bitwise_or",
            "bitwise_xor",
            "bitwise_invert",
            "bitwise_left_shift",
            "bitwise_right_shift",
        ),
        "integers: test_integer_ends.py",
    ),
}
