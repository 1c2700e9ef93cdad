"""The conventions at ties, kinks, zeros and unselected branches, each against PyTorch; where the
library differs on purpose, the test says so."""

from collections.abc import Callable
from typing import Any

import adjit as aj
import numpy as np
import pytest
import torch


def torch_gradient(f: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    t = torch.tensor(x, requires_grad=True)
    f(t).sum().backward()
    assert t.grad is not None
    return t.grad.numpy()


def gradient(f: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    return np.asarray(aj.grad(lambda v: aj.sum(f(v)))(x))


TIED = np.array([[1.0, 3.0, 3.0, 2.0], [5.0, 5.0, 5.0, -1.0]])
SIGNS = np.array([-1.5, -0.0, 0.0, 2.0])
KINKS = np.array([-3.0, -1.0, 0.0, 0.5, 1.0, 3.0, 6.0])

CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], np.ndarray]] = {
    "max shares evenly": (lambda x: aj.max(x), lambda x: torch.amax(x), TIED),
    "max along an axis": (lambda x: aj.max(x, axis=1), lambda x: torch.amax(x, 1), TIED),
    "min along an axis": (lambda x: aj.min(x, axis=1), lambda x: torch.amin(x, 1), -TIED),
    "max pooling takes the first": (
        lambda x: aj.nn.max_pool1d(aj.expand_dims(x, axis=0), 2, stride=1),
        lambda x: torch.nn.functional.max_pool1d(x[None], 2, stride=1),
        TIED,
    ),
    "maximum halves": (
        lambda x: aj.maximum(x, aj.flip(x, axis=1)),
        lambda x: torch.maximum(x, torch.flip(x, (1,))),
        TIED,
    ),
    "minimum halves": (
        lambda x: aj.minimum(x, aj.flip(x, axis=1)),
        lambda x: torch.minimum(x, torch.flip(x, (1,))),
        TIED,
    ),
    "relu is flat at 0": (aj.nn.relu, torch.relu, SIGNS),
    "abs is flat at 0": (aj.abs, torch.abs, SIGNS),
    "sign is flat": (lambda x: aj.sign(x) * x, lambda x: torch.sign(x) * x, SIGNS),
    "sqrt is steep at 0": (aj.sqrt, torch.sqrt, np.array([0.0, 4.0])),
    "floor is flat": (lambda x: aj.floor(x) * x, lambda x: torch.floor(x) * x, KINKS),
    "remainder is floored": (
        lambda x: aj.remainder(x, 2.0),
        lambda x: torch.remainder(x, 2.0),
        KINKS + 0.25,
    ),
    "fmod is truncated": (lambda x: aj.fmod(x, 2.0), lambda x: torch.fmod(x, 2.0), KINKS + 0.25),
    "powers of 0": (lambda x: x**2.0 + x**3.0, lambda x: x**2.0 + x**3.0, SIGNS),
    "products with one zero": (aj.prod, torch.prod, np.array([2.0, 0.0, 3.0])),
    "products with two zeros": (aj.prod, torch.prod, np.array([2.0, 0.0, 0.0])),
    "products with many zeros": (aj.prod, torch.prod, np.zeros(4)),
    "both branches of a where": (
        lambda x: aj.where(x > 0.0, x * x, 3.0 * x),
        lambda x: torch.where(x > 0.0, x * x, 3.0 * x),
        SIGNS,
    ),
    "clip passes inside": (
        lambda x: aj.clip(x, -2.0, 2.0) * x,
        lambda x: torch.clip(x, -2.0, 2.0) * x,
        KINKS,
    ),
    "NaN through a product": (lambda x: x * x, lambda x: x * x, np.array([np.nan, 1.0])),
    "zero padding times infinity": (
        lambda x: aj.nn.conv1d(
            aj.reshape(x, (1, 1, 3)), np.array([[[np.inf, 1.0, 1.0]]]), padding=1
        )[..., 1:],
        lambda x: torch.nn.functional.conv1d(
            x.reshape(1, 1, 3), torch.tensor([[[np.inf, 1.0, 1.0]]], dtype=torch.float64), padding=1
        )[..., 1:],
        np.array([1.0, 2.0, 3.0]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_gradient_is_torchs(name: str) -> None:
    ours, theirs, x = CASES[name]
    np.testing.assert_allclose(gradient(ours, x), torch_gradient(theirs, x), rtol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_value_is_torchs(name: str) -> None:
    ours, theirs, x = CASES[name]
    np.testing.assert_allclose(
        np.asarray(aj.jit(ours)(x)), theirs(torch.tensor(x)).numpy(), rtol=1e-12
    )


def test_nan_wins_a_maximum() -> None:
    x = np.array([[1.0, np.nan, 2.0], [1.0, 3.0, 2.0]])
    for ours, theirs in ((aj.max, torch.amax), (aj.min, torch.amin)):
        np.testing.assert_array_equal(np.asarray(ours(x, axis=1)), theirs(torch.tensor(x), 1))


def test_padded_positions_take_no_part() -> None:
    """Unlike torch, which multiplies a padded 0 by an infinite weight and gives NaN."""
    weight, x = np.array([[[np.inf, 1.0, 1.0]]]), np.ones((1, 1, 3))
    theirs = torch.nn.functional.conv1d(torch.tensor(x), torch.tensor(weight), padding=1).numpy()
    ours = np.asarray(aj.nn.conv1d(x, weight, padding=1))
    assert np.isnan(theirs[0, 0, 0])
    np.testing.assert_array_equal(ours, [[[2.0, np.inf, np.inf]]])


def test_an_unselected_branch_never_reaches_a_gradient() -> None:
    """Unlike torch, whose gradient of where(x > 0, sqrt(x), 0) at 0 is 0 times inf."""
    x = np.array([0.0, 4.0, -1.0])
    theirs = torch_gradient(lambda v: torch.where(v > 0, torch.sqrt(v), 0.0), x)
    assert np.isnan(theirs[0])
    ours = gradient(lambda v: aj.where(v > 0.0, aj.sqrt(v), 0.0), x)
    np.testing.assert_array_equal(ours, [0.0, 0.25, 0.0])


def test_nor_across_operators() -> None:
    x = np.array([0.0, 4.0])

    def f(v: Any) -> Any:
        root = aj.sqrt(v)
        inverse = 1.0 / root
        return aj.where(v > 0.0, inverse * root * root, v * 2.0)

    np.testing.assert_allclose(gradient(f, x), [2.0, 0.25])


def refused(f: Callable[..., Any], *args: Any, match: str) -> str:
    with pytest.raises(aj.NotDifferentiableError, match=match) as caught:
        aj.grad(f)(*args)
    return str(caught.value)


def test_integer_inputs_are_refused() -> None:
    message = refused(lambda i: aj.sum(aj.astype(i, "float64")), np.arange(3), match="int64")
    assert "cast" in message


def test_through_an_integer_the_gradient_is_zero() -> None:
    x = np.array([0.2, 1.7])
    got = gradient(lambda v: aj.astype(aj.astype(v, "int64"), "float64") + 2.0 * v, x)
    np.testing.assert_array_equal(got, [2.0, 2.0])


SMOOTH_AT_TIES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "softplus": (aj.nn.softplus, torch.nn.functional.softplus),
    "logsigmoid": (aj.nn.logsigmoid, torch.nn.functional.logsigmoid),
    "mish": (aj.nn.mish, torch.nn.functional.mish),
    "logaddexp": (
        lambda x: aj.logaddexp(x, aj.flip(x, axis=0)),
        lambda x: torch.logaddexp(x, torch.flip(x, (0,))),
    ),
    "binary_cross_entropy_with_logits": (
        lambda x: aj.nn.binary_cross_entropy_with_logits(x, 0.25 + 0.0 * x, reduction="none"),
        lambda x: torch.nn.functional.binary_cross_entropy_with_logits(
            x, 0.25 + 0.0 * x, reduction="none"
        ),
    ),
}


@pytest.mark.parametrize("name", SMOOTH_AT_TIES)
def test_second_derivatives_at_ties_of_smooth_functions(name: str) -> None:
    """Such as softplus(x) = max(x, 0) + log(1 + exp(-|x|)) at 0, which is smooth there."""
    ours, theirs = SMOOTH_AT_TIES[name]
    x = np.array([0.0, 1.5, -0.0, -2.0, 0.0])
    found = aj.hessian(lambda v: aj.sum(ours(v)))(x)
    wanted = torch.autograd.functional.hessian(lambda v: theirs(v).sum(), torch.tensor(x))
    np.testing.assert_allclose(np.asarray(found), wanted.numpy(), atol=1e-12)


def test_weighted_logits_at_zero() -> None:
    x, t, weight = np.zeros(3), np.array([0.0, 0.25, 1.0]), np.array([1.0, 2.0, 3.0])

    def ours(v: Any) -> Any:
        return aj.nn.binary_cross_entropy_with_logits(v, t, pos_weight=weight, reduction="sum")

    def theirs(v: Any) -> Any:
        return torch.nn.functional.binary_cross_entropy_with_logits(
            v, torch.tensor(t), pos_weight=torch.tensor(weight), reduction="sum"
        )

    wanted = torch.autograd.functional.hessian(theirs, torch.tensor(x))
    np.testing.assert_allclose(np.asarray(aj.hessian(ours)(x)), wanted.numpy(), atol=1e-12)
    np.testing.assert_allclose(gradient(ours, x), torch_gradient(theirs, x), atol=1e-12)


def test_norms_and_angles_of_nothing_are_flat() -> None:
    zero = np.zeros(3)
    for order in (2, 3, 1):
        found = gradient(lambda v, p=order: aj.linalg.vector_norm(v, ord=p), zero)
        wanted = torch_gradient(lambda v, p=order: torch.linalg.vector_norm(v, ord=p), zero)
        np.testing.assert_array_equal(found, wanted)
    angle = gradient(lambda v: aj.atan2(v, 2.0 * v), np.array([0.0, 1.0]))
    np.testing.assert_array_equal(
        angle, torch_gradient(lambda v: torch.atan2(v, 2.0 * v), np.array([0.0, 1.0]))
    )
    assert np.isnan(aj.linalg.vector_norm(np.array([np.nan, 0.0])))


@pytest.mark.parametrize("mode", ["linear", "nearest", "nearest-exact"])
@pytest.mark.parametrize("factor", [0.5, 1.2, 1.7, 2.0, 1 / 3, 2.345])
def test_interpolation_lies_where_the_factor_says(mode: str, factor: float) -> None:
    """A factor of 1.7 takes 3 elements to 5, but they lie 1 / 1.7 apart, not 3 / 5."""
    x = np.arange(7.0).reshape(1, 1, 7) ** 2
    theirs = torch.nn.functional.interpolate(torch.tensor(x), scale_factor=factor, mode=mode)
    ours = aj.nn.interpolate(x, scale_factor=factor, mode=mode)
    np.testing.assert_allclose(np.asarray(ours), theirs.numpy(), atol=1e-9)


def test_a_last_window_may_end_behind_the_padding() -> None:
    x = np.array([[[1.0, 4.0, 2.0, 3.0]]])
    options: dict[str, Any] = {"kernel_size": 3, "stride": 3, "dilation": 2, "ceil_mode": True}
    theirs = torch.nn.functional.max_pool1d(torch.tensor(x), **options)
    np.testing.assert_array_equal(np.asarray(aj.nn.max_pool1d(x, **options)), theirs.numpy())
    with pytest.raises(aj.ShapeError, match="exceeds the extent"):
        aj.nn.max_pool1d(x, 3, stride=3, dilation=2)
