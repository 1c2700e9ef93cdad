"""Operators: values and gradients against torch in float64, one table row per case."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import adjit as aj
import numpy as np
import pytest

torch = pytest.importorskip("torch")
F = torch.nn.functional


class Case(NamedTuple):
    """``ours`` and ``theirs`` take arrays of these shapes (and the integers, if any)."""

    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    low: float = -2.0
    high: float = 2.0
    integers: tuple[Any, ...] = ()


def same(name: str, *shapes: tuple[int, ...], low: float = -2.0, high: float = 2.0) -> Case:
    """An operator that has torch's name and arguments."""
    theirs = getattr(F, name, None) or getattr(torch, name)
    ours = getattr(aj, name, None) or getattr(aj.nn, name)
    return Case(ours, theirs, shapes, low, high)


X = (3, 5)
IMAGE = (2, 4, 7, 6)
LABELS = np.array([1, 0, 4])
CASES: dict[str, Case] = {
    # Elementwise, several by case: they compile into one program.
    "trigonometric": Case(
        lambda x: aj.stack([aj.sin(x), aj.cos(x), aj.tan(x), aj.atan(x), aj.asinh(x), aj.sinh(x)]),
        lambda x: torch.stack([x.sin(), x.cos(), x.tan(), x.atan(), x.asinh(), x.sinh()]),
        (X,), -1.4, 1.4,
    ),
    "inverse": Case(
        lambda x: aj.stack([aj.asin(x), aj.acos(x), aj.atanh(x), aj.acosh(x + 2), aj.erfinv(x)]),
        lambda x: torch.stack([x.asin(), x.acos(), x.atanh(), (x + 2).acosh(), x.erfinv()]),
        (X,), -0.9, 0.9,
    ),
    "exponential": Case(
        lambda x: aj.stack([aj.exp(x), aj.exp2(x), aj.expm1(x), aj.cosh(x), aj.tanh(x)]),
        lambda x: torch.stack([x.exp(), x.exp2(), x.expm1(), x.cosh(), x.tanh()]),
        (X,),
    ),
    "logarithmic": Case(
        lambda x: aj.stack([aj.log(x), aj.log2(x), aj.log10(x), aj.log1p(x), aj.sqrt(x)]),
        lambda x: torch.stack([x.log(), x.log2(), x.log10(), x.log1p(), x.sqrt()]),
        (X,), 0.3, 3.0,
    ),
    "algebraic": Case(
        lambda x: aj.stack([aj.rsqrt(x), aj.reciprocal(x), aj.square(x), -aj.abs(x), x**3, x**0.5]),
        lambda x: torch.stack([x.rsqrt(), x.reciprocal(), x.square(), -x.abs(), x**3, x**0.5]),
        (X,), 0.3, 3.0,
    ),
    "special": Case(
        lambda x: aj.stack([aj.erf(x), aj.erfc(x), aj.sigmoid(x), aj.lgamma(x)]),
        lambda x: torch.stack([x.erf(), x.erfc(), x.sigmoid(), x.lgamma()]),
        (X,), 0.3, 3.0,
    ),
    "piecewise": Case(
        lambda x: aj.stack([aj.abs(x), aj.sign(x), aj.floor(x), aj.clip(x, -1.0, 1.0)]),
        lambda x: torch.stack([x.abs(), x.sign(), x.floor(), x.clip(-1.0, 1.0)]),
        (X,),
    ),
    "arithmetic": Case(
        lambda x, y: aj.stack([x + y, x - y, x * y, x / y, 2 - x, 3 / y]),
        lambda x, y: torch.stack([x + y, x - y, x * y, x / y, (2 - x) + 0 * y, 3 / y + 0 * x]),
        (X, X), 0.5, 3.0,
    ),
    "binary": Case(
        lambda x, y: aj.stack([aj.pow(x, y), aj.atan2(x, y), aj.hypot(x, y), aj.logaddexp(x, y)]),
        lambda x, y: torch.stack([x**y, x.atan2(y), x.hypot(y), x.logaddexp(y)]),
        (X, X), 0.5, 3.0,
    ),
    "extremes": Case(
        lambda x, y: aj.stack([aj.maximum(x, y), aj.minimum(x, y), aj.where(x > y, x * y, y)]),
        lambda x, y: torch.stack([x.maximum(y), x.minimum(y), torch.where(x > y, x * y, y)]),
        (X, X),
    ),
    "remainders": Case(
        lambda x, y: aj.stack([aj.fmod(x, y), aj.remainder(x, y), aj.xlogy(x, y)]),
        lambda x, y: torch.stack([x.fmod(y), x.remainder(y), x.xlogy(y)]),
        (X, X), 0.5, 3.0,
    ),
    "broadcasting": Case(
        lambda x, y, z: x * y + z, lambda x, y, z: x * y + z, ((3, 1), (1, 4), (2, 1, 1))
    ),
    "lerp": same("lerp", X, X, X),
    # Activations.
    "relu": Case(
        lambda x: aj.stack([aj.nn.relu(x), aj.nn.relu6(x), aj.nn.leaky_relu(x, 0.1), aj.nn.elu(x)]),
        lambda x: torch.stack([F.relu(x), F.relu6(x), F.leaky_relu(x, 0.1), F.elu(x)]),
        (X,),
    ),
    "gelu": Case(
        lambda x: aj.stack([aj.nn.gelu(x), aj.nn.gelu(x, approximate="tanh"), aj.nn.silu(x)]),
        lambda x: torch.stack([F.gelu(x), F.gelu(x, approximate="tanh"), F.silu(x)]),
        (X,),
    ),
    "hard activations": Case(
        lambda x: aj.stack([aj.nn.hardtanh(x), aj.nn.hardsigmoid(x), aj.nn.hardswish(x)]),
        lambda x: torch.stack([F.hardtanh(x), F.hardsigmoid(x), F.hardswish(x)]),
        (X,),
    ),
    "soft activations": Case(
        lambda x: aj.stack([aj.nn.softplus(x), aj.nn.softsign(x), aj.nn.logsigmoid(x)]),
        lambda x: torch.stack([F.softplus(x), F.softsign(x), F.logsigmoid(x)]),
        (X,),
    ),
    "selu": Case(
        lambda x: aj.stack([aj.nn.selu(x), aj.nn.celu(x, alpha=0.7), aj.nn.mish(x)]),
        lambda x: torch.stack([F.selu(x), F.celu(x, alpha=0.7), F.mish(x)]),
        (X,),
    ),
    "glu": same("glu", (3, 6)),
    "prelu": same("prelu", (2, 4, 3), (4,)),
    # Reductions.
    "sum": Case(
        lambda x: aj.concat([aj.sum(x, axis=1), aj.mean(x, axis=(0,)), aj.sum(x)[None]]),
        lambda x: torch.cat([x.sum(1), x.mean(0), x.sum().reshape(1)]),
        (X,),
    ),
    "keepdims": Case(
        lambda x: x - aj.mean(x, axis=(1, 2), keepdims=True),
        lambda x: x - x.mean((1, 2), keepdim=True),
        ((2, 3, 4),),
    ),
    "prod": Case(lambda x: aj.prod(x, axis=1), lambda x: x.prod(1), (X,)),
    "max": Case(
        lambda x: aj.concat([aj.max(x, axis=1), aj.min(x, axis=0)]),
        lambda x: torch.cat([x.amax(1), x.amin(0)]),
        (X,),
    ),
    "var": Case(
        lambda x: aj.stack([aj.var(x, axis=1, correction=1), aj.std(x, axis=1)]),
        lambda x: torch.stack([x.var(1), x.std(1, correction=0)]),
        (X,),
    ),
    "logsumexp": Case(lambda x: aj.logsumexp(x, axis=1), lambda x: x.logsumexp(1), (X,)),
    "cumsum": Case(lambda x: aj.cumsum(x, axis=1), lambda x: x.cumsum(1), (X,)),
    "vector_norm": Case(
        lambda x: aj.linalg.vector_norm(x, axis=1),
        lambda x: torch.linalg.vector_norm(x, dim=1),
        (X,),
    ),
    # Contractions.
    "matmul": Case(lambda a, b: a @ b, lambda a, b: a @ b, ((3, 5), (5, 4))),
    "batched matmul": Case(lambda a, b: a @ b, lambda a, b: a @ b, ((2, 1, 3, 5), (4, 5, 2))),
    "matrix-vector": Case(lambda a, b: a @ b, lambda a, b: a @ b, ((3, 5), (5,))),
    "einsum": Case(
        lambda a, b: aj.einsum("bij,bkj->ibk", a, b),
        lambda a, b: torch.einsum("bij,bkj->ibk", a, b),
        ((2, 3, 4), (2, 5, 4)),
    ),
    "einsum of three": Case(
        lambda a, b, c: aj.einsum("ij,jk,ki->i", a, b, c),
        lambda a, b, c: torch.einsum("ij,jk,ki->i", a, b, c),
        ((3, 4), (4, 5), (5, 3)),
    ),
    "einsum of four": Case(
        lambda x, w, y, v: aj.einsum("bi,oij,bj,o->bo", x, w, y, v),
        lambda x, w, y, v: torch.einsum("bi,oij,bj,o->bo", x, w, y, v),
        ((2, 3), (4, 3, 5), (2, 5), (4,)),
    ),
    "einsum trace": Case(
        lambda a: aj.einsum("ii->i", a), lambda a: torch.einsum("ii->i", a), ((4, 4),)
    ),
    "tensordot": Case(
        lambda a, b: aj.tensordot(a, b, axes=2),
        lambda a, b: torch.tensordot(a, b, dims=2),
        ((2, 3, 4), (3, 4, 5)),
    ),
    "outer": same("outer", (3,), (4,)),
    "linear": same("linear", X, (4, 5), (4,)),
    "attention": Case(
        lambda q, k, v: aj.nn.scaled_dot_product_attention(q, k, v, is_causal=True),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        ((2, 4, 3), (2, 4, 3), (2, 4, 3)),
    ),
    # Convolutions.
    "conv1d": Case(
        lambda x, w, b: aj.nn.conv1d(x, w, b, stride=2, padding=1),
        lambda x, w, b: F.conv1d(x, w, b, stride=2, padding=1),
        ((2, 3, 9), (4, 3, 3), (4,)),
    ),
    "conv2d": same("conv2d", IMAGE, (3, 4, 3, 3), (3,)),
    "conv2d stride padding": Case(
        lambda x, w: aj.nn.conv2d(x, w, stride=2, padding=1),
        lambda x, w: F.conv2d(x, w, stride=2, padding=1),
        (IMAGE, (3, 4, 3, 3)),
    ),
    "conv2d uneven": Case(
        lambda x, w: aj.nn.conv2d(x, w, stride=(3, 2), padding=(2, 1)),
        lambda x, w: F.conv2d(x, w, stride=(3, 2), padding=(2, 1)),
        (IMAGE, (3, 4, 4, 3)),
    ),
    "conv2d dilation": Case(
        lambda x, w: aj.nn.conv2d(x, w, dilation=2, padding=2),
        lambda x, w: F.conv2d(x, w, dilation=2, padding=2),
        (IMAGE, (3, 4, 3, 3)),
    ),
    "conv2d groups": Case(
        lambda x, w: aj.nn.conv2d(x, w, groups=2),
        lambda x, w: F.conv2d(x, w, groups=2),
        (IMAGE, (6, 2, 3, 3)),
    ),
    "conv2d strides and dilations of groups": Case(  # too many points to try them all
        lambda x, w: aj.nn.conv2d(
            x, w, stride=(3, 1), padding=(3, 1), dilation=(2, 3), groups=4
        ),
        lambda x, w: F.conv2d(x, w, stride=(3, 1), padding=(3, 1), dilation=(2, 3), groups=4),
        ((1, 68, 32, 28), (32, 17, 4, 7)),
    ),
    "conv2d depthwise": Case(
        lambda x, w: aj.nn.conv2d(x, w, groups=4, padding=1),
        lambda x, w: F.conv2d(x, w, groups=4, padding=1),
        (IMAGE, (4, 1, 3, 3)),
    ),
    "conv3d": Case(
        lambda x, w: aj.nn.conv3d(x, w, padding=1),
        lambda x, w: F.conv3d(x, w, padding=1),
        ((1, 2, 3, 4, 4), (2, 2, 2, 2, 2)),
    ),
    "conv_transpose2d": Case(
        lambda x, w: aj.nn.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1),
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1),
        ((1, 3, 4, 5), (3, 2, 3, 3)),
    ),
    # Pools.
    "max_pool2d": Case(
        lambda x: aj.nn.max_pool2d(x, 2), lambda x: F.max_pool2d(x, 2), (IMAGE,)
    ),
    "max_pool2d overlapping": Case(
        lambda x: aj.nn.max_pool2d(x, 3, stride=2, padding=1),
        lambda x: F.max_pool2d(x, 3, stride=2, padding=1),
        (IMAGE,),
    ),
    "avg_pool2d": Case(
        lambda x: aj.nn.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False),
        lambda x: F.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False),
        (IMAGE,),
    ),
    "adaptive_avg_pool2d": Case(
        lambda x: aj.nn.adaptive_avg_pool2d(x, (3, 2)),
        lambda x: F.adaptive_avg_pool2d(x, (3, 2)),
        (IMAGE,),
    ),
    # Norms.
    "layer_norm": Case(
        lambda x, w, b: aj.nn.layer_norm(x, (5,), w, b),
        lambda x, w, b: F.layer_norm(x, (5,), w, b),
        (X, (5,), (5,)),
    ),
    "rms_norm": Case(
        lambda x, w: aj.nn.rms_norm(x, (5,), w, eps=1e-5),
        lambda x, w: F.rms_norm(x, (5,), w, eps=1e-5),
        (X, (5,)),
    ),
    "group_norm": Case(
        lambda x, w, b: aj.nn.group_norm(x, 2, w, b),
        lambda x, w, b: F.group_norm(x, 2, w, b),
        (IMAGE, (4,), (4,)),
    ),
    "batch_norm": Case(
        lambda x, w, b: aj.nn.batch_norm(x, weight=w, bias=b, training=True),
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        (IMAGE, (4,), (4,)),
    ),
    "normalize": same("normalize", X),
    # Softmax and losses.
    "softmax": Case(lambda x: aj.nn.softmax(x, axis=1), lambda x: F.softmax(x, 1), (X,)),
    "log_softmax": Case(
        lambda x: aj.nn.log_softmax(x, axis=0), lambda x: F.log_softmax(x, 0), (X,)
    ),
    "cross_entropy": Case(aj.nn.cross_entropy, F.cross_entropy, (X,), integers=(LABELS,)),
    "cross_entropy smoothed": Case(
        lambda x, t: aj.nn.cross_entropy(x, t, label_smoothing=0.1),
        lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1),
        (X,), integers=(LABELS,),
    ),
    "nll_loss": Case(aj.nn.nll_loss, F.nll_loss, (X,), integers=(LABELS,)),
    "mse_loss": same("mse_loss", X, X),
    "huber_loss": same("huber_loss", X, X),
    "kl_div": Case(
        lambda x, t: aj.nn.kl_div(x, t, reduction="sum"),
        lambda x, t: F.kl_div(x, t, reduction="sum"),
        (X, X), 0.1, 1.0,
    ),
    "binary_cross_entropy": same("binary_cross_entropy", X, X, low=0.1, high=0.9),
    "binary_cross_entropy_with_logits": same("binary_cross_entropy_with_logits", X, X, low=0.1),
    "cosine_similarity": same("cosine_similarity", X, X),
    # Shapes and indexing.
    "reshape": Case(
        lambda x: aj.permute_dims(aj.reshape(x, (2, -1, 3)), (2, 0, 1)),
        lambda x: x.reshape(2, -1, 3).permute(2, 0, 1),
        ((4, 6),),
    ),
    "concat": Case(
        lambda x, y: aj.concat([x, y, x], axis=1), lambda x, y: torch.cat([x, y, x], 1), (X, (3, 2))
    ),
    "flip roll": Case(
        lambda x: aj.roll(aj.flip(x, axis=1), 2, axis=0),
        lambda x: x.flip(1).roll(2, 0),
        (X,),
    ),
    "tile": Case(lambda x: aj.tile(x, (2, 3)), lambda x: x.tile(2, 3), (X,)),
    "repeat": Case(
        lambda x: aj.repeat(x, 3, axis=1), lambda x: x.repeat_interleave(3, 1), (X,)
    ),
    "pad": Case(
        lambda x: aj.nn.pad(x, (1, 2, 2, 1), mode="reflect"),
        lambda x: F.pad(x, (1, 2, 2, 1), mode="reflect"),
        ((1, 2, 4, 5),),
    ),
    "split": Case(
        lambda x: aj.split(x, 3, axis=1)[1] * aj.split(x, [1, 4], axis=1)[0],
        lambda x: x[:, 2:4] * x[:, :1],
        ((3, 6),),
    ),
    "slicing": Case(
        lambda x: x[1:, ::2] * x[:-1, -1][:, None], lambda x: x[1:, ::2] * x[:-1, -1][:, None], (X,)
    ),
    "negative steps": Case(lambda x: x[::-2, ::-1], lambda x: x.flip(0, 1)[::2], (X,)),
    "diagonal": Case(lambda x: aj.diagonal(x, 1), lambda x: x.diagonal(1), (X,)),
    "triangles": Case(
        lambda x: aj.tril(x) * 2 + aj.triu(x, 1), lambda x: x.tril() * 2 + x.triu(1), (X,)
    ),
    "pixel_shuffle": Case(
        lambda x: aj.nn.pixel_shuffle(x, 2), lambda x: F.pixel_shuffle(x, 2), (IMAGE,)
    ),
    "interpolate": Case(
        lambda x: aj.nn.interpolate(x, scale_factor=2, mode="bilinear"),
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
        ((1, 2, 3, 4),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_value_and_gradient(name: str, rng: np.random.Generator) -> None:
    case = CASES[name]
    arrays = [rng.uniform(case.low, case.high, shape) for shape in case.shapes]
    tensors = [torch.tensor(a, requires_grad=True) for a in arrays]
    wanted = case.theirs(*tensors, *[torch.tensor(i) for i in case.integers])
    seed = rng.standard_normal(tuple(wanted.shape))
    (wanted * torch.tensor(seed)).sum().backward()

    def weighted(*args: Any) -> Any:
        out = case.ours(*args[:-1])
        return aj.sum(out * args[-1]), out

    f = aj.value_and_grad(weighted, argnums=tuple(range(len(arrays))), has_aux=True)
    (_, found), gradients = f(*arrays, *case.integers, seed)
    np.testing.assert_allclose(found, wanted.detach(), rtol=1e-9, atol=1e-9)
    for gradient, tensor in zip(gradients, tensors, strict=True):
        np.testing.assert_allclose(gradient, tensor.grad, rtol=1e-6, atol=1e-6)


SECOND_ORDER: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "elementwise": (lambda x: aj.sin(x) * aj.exp(x) / (2 + x * x), ((5,),)),
    "matmul": (lambda a, b: aj.tanh(a @ b), ((3, 4), (4, 2))),
    "softmax": (lambda x: aj.nn.softmax(x, axis=1), ((3, 4),)),
    "layer norm": (lambda x: aj.nn.layer_norm(x, normalized_shape=(5,)), ((2, 5),)),
    "logsumexp": (lambda x: aj.logsumexp(x, axis=0), ((4, 2),)),
    "conv2d": (
        lambda x, w: aj.square(aj.nn.conv2d(x, w, stride=2, padding=1)),
        ((1, 2, 4, 4), (2, 2, 3, 3)),
    ),
    "prod": (lambda x: aj.prod(x, axis=1), ((2, 3),)),
    "slices": (lambda x: x[1:] * x[:-1] ** 2, ((5,),)),
}  # fmt: skip


@pytest.mark.parametrize("name", SECOND_ORDER)
def test_second_order(name: str, rng: np.random.Generator) -> None:
    f, shapes = SECOND_ORDER[name]
    aj.check_grads(f, [rng.uniform(0.2, 1.2, s) for s in shapes], order=2, rtol=1e-5, atol=1e-5)


def test_rounding_and_comparisons_match_numpy() -> None:
    x = np.array([-2.5, -0.5, 0.0, 0.5, 1.5, 2.7])
    for name in ("floor", "ceil", "trunc", "round", "sign", "isnan", "isfinite"):
        np.testing.assert_array_equal(getattr(aj, name)(x), getattr(np, name)(x))
    for name in ("less", "greater_equal", "equal", "not_equal"):
        np.testing.assert_array_equal(getattr(aj, name)(x, 0.5), getattr(np, name)(x, 0.5))


def test_integers_match_numpy() -> None:
    x, y = np.array([7, -7, 6, -6]), np.array([2, 2, -4, -4])
    np.testing.assert_array_equal(aj.floor_divide(x, y), x // y)
    np.testing.assert_array_equal(aj.remainder(x, y), x % y)
    np.testing.assert_array_equal(aj.bitwise_xor(x, y), x ^ y)
    np.testing.assert_array_equal(aj.argmax(x), np.argmax(x))
    np.testing.assert_array_equal(aj.take(x, np.array([-1, 0, 2])), x[[-1, 0, 2]])
    np.testing.assert_array_equal(aj.arange(2, 11, 3), np.arange(2, 11, 3))


def test_random_numbers_depend_only_on_the_key() -> None:
    keys = aj.random.split(aj.random.key(7), num=2)
    draws = [
        aj.random.normal(k, shape=(2000,), dtype="float64") for k in (keys[0], keys[0], keys[1])
    ]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])
    assert abs(np.mean(draws[0])) < 5 / math.sqrt(2000) and abs(np.std(draws[0]) - 1) < 0.1


