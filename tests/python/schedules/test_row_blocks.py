"""Attention and products over many rows, whose large intermediates exist in blocks of rows only."""

from __future__ import annotations

from typing import Any

import adjit as aj
import numpy as np
import pytest


def attention(q: Any, k: Any, v: Any) -> Any:
    return aj.nn.scaled_dot_product_attention(q, k, v)


def pull(cotangent: Any, *args: Any) -> Any:
    return aj.vjp(attention, *args)[1](cotangent)


def by_numpy(g: Any, q: Any, k: Any, v: Any) -> list[Any]:
    """Output and gradients in float64."""
    g, q, k, v = (a.astype(np.float64) for a in (g, q, k, v))
    scale = 1 / np.sqrt(q.shape[-1])
    scores = scale * q @ k.swapaxes(-1, -2)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    of_weights = g @ v.swapaxes(-1, -2)
    of_scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdims=True))
    return [
        weights @ v,
        scale * of_scores @ k,
        scale * of_scores.swapaxes(-1, -2) @ q,
        weights.swapaxes(-1, -2) @ g,
    ]


def draw(*shapes: tuple[int, ...], dtype: Any = np.float32) -> list[Any]:
    random = np.random.default_rng(7)
    return [random.standard_normal(shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize(
    ("batch", "rows", "columns", "width", "dtype"),
    [
        ((1, 2), 1100, 1100, 16, np.float32),
        ((1, 1), 1531, 900, 8, np.float32),  # no block divides the rows
        ((), 1600, 1030, 8, np.float32),
        ((9,), 640, 500, 8, np.float32),
        ((1, 3), 777, 1024, 12, np.float64),
    ],
)
def test_gradients_of_long_sequences(
    batch: tuple[int, ...], rows: int, columns: int, width: int, dtype: Any
) -> None:
    queries, keys = (*batch, rows, width), (*batch, columns, width)
    g, q, k, v = draw(queries, queries, keys, keys, dtype=dtype)
    lowered = aj.lower(pull, g, q, k, v)
    assert '"split_axis"' in lowered.schedule_json
    compiled = lowered.compile()
    whole = int(np.prod(batch)) * rows * columns * q.itemsize
    assert compiled.report["workspace_bytes"] < 2 * whole, "neither weights nor their gradients"
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    _, *expected = by_numpy(g, q, k, v)
    for one, other in zip(compiled(g, q, k, v), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def test_layers_have_chains_of_their_own() -> None:
    """A projection lies between two groups of rows."""
    x, *weights = (0.3 * a for a in draw((2, 1200, 16), (16, 16), (16, 16), (16, 16)))

    def layers(x: Any, wq: Any, wk: Any, wv: Any) -> Any:
        for _ in range(3):
            x = x + attention(x @ wq, x @ wk, x @ wv)
        return x

    lowered = aj.lower(layers, x, *weights)
    assert lowered.schedule_json.count('"split_axis"') == 3
    assert lowered.schedule_json.count('"make_adjacent"') == 3
    compiled = lowered.compile()
    assert compiled.report["workspace_bytes"] < 2 * 1200 * 1200 * 4
    expected = x.astype(np.float64)
    for _ in range(3):
        q, k, v = (expected @ w for w in weights)
        expected = expected + by_numpy(q, q, k, v)[0]
    np.testing.assert_allclose(compiled(x, *weights), expected, rtol=1e-4, atol=1e-4)


def test_what_runs_between_rows_is_no_copy() -> None:
    """A running sum reads the sums over one group's rows, and the next group reads it."""
    q, k, x, r, s = (0.4 * a for a in draw(*[(9, 640, 8)] * 5))

    def weighted(m: Any, q: Any, k: Any) -> Any:
        return m.exp(m.einsum("hid,hjd->hij", q, k))

    def forward(q: Any, k: Any, x: Any, r: Any, s: Any) -> Any:
        sums = aj.einsum("hij,hid->hjd", weighted(aj, q, k), x)
        running = aj.cumsum(sums, axis=1)
        scores = aj.einsum("hid,hjd->hij", r, s) * running[:, :1, :1]
        return aj.einsum("hij,hid->hjd", aj.exp(scores), x)

    lowered = aj.lower(forward, q, k, x, r, s)
    assert '"split_axis"' in lowered.schedule_json
    exact = [a.astype(np.float64) for a in (q, k, x, r, s)]
    sums = np.einsum("hij,hid->hjd", weighted(np, *exact[:2]), exact[2])
    scores = np.einsum("hid,hjd->hij", *exact[3:]) * np.cumsum(sums, 1)[:, :1, :1]
    expected = np.einsum("hij,hid->hjd", np.exp(scores), exact[2])
    error = np.abs(lowered.compile()(q, k, x, r, s) - expected).max() / np.abs(expected).max()
    assert error < 2e-3, "exponentials of sums of 640 terms"


def test_what_waits_for_a_sum_is_no_row() -> None:
    x, w, u, y = draw((6000, 48), (48, 256), (256, 32), (256, 256))
    x, w, y = 0.1 * x, 0.1 * w, 0.01 * y

    def forward(x: Any, w: Any, u: Any, y: Any) -> Any:
        hidden = x @ w
        scale = aj.einsum("ij,ij->j", hidden, hidden) @ y
        return aj.tanh(hidden * scale) @ u

    hidden = x.astype(np.float64) @ w
    expected = np.tanh(hidden * ((hidden * hidden).sum(0) @ y)) @ u
    np.testing.assert_allclose(aj.jit(forward)(x, w, u, y), expected, rtol=1e-3, atol=1e-3)


def test_the_forward_alone() -> None:
    q, k, v = draw((2, 1200, 16), (2, 1100, 16), (2, 1100, 16))
    lowered = aj.lower(attention, q, k, v)
    assert '"split_axis"' in lowered.schedule_json
    expected = by_numpy(q, q, k, v)[0]
    np.testing.assert_allclose(lowered.compile()(q, k, v), expected, rtol=1e-5, atol=1e-5)


def test_heads_innermost() -> None:
    """Queries (tokens, heads, width): the rows are not the first axis of a head."""
    g, q, k, v = draw((1100, 2, 16), (1100, 2, 16), (1100, 2, 16), (1100, 2, 16))

    def moved(*args: Any) -> Any:
        heads = attention(*(aj.transpose(a, (1, 0, 2)) for a in args))
        return aj.transpose(heads, (1, 0, 2))

    gradients = aj.jit(lambda g, *args: aj.vjp(moved, *args)[1](g))(g, q, k, v)
    _, *expected = by_numpy(*(a.transpose(1, 0, 2) for a in (g, q, k, v)))
    for one, other in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(one, other.transpose(1, 0, 2), rtol=1e-5, atol=1e-5)


def test_causal_rows() -> None:
    """Scores that a mask takes out, by the row's number."""
    g, q, k, v = draw((1, 1100, 8), (1, 1100, 8), (1, 1100, 8), (1, 1100, 8))

    def causal(q: Any, k: Any, v: Any) -> Any:
        scores = aj.einsum("hid,hjd->hij", q, k)
        row = aj.compute(scores.shape, lambda h, i, j: aj.where(j <= i, scores[h, i, j], -1e9))
        return aj.einsum("hij,hjd->hid", aj.nn.softmax(row, axis=-1), v)

    gradients = aj.jit(lambda g, *args: aj.vjp(causal, *args)[1](g))(g, q, k, v)
    scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(1, 2)
    scores[:, np.triu(np.ones((1100, 1100), bool), 1)] = -1e9
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    of_weights = g @ v.astype(np.float64).swapaxes(1, 2)
    of_scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdims=True))
    expected = [of_scores @ k, of_scores.swapaxes(1, 2) @ q, weights.swapaxes(1, 2) @ g]
    for one, other in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


def test_a_layer_of_many_rows() -> None:
    """A dense layer's hidden values, and the gradients of its weights over all rows."""
    x, w, u, g = draw((6000, 48), (48, 256), (256, 32), (6000, 32))

    def layer(x: Any, w: Any, u: Any) -> Any:
        return aj.tanh(x @ w) @ u

    gradients = aj.jit(lambda g, *args: aj.vjp(layer, *args)[1](g))(g, x, w, u)
    x, w, u, g = (a.astype(np.float64) for a in (x, w, u, g))
    hidden = np.tanh(x @ w)
    of_hidden = (g @ u.T) * (1 - hidden**2)
    for one, other in zip(gradients, [of_hidden @ w.T, x.T @ of_hidden, hidden.T @ g], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-3)


def layer(m: Any, x: Any, wq: Any, wk: Any, wv: Any, wo: Any, *, heads: int, groups: int) -> Any:
    """Heads side by side, `heads / groups` of them with the same keys; for adjit and PyTorch."""
    n, d = x.shape
    width = d // heads

    def split(a: Any, count: int) -> Any:
        return m.permute_dims(m.reshape(a, (n, count, width)), (1, 0, 2))

    q, k, v = split(x @ wq, heads), split(x @ wk, groups), split(x @ wv, groups)
    if groups != heads:
        k, v = (m.repeat(a, heads // groups, 0) for a in (k, v))
    weights = m.softmax(width**-0.5 * q @ m.permute_dims(k, (0, 2, 1)))
    return x + m.reshape(m.permute_dims(weights @ v, (1, 0, 2)), (n, d)) @ wo


class OfAdjit:
    permute_dims, reshape = staticmethod(aj.permute_dims), staticmethod(aj.reshape)

    @staticmethod
    def repeat(a: Any, count: int, axis: int) -> Any:
        return aj.repeat(a, count, axis=axis)

    @staticmethod
    def softmax(a: Any) -> Any:
        return aj.nn.softmax(a, axis=-1)


@pytest.mark.parametrize(
    ("layers", "tokens", "heads", "groups", "dtype"),
    [
        (1, 1408, 4, 4, np.float32),
        (2, 1409, 3, 3, np.float32),  # no block divides the rows
        (2, 1280, 4, 2, np.float32),
        (1, 1200, 4, 1, np.float64),
        (3, 1500, 2, 2, np.float64),
    ],
)
def test_layers_whose_heads_are_mixed(
    layers: int, tokens: int, heads: int, groups: int, dtype: Any
) -> None:
    """A row of the backward waits for all heads of the forward."""
    torch = pytest.importorskip("torch")

    class OfTorch:
        permute_dims, reshape = torch.permute, torch.reshape
        repeat = torch.repeat_interleave

        @staticmethod
        def softmax(a: Any) -> Any:
            return torch.softmax(a, -1)

    width = 8
    d, kv = heads * width, groups * width
    shapes = [(tokens, d)] + [(d, d), (d, kv), (d, kv), (d, d)] * layers
    x, *weights = draw(*shapes, dtype=dtype)
    weights = [w / np.sqrt(d).astype(dtype) for w in weights]

    def loss(m: Any, x: Any, *weights: Any) -> Any:
        for k in range(layers):
            x = layer(m, x, *weights[4 * k : 4 * k + 4], heads=heads, groups=groups)
        return x

    def total(x: Any, *weights: Any) -> Any:
        y = loss(OfAdjit, x, *weights)
        return aj.sum(y * y)

    every = tuple(range(len(weights) + 1))
    lowered = aj.lower(aj.grad(total, argnums=every), x, *weights)
    assert lowered.schedule_json.count('"split_axis"') == 2 * layers
    compiled = lowered.compile()
    scores = heads * tokens * tokens * x.itemsize
    assert compiled.report["workspace_bytes"] < (layers + 1.5) * scores, "one a layer is kept"
    tensors = [torch.tensor(a, requires_grad=True) for a in (x, *weights)]
    y = loss(OfTorch, *tensors)
    expected = torch.autograd.grad((y * y).sum(), tensors)
    for one, other in zip(compiled(x, *weights), expected, strict=True):
        error = np.abs(one - other.numpy()).max() / np.abs(other.numpy()).max()
        assert error < (1e-5 if dtype == np.float32 else 1e-12)


def test_two_products_with_the_same_values() -> None:
    """Both would take a copy of what was computed before, which lies in place of one of them."""
    heads, tokens = 6, 1024
    shapes = [(tokens, 48), (heads, 48, 8), (1, 48, 8), (1, 48, 8), (heads, 8, 48)]
    x, *weights = draw(*shapes, dtype=np.float64)
    weights = [w / 7 for w in weights]

    def forward(m: Any, shared: Any, x: Any, wq: Any, wk: Any, wv: Any, wo: Any) -> Any:
        q, k, v = (m.einsum("iw,hwd->hid", x, w) for w in (wq, wk, wv))
        k, v = shared(k), shared(v)
        scores = m.einsum("hid,hjd->hij", q, k) * 0.35
        weights = m.tanh(scores) * 0.03
        one = m.einsum("hij,hjd->hid", weights, v)
        other = m.einsum("hij,hjd->hid", m.tanh(scores) * weights, v)
        return m.einsum("hid,hdw->iw", one + other, wo)

    def for_all_heads(a: Any) -> Any:
        return aj.compute((heads, tokens, 8), lambda h, j, e: a[h // heads, j, e])

    expected = forward(np, lambda a: np.repeat(a, heads, 0), x, *weights)
    result = aj.jit(lambda *args: forward(aj, for_all_heads, *args))(x, *weights)
    np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9)
