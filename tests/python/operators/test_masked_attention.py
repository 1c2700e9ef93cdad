"""Attention where a query may see no key: 0, with finite gradients, as PyTorch's function."""

from __future__ import annotations

from typing import Any

import adjit as aj
import numpy as np
import pytest
import torch

MASK = np.array([[True, False, True], [False, False, False], [True, True, True]])


def additive(mask: np.ndarray) -> np.ndarray:
    return np.where(mask, np.arange(3) * 0.25, -np.inf)


@pytest.mark.parametrize("kind", ["bool", "additive", "all", "none"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fully_masked_queries(kind: str, dtype: Any, rng: np.random.Generator) -> None:
    q, k, v, seed = (rng.normal(size=(2, 2, 3, 4)).astype(dtype) for _ in range(4))
    rows = {"all": np.zeros((3, 3), bool), "none": np.ones((3, 3), bool)}.get(kind, MASK)
    mask = additive(rows).astype(dtype) if kind == "additive" else rows

    def loss(q: Any, k: Any, v: Any, mask: Any) -> Any:
        return aj.sum(aj.nn.scaled_dot_product_attention(q, k, v, attn_mask=mask) * seed)

    leaves = [torch.tensor(a, requires_grad=True) for a in (q, k, v)]
    theirs = torch.tensor(mask, requires_grad=kind == "additive")
    y = torch.nn.functional.scaled_dot_product_attention(*leaves, attn_mask=theirs)
    (y * torch.tensor(seed)).sum().backward()
    found = aj.nn.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    tolerance = 3e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(found, y.detach().numpy(), rtol=tolerance, atol=tolerance)
    numbers = (0, 1, 2, 3) if kind == "additive" else (0, 1, 2)
    wanted = [t.grad.numpy() for t in (*leaves, theirs)[: len(numbers)]]  # type: ignore[union-attr]
    for g, w in zip(aj.grad(loss, argnums=numbers)(q, k, v, mask), wanted, strict=True):
        np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance)


def test_second_derivatives_are_finite(rng: np.random.Generator) -> None:
    q, k, v = (rng.normal(size=(1, 1, 3, 4)) for _ in range(3))

    def loss(q: Any) -> Any:
        return aj.sum(aj.square(aj.nn.scaled_dot_product_attention(q, k, v, attn_mask=MASK)))

    curvature = aj.hessian(loss)(q)
    assert np.isfinite(curvature).all()
    assert not np.any(curvature[0, 0, 1])
    aj.check_grads(loss, (q,), order=2)


@pytest.mark.parametrize("causal", [False, True])
def test_without_a_mask_nothing_is_checked(causal: bool) -> None:
    shape = aj.ShapeDtype((1, 2, 8, 4), "float32")
    low = aj.lower(lambda q: aj.nn.scaled_dot_product_attention(q, q, q, is_causal=causal), shape)
    assert "== -inf" not in low.text and "== 0" not in low.text