def test_an_optional_number_keeps_its_place_when_one_before_it_is_left_out() -> None:
    x = np.array([-2.0, 0.5, 4.0])
    np.testing.assert_array_equal(aj.clip(x, max=3), np.clip(x, None, 3))
    np.testing.assert_array_equal(aj.jit(lambda v: aj.clip(v, None, 3))(x), np.clip(x, None, 3))
    y = np.array([0.0, 1.0, 1.0])
    weighted = aj.nn.binary_cross_entropy_with_logits(x, y, pos_weight=2.0)
    expected = F.binary_cross_entropy_with_logits(
        torch.tensor(x), torch.tensor(y), pos_weight=torch.tensor(2.0)
    )
    np.testing.assert_allclose(weighted, expected)


@pytest.mark.parametrize(
    "shape,axis", [((300,), None), ((40, 9), 0), ((9, 40), -1), ((3, 20, 5), 1)]
)
def test_running_sums_and_products(shape: tuple[int, ...], axis: int | None) -> None:
    x = np.random.default_rng(1).standard_normal(shape) * 0.2 + 1
    x.flat[3] = 0
    for ours, theirs, first in (
        (aj.cumulative_sum, torch.cumsum, 0),
        (aj.cumulative_prod, torch.cumprod, 1),
    ):
        t = torch.tensor(x, requires_grad=True)
        at = 0 if axis is None else axis
        expected = theirs(t, at)
        (expected**2).sum().backward()
        np.testing.assert_allclose(ours(x, axis=axis), expected.detach().numpy(), atol=1e-12)
        gradient = aj.grad(lambda x: aj.sum(ours(x, axis=axis) ** 2))(x)  # noqa: B023
        np.testing.assert_allclose(gradient, t.grad.numpy(), rtol=1e-9, atol=1e-12)
        longer = ours(x, axis=axis, include_initial=True)
        assert longer.shape[at] == shape[at] + 1
        assert (np.take(longer, 0, at) == first).all()


