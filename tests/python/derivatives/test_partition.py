"""Forward and backward apart: what is kept between them, against keeping every intermediate."""

from __future__ import annotations

import math
from typing import Any

import adjit as aj
import numpy as np
import torch
from adjit._core import dtypes
from adjit._run.computation import tensor_specs
from adjit.transforms.grad import vjp_of
from adjit.transforms.vjp import _Joint, _partition

RNG = np.random.default_rng(3)
HIDDEN, WIDTH, STEPS = 16, 8, 40


def residual_bytes(f: Any, *args: Any) -> int:
    """Bytes that the forward leaves to the pullback, the arguments themselves not counted."""
    joint = _Joint(f, args, False)
    handle = vjp_of(joint.traced.computation, joint.wrt, joint.seeded, True)
    inputs = len(joint.leaves) + len(joint.traced.captured)
    forward, _ = _partition(handle, inputs, len(joint.outputs))
    made = list(tensor_specs(forward, True)[len(joint.outputs) :])
    for given in tensor_specs(forward, False):
        if given in made:
            made.remove(given)
    return sum(math.prod(s) * np.dtype(dtypes.to_numpy(dtype)).itemsize for dtype, s in made)


def every_intermediate(f: Any, *args: Any) -> int:
    """Bytes of the results of all stages as they are traced: one array an operator."""
    return sum(
        math.prod(stage.shape) * np.dtype(stage.dtype).itemsize
        for stage in aj.lower(f, *args).stages
    )


def attention(q: Any, k: Any, v: Any) -> Any:
    score = q @ aj.matrix_transpose(k) / math.sqrt(q.shape[-1])
    return aj.sum(aj.tanh(aj.nn.softmax(score, -1) @ v) ** 2)


def test_attention_keeps_one_score_matrix() -> None:
    q, k, v = (RNG.standard_normal((2, 4, 64, 32)) for _ in range(3))
    kept, naive = residual_bytes(attention, q, k, v), every_intermediate(attention, q, k, v)
    scores = 2 * 4 * 64 * 64 * 8
    assert kept < 2 * scores < naive / 2
    value, pull = aj.vjp(attention, q, k, v)
    tensors = [torch.tensor(a, requires_grad=True) for a in (q, k, v)]
    score = tensors[0] @ tensors[1].mT / math.sqrt(32)
    expected = (torch.tanh(score.softmax(-1) @ tensors[2]) ** 2).sum()
    expected.backward()
    np.testing.assert_allclose(value, expected.item())
    for found, tensor in zip(pull(1.0), tensors, strict=True):
        np.testing.assert_allclose(found, tensor.grad.numpy(), rtol=1e-9, atol=1e-12)


def cell(w: Any, carry: Any, x: Any) -> Any:
    h, c = carry
    i, f, o, g = aj.split(aj.concat([x, h]) @ w, 4, 0)
    c = aj.sigmoid(f) * c + aj.sigmoid(i) * aj.tanh(g)
    h = aj.sigmoid(o) * aj.tanh(c)
    return (h, c), h


def lstm(w: Any, x: Any, h: Any) -> Any:
    (_, c), ys = aj.scan(lambda carry, x: cell(w, carry, x), (h, h), x)
    return aj.sum(ys**2) + aj.sum(c)


def test_lstm_keeps_half_of_its_steps() -> None:
    w, x = (
        RNG.standard_normal((WIDTH + HIDDEN, 4 * HIDDEN)) / 3,
        RNG.standard_normal((STEPS, WIDTH)),
    )
    h = np.zeros(HIDDEN)
    kept = residual_bytes(lstm, w, x, h)
    naive = STEPS * every_intermediate(lambda w, h, x: cell(w, (h, h), x)[0], w, h, x[0])
    assert kept <= naive / 2
    value, pull = aj.vjp(lstm, w, x, h)
    tensors = [torch.tensor(a, requires_grad=True) for a in (w, x, h)]
    hidden = state = tensors[2]
    expected = torch.zeros((), dtype=torch.float64)
    for t in range(STEPS):
        i, f, o, g = (torch.cat([tensors[1][t], hidden]) @ tensors[0]).split(HIDDEN)
        state = f.sigmoid() * state + i.sigmoid() * g.tanh()
        hidden = o.sigmoid() * state.tanh()
        expected = expected + (hidden**2).sum()
    expected = expected + state.sum()
    expected.backward()
    np.testing.assert_allclose(value, expected.item())
    for found, tensor in zip(pull(1.0), tensors, strict=True):
        np.testing.assert_allclose(found, tensor.grad.numpy(), rtol=1e-9, atol=1e-12)
