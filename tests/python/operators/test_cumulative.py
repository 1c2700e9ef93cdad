"""Running sums, products, extremes and log-sums beside PyTorch's: values and derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import adjit as aj
import numpy as np
import pytest
import torch

OPERATORS: dict[str, Callable[[Any, int], Any]] = {
    "cumsum": torch.cumsum,
    "cumprod": torch.cumprod,
    "cummax": lambda x, axis: torch.cummax(x, axis).values,
    "cummin": lambda x, axis: torch.cummin(x, axis).values,
    "logcumsumexp": torch.logcumsumexp,
}


def arrays(name: str, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(1)
    x = rng.normal(size=shape)
    yield x
    yield np.where(np.arange(x.size).reshape(shape) % 5 == 2, 0, x) if name == "cumprod" else x - 4
    yield x * (1 if name == "cumprod" else 700)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize(
    "shape, axis", [((12,), 0), ((3, 11), 0), ((3, 11), 1), ((4, 9, 2), 1), ((6,), 0)]
)
@pytest.mark.parametrize("reverse", [False, True])
def test_derivatives_are_torchs(
    name: str, shape: tuple[int, ...], axis: int, reverse: bool
) -> None:
    def f(x: Any) -> Any:
        flipped = aj.flip(x, axis=axis) if reverse else x
        y = getattr(aj, name)(flipped, axis=axis)
        return aj.flip(y, axis=axis) if reverse else y

    def g(x: Any) -> Any:
        return (
            OPERATORS[name](x.flip(axis), axis).flip(axis) if reverse else OPERATORS[name](x, axis)
        )

    rng = np.random.default_rng(2)
    u, v = rng.normal(size=shape), rng.normal(size=shape)
    for x in arrays(name, shape):
        t = torch.tensor(x, requires_grad=True)
        y = g(t)
        (slope,) = torch.autograd.grad((torch.sin(y) * torch.tensor(u)).sum(), t, create_graph=True)
        (bend,) = torch.autograd.grad((slope * torch.tensor(v)).sum(), t)
        grad = aj.grad(lambda x: aj.sum(aj.sin(f(x)) * u))
        size = max(1.0, float(slope.detach().abs().max()), float(bend.abs().max()))
        np.testing.assert_allclose(aj.jit(f)(x), y.detach(), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(aj.jit(grad)(x), slope.detach(), rtol=1e-9, atol=1e-11 * size)
        second = aj.jit(aj.grad(lambda x, grad=grad: aj.sum(grad(x) * v)))(x)
        np.testing.assert_allclose(second, bend, rtol=1e-9, atol=1e-10 * size)
        tangent = aj.jit(lambda x: aj.jvp(lambda x: aj.sum(aj.sin(f(x)) * u), (x,), (v,))[1])(x)
        np.testing.assert_allclose(
            tangent, (slope * torch.tensor(v)).sum().detach(), rtol=1e-9, atol=1e-10 * size
        )


def test_logcumsumexp_at_the_ends_of_the_range() -> None:
    inf = np.inf
    x = np.array([-inf, -inf, -1e300, -800.0, 700.0, 1e300, -1e300, 1e300, 3.0, 1e300])
    expected = torch.logcumsumexp(torch.tensor(x), 0).numpy()
    np.testing.assert_allclose(
        aj.jit(lambda x: aj.logcumsumexp(x, axis=0))(x), expected, rtol=1e-15
    )
    # Where nothing has a term yet there is no slope; the last three share what 1e300 has.
    slope = aj.jit(aj.grad(lambda x: aj.logcumsumexp(x, axis=0)[-1]))(x)
    np.testing.assert_allclose(
        slope, [0, 0, 0, 0, 0, 1 / 3, 0, 1 / 3, 0, 1 / 3], rtol=1e-12, atol=1e-300
    )
    first = aj.jit(aj.grad(lambda x: aj.logcumsumexp(x, axis=0)[3]))(x)
    np.testing.assert_array_equal(first, [0, 0, 0, 1, 0, 0, 0, 0, 0, 0])


def test_no_derivative_overflows_on_the_way() -> None:
    """exp(-y) and the product over one factor are out of range here; the derivatives are not."""
    x = np.linspace(-2000.0, 2000.0, 32)
    t = torch.tensor(x, requires_grad=True)
    (expected_slope,) = torch.autograd.grad(torch.logcumsumexp(t, 0).sum(), t)
    found = aj.jit(aj.grad(lambda x: aj.sum(aj.logcumsumexp(x, axis=0))))(x)
    np.testing.assert_allclose(found, expected_slope.numpy(), rtol=1e-12)
    factors = np.array([1e-200, 1e150, 1e150, 1e-300, 0.0, 1e100, 1e150, 2.0, 3.0])
    found = aj.jit(aj.grad(lambda x: aj.cumprod(x, axis=0)[-1]))(factors)
    expected = [np.prod(np.delete(factors, k)) for k in range(factors.size)]
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_cumprod_with_an_infinite_last_factor() -> None:
    x = np.array([1.0, 2.0, 0.5, 3.0, 1.0, 1.0, 2.0, 1.0, np.inf])
    found = aj.jit(aj.grad(lambda x: aj.cumprod(x, axis=0)[-1]))(x)
    np.testing.assert_array_equal(found, [np.inf] * 8 + [6.0])
