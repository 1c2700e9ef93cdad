"""Einsums of several operands: dtypes, orders, gradients."""

from __future__ import annotations

import adjit as aj
import numpy as np
import pytest
import torch


def test_einsum_of_numbers_keeps_the_dtype_of_arrays() -> None:
    f = aj.jit(lambda a, s, t: aj.einsum("ij,,->ij", a, s, t))
    for dtype in (np.float32, np.float16):
        found = f(np.ones((4, 5), dtype), 0.5, 0.25)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, np.full((4, 5), 0.125, dtype))
    assert f(np.ones((4, 5), np.int32), 2, 3).dtype == np.int32


def test_einsum_of_many_operands() -> None:
    matrices = [np.random.default_rng(k).standard_normal((3, 3)) for k in range(12)]
    subscripts = ",".join("ab" if k % 2 == 0 else "ba" for k in range(12)) + "->ab"
    found = aj.jit(lambda *m: aj.einsum(subscripts, *m))(*matrices)
    np.testing.assert_allclose(found, np.einsum(subscripts, *matrices))


@pytest.mark.parametrize("seed", range(12))
def test_random_einsums_and_their_gradients(seed: int) -> None:
    random = np.random.default_rng(seed)
    labels = "abcde"
    extents = dict(
        zip(labels, random.choice([0, 1, 2, 3, 4], 5, p=[0.05, 0.15, 0.3, 0.3, 0.2]), strict=True)
    )
    terms = ["".join(random.permutation(list(labels))[: random.integers(0, 4)]) for _ in range(5)]
    used = sorted(set("".join(terms)))
    out = "".join(random.permutation(used)[: random.integers(0, len(used) + 1)])
    subscripts = ",".join(terms) + "->" + out
    operands = [random.standard_normal([extents[x] for x in term]) for term in terms]
    tensors = [torch.tensor(x, requires_grad=True) for x in operands]
    expected = torch.einsum(subscripts, *tensors)
    seed_of = random.standard_normal(expected.shape)
    found, pull = aj.vjp(lambda *x: aj.einsum(subscripts, *x), *operands)
    np.testing.assert_allclose(found, expected.detach().numpy(), rtol=1e-9, atol=1e-9)
    gradients = torch.autograd.grad(expected, tensors, torch.tensor(seed_of))
    for ours, theirs in zip(pull(seed_of), gradients, strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-9, atol=1e-9)
