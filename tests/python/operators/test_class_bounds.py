"""Indices out of range are errors at run time that name the index, for gradients alone, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import adjit as aj
import numpy as np
import pytest
import torch

LOGITS = np.arange(12.0).reshape(4, 3) / 7


def runs(f: Callable[..., Any], x: Any, *rest: Any) -> dict[str, Callable[[], Any]]:
    """Ways to run a function or its derivatives, each without the others."""
    seed = np.ones(np.shape(f(x, *(np.clip(r, 0, 2) for r in rest))))
    return {
        "value": lambda: f(x, *rest),
        "compiled": lambda: aj.jit(f)(x, *rest),
        "gradient": lambda: aj.grad(lambda x: aj.sum(f(x, *rest)))(x),
        "compiled gradient": lambda: aj.jit(aj.grad(lambda x, *r: aj.sum(f(x, *r))))(x, *rest),
        "tangent": lambda: aj.jit(lambda x: aj.jvp(lambda x: f(x, *rest), (x,), (x,))[1])(x),
        "pullback": lambda: aj.vjp(lambda x: f(x, *rest), x)[1](seed),
    }


LOSSES = {
    "cross_entropy": aj.nn.cross_entropy,
    "smoothed": lambda x, t: aj.nn.cross_entropy(x, t, label_smoothing=0.1),
    "weighted": lambda x, t: aj.nn.cross_entropy(x, t, np.array([1.0, 2.0, 3.0])),
    "none": lambda x, t: aj.nn.cross_entropy(x, t, reduction="none"),
    "sum": lambda x, t: aj.nn.nll_loss(x, t, reduction="sum"),
    "nll_loss": aj.nn.nll_loss,
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("bad", [3, -1, 2**40])
def test_classes_that_do_not_exist(name: str, bad: int) -> None:
    target = np.array([0, 2, bad, 1])
    for way, run in runs(LOSSES[name], LOGITS, target).items():
        with pytest.raises(aj.BoundsError, match=str(bad)):
            pytest.fail(f"{way} gives {run()}")


@pytest.mark.parametrize("name", LOSSES)
def test_ignored_samples_are_legal(name: str) -> None:
    target = np.array([0, -100, 2, -100])
    t = torch.tensor(LOGITS, requires_grad=True)
    theirs: dict[str, Any] = {
        "smoothed": {"label_smoothing": 0.1},
        "weighted": {"weight": torch.tensor([1.0, 2.0, 3.0]).double()},
        "none": {"reduction": "none"},
        "sum": {"reduction": "sum"},
    }
    function = torch.nn.functional.nll_loss if name in ("sum", "nll_loss") else None
    function = function or torch.nn.functional.cross_entropy
    wanted = function(t, torch.tensor(target), **theirs.get(name, {}))
    wanted.sum().backward()  # type: ignore[no-untyped-call]
    found = LOSSES[name](LOGITS, target)
    np.testing.assert_allclose(found, wanted.detach().numpy(), rtol=1e-12, atol=1e-15)
    gradient = aj.grad(lambda x: aj.sum(LOSSES[name](x, target)))(LOGITS)
    np.testing.assert_allclose(gradient, t.grad.numpy(), rtol=1e-12, atol=1e-15)  # type: ignore[union-attr]


def test_logits_of_nan_and_infinity_keep_their_class() -> None:
    logits = np.array([[np.nan, 0.0], [np.inf, 0.0], [-np.inf, 0.0]])
    found = aj.nn.nll_loss(logits, np.array([0, 0, 0]), reduction="none")
    np.testing.assert_array_equal(found, [np.nan, -np.inf, np.inf])


READS: dict[str, Callable[..., Any]] = {
    "take": lambda x, i: aj.take(x, i, axis=0),
    "getitem": lambda x, i: x[i] if isinstance(x, aj.Tensor) else aj.take(x, i, axis=0),
    "embedding": lambda x, i: aj.nn.embedding(i, x),
    "gather": lambda x, i: aj.gather(x, aj.reshape(i, (4, 1)), axis=1),
    "take_along_axis": lambda x, i: aj.take_along_axis(x, aj.reshape(i, (4, 1)), axis=1),
    "index_add": lambda x, i: aj.square(aj.index_add(x, i, x)),
    "computed": lambda x, i: aj.take(aj.sin(x), i, axis=0),
    "linear": lambda x, i: aj.take(2 * x, i, axis=0),
    "notation": lambda x, i: aj.compute((4,), lambda a: aj.at(x, aj.at(i, a), 0)),
}


@pytest.mark.parametrize("name", READS)
def test_reads_by_index(name: str) -> None:
    for way, run in runs(READS[name], LOGITS, np.array([0, 1, 7, 2])).items():
        with pytest.raises(aj.BoundsError, match="7"):
            pytest.fail(f"{way} gives {run()}")