def among_nan(values: np.ndarray) -> np.ndarray:
    """A view of these values with NaN on every side of them in memory."""
    around = np.full([extent + 2 for extent in values.shape], np.nan, values.dtype)
    inner = around[tuple(slice(1, -1) for _ in values.shape)]
    inner[...] = values
    return inner


@pytest.mark.parametrize("extent", [4, 5, 8])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_adjoints_of_strided_transposed_convolutions_read_nothing_outside(
    rank: int, extent: int
) -> None:
    """Where zeros around the weights replace conditions, these kept other reads inside, too."""
    functional = torch.nn.functional
    rng = np.random.default_rng(0)
    x, w = rng.random((1, 2, *[extent] * rank)), rng.random((2, 2, *[3] * rank))
    options = {"stride": 2, "padding": 1, "output_padding": 1}
    theirs = torch.tensor(x, requires_grad=True)
    y = getattr(functional, f"conv_transpose{rank}d")(theirs, torch.tensor(w), **options)
    seed = rng.random(y.shape)
    y.backward(torch.tensor(seed))

    def pulled(seed: Any, w: Any) -> Any:
        operator = getattr(aj.nn, f"conv_transpose{rank}d")
        _, pullback = aj.vjp(
            lambda v: operator(v, w, **options), aj.zeros(x.shape, dtype="float64")
        )
        return pullback(seed)[0]

    assert theirs.grad is not None
    np.testing.assert_allclose(aj.jit(pulled)(among_nan(seed), among_nan(w)), theirs.grad)


def test_exponentials_of_a_row_are_computed_once() -> None:
    logits, target = np.zeros((8, 10), np.float32), np.zeros(8, np.int64)
    for loss in (
        lambda x: aj.nn.cross_entropy(x, target),
        lambda x: aj.sum(aj.logsumexp(x, axis=1)),
        lambda x: aj.sum(aj.nn.log_softmax(x, dim=1) * 2),
    ):
        assert aj.lower(aj.grad(loss), logits).text.count("exp(") == 1
