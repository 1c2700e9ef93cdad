"""Scatters: values, modes, duplicates, derivatives of both orders, against NumPy and torch."""

from __future__ import annotations

from typing import Any

import adjit as aj
import numpy as np
import pytest
import torch

RNG = np.random.default_rng(7)
NUMPY = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def scattered(size: int, combine: str = "add", init: Any = 0, mode: str | None = None) -> Any:
    def f(index: Any, value: Any) -> Any:
        r = aj.reduce_axis(value.shape[0])
        return aj.scatter(
            (size,),
            r,
            lambda r: (aj.at(index, r), aj.at(value, r)),
            combine=combine,
            init=init,
            mode=mode,
        )

    return f


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("combine", ["add", "mul", "max", "min"])
def test_reduces_duplicates(dtype: Any, combine: str) -> None:
    index = RNG.integers(0, 7, 50)
    value = (RNG.standard_normal(50) * 3 + 1).astype(dtype)
    start = np.ones(7, dtype)
    expected = start.astype(np.float64)
    NUMPY[combine].at(expected, index, value.astype(np.float64))
    for init in (1, start):
        found = aj.jit(scattered(7, combine, init))(index, value)
        assert found.dtype == dtype
        np.testing.assert_allclose(
            found.astype(np.float64), expected.astype(dtype).astype(np.float64), rtol=2e-3
        )


def test_modes_out_of_range() -> None:
    index, value = np.array([0, 5, -1, 2]), np.array([1.0, 2.0, 4.0, 8.0])
    run = {m: aj.jit(scattered(4, mode=m)) for m in ("drop", "clip", "wrap", "error")}
    assert run["drop"](index, value).tolist() == [1, 0, 8, 0]
    assert run["clip"](index, value).tolist() == [5, 0, 8, 2]
    assert run["wrap"](index, value).tolist() == [1, 2, 8, 4]
    with pytest.raises(aj.BoundsError, match="index 5 .*write to"):
        run["error"](index, value)
    assert run["error"](np.array([0, 1, 1, 3]), value).tolist() == [1, 6, 0, 8]


def test_nothing_to_scatter() -> None:
    empty = aj.jit(scattered(3))(np.zeros(0, np.int64), np.zeros(0))
    assert empty.tolist() == [0, 0, 0]


@pytest.mark.parametrize("shape", [(40, 1), (40, 5), (40, 64), (3000, 130)])
def test_embedding_gradient(shape: tuple[int, int]) -> None:
    table = RNG.standard_normal((11, shape[1]))
    index = RNG.integers(0, 11, shape[0])
    weight = RNG.standard_normal(shape)
    found = aj.grad(lambda t: aj.sum(aj.take(t, index, axis=0) ** 2 * weight))(table)
    t = torch.tensor(table, requires_grad=True)
    (t[torch.tensor(index)] ** 2 * torch.tensor(weight)).sum().backward()
    np.testing.assert_allclose(found, t.grad.numpy(), rtol=1e-12, atol=1e-12)


def test_many_into_few_is_split_and_still_deterministic() -> None:
    index = RNG.integers(0, 16, 1 << 18)
    value = RNG.standard_normal(1 << 18).astype(np.float32)
    f = aj.jit(scattered(16))
    low = aj.lower(scattered(16), index, value)
    assert "parts" in low.schedule
    first = f(index, value)
    np.testing.assert_allclose(first, np.bincount(index, value, 16), rtol=1e-4, atol=1e-2)
    assert all((f(index, value) == first).all() for _ in range(5))


def test_gradients_through_scatter() -> None:
    index = np.array([0, 2, 0, 1, 2, 2])
    value = RNG.standard_normal(6)
    aj.check_grads(lambda v: aj.sum(scattered(4)(index, v) ** 3), (value,), order=2, modes=("rev",))


def test_operator_scatter_add_matches_torch() -> None:
    x, index, src = RNG.standard_normal((4, 5)), RNG.integers(0, 5, (4, 3)), RNG.random((4, 3))
    expected = torch.tensor(x).scatter(1, torch.tensor(index[:, :1]), torch.tensor(src[:, :1]))
    found = aj.scatter(x, index[:, :1], src[:, :1], axis=1)
    np.testing.assert_allclose(found, expected.numpy())
