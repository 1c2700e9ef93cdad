"""Tensors that are tempted to share a buffer: nobody reads a value that is written over.

A scatter goes on in the buffer of what it starts from, and a result in another shape lies where
what it reads lies. Values and gradients against NumPy and PyTorch, in every phrasing.
"""

from __future__ import annotations

from typing import Any

import adjit as aj
import numpy as np
import pytest
import torch

RNG = np.random.default_rng(3)
N = 13
X = RNG.standard_normal(N)
W = RNG.standard_normal(N)
PERMUTATION = RNG.permutation(N)
REPEATED = RNG.integers(0, N, N)
CLAMPED = np.minimum(np.arange(N) + 2, N - 1)


def torch_gradient(f: Any, *arrays: np.ndarray) -> list[np.ndarray]:
    leaves = [torch.tensor(a, requires_grad=True) for a in arrays]
    f(*leaves).backward()
    return [leaf.grad.numpy() for leaf in leaves]


@pytest.mark.parametrize("index", [PERMUTATION, REPEATED, CLAMPED], ids=["permuted", "any", "low"])
def test_gradient_of_a_tensor_and_its_gather(index: np.ndarray) -> None:
    at = torch.tensor(index)
    (want,) = torch_gradient(lambda x: ((x + x[at]) ** 2 * torch.tensor(W)).sum(), X)
    phrasings = {
        "indexing": lambda x: aj.sum((x + x[index]) ** 2 * W),
        "take": lambda x: aj.sum((x + aj.take(x, index, axis=0)) ** 2 * W),
        "index notation": lambda x: aj.sum(
            aj.compute((N,), lambda i: x[i] + x[aj.at(index, i)]) ** 2 * W
        ),
        "gathered twice": lambda x: aj.sum((x + x[index]) * (x[index] + x) * W),
    }
    for name, f in phrasings.items():
        np.testing.assert_allclose(aj.grad(f)(X), want, rtol=1e-12, err_msg=name)
        value, gradient = aj.jit(aj.value_and_grad(f))(X)
        np.testing.assert_allclose(gradient, want, rtol=1e-12, err_msg=name)
        np.testing.assert_allclose(value, ((X + X[index]) ** 2 * W).sum(), rtol=1e-12)


def test_gradient_of_clamped_reads_by_an_expression() -> None:
    (want,) = torch_gradient(
        lambda x: ((x + x[torch.tensor(CLAMPED)]) ** 2 * torch.tensor(W)).sum(), X
    )
    f = aj.grad(
        lambda x: aj.sum(aj.compute((N,), lambda i: x[i] + x[aj.minimum(i + 2, N - 1)]) ** 2 * W)
    )
    np.testing.assert_allclose(f(X), want, rtol=1e-12)


def test_hessian_of_a_tensor_and_its_gather() -> None:
    at = torch.tensor(REPEATED)
    want = torch.autograd.functional.hessian(
        lambda x: torch.sin(x + x[at] * x).sum(), torch.tensor(X)
    )
    found = aj.hessian(lambda x: aj.sum(aj.sin(x + x[REPEATED] * x)))(X)
    np.testing.assert_allclose(found, want, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("made", ["stage", "input"])
def test_index_add_of_a_tensor_to_itself(made: str) -> None:
    def start(x: Any) -> Any:
        return aj.cos(x) if made == "stage" else x

    t = np.cos(X) if made == "stage" else X
    want = t.copy()
    np.add.at(want, REPEATED, t)
    found = aj.jit(lambda x: (lambda t: aj.index_add(t, REPEATED, t))(start(x)))(X)
    np.testing.assert_allclose(found, want, rtol=1e-12)
    want = t.copy()
    np.add.at(want, REPEATED, t[::-1])
    found = aj.jit(lambda x: (lambda t: aj.index_add(t, REPEATED, aj.flip(t)))(start(x)))(X)
    np.testing.assert_allclose(found, want, rtol=1e-12)


@pytest.mark.parametrize("combine", ["add", "mul", "max", "min"])
def test_text_that_scatters_what_it_starts_from(combine: str) -> None:
    symbol = {"add": "+", "mul": "*", "max": "max", "min": "min"}[combine]
    module = aj.define(
        f"""
        def f(double({N}) x, int64({N}) n) -> (y, z) {{
          t(i) = x(i) * 2.0
          scatter double({N}) y(n(i)) {symbol}= t(i) from t where i in 0:{N}
          u(i) = x(i) + 1.0
          scatter double({N}) z(min(i + 1, {N - 1})) {symbol}= u({N - 1} - i) from u
            where i in 0:{N}
        }}
        """
    )
    y, z = module.f(X, REPEATED)
    ufunc = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[combine]
    want = 2 * X
    ufunc.at(want, REPEATED, 2 * X)
    np.testing.assert_allclose(y, want, rtol=1e-12)
    want = X + 1
    ufunc.at(want, np.minimum(np.arange(N) + 1, N - 1), (X + 1)[::-1])
    np.testing.assert_allclose(z, want, rtol=1e-12)


def test_a_start_that_is_read_later() -> None:
    def f(x: Any) -> Any:
        s = aj.sin(x)
        t = aj.index_add(s, REPEATED, aj.cos(x))
        view = aj.reshape(s, (N, 1))
        return t * 2, view + aj.reshape(t, (N, 1)), aj.cumsum(s, axis=0) + t

    s = np.sin(X)
    t = s.copy()
    np.add.at(t, REPEATED, np.cos(X))
    doubled, shaped, summed = aj.jit(f)(X)
    np.testing.assert_allclose(doubled, 2 * t, rtol=1e-12)
    np.testing.assert_allclose(shaped, (s + t)[:, None], rtol=1e-12)
    np.testing.assert_allclose(summed, np.cumsum(s) + t, rtol=1e-12)


@pytest.mark.parametrize("index", [PERMUTATION, REPEATED, np.arange(N)[::-1].copy()])
@pytest.mark.parametrize("tensor", ["stage", "itself"])
def test_running_sums_of_gathered_data(index: np.ndarray, tensor: str) -> None:
    def f(x: Any, index: Any) -> Any:
        s = aj.sin(x)
        g = s[index]
        g = aj.take(g, index, axis=0) if tensor == "itself" else g
        return aj.cumsum(g, axis=0) + s, aj.flip(aj.cumsum(g, axis=0)) * s

    s = np.sin(X)
    g = s[index][index] if tensor == "itself" else s[index]
    for found in (aj.jit(f)(X, index), aj.jit(lambda x: f(x, index))(X)):
        np.testing.assert_allclose(found[0], np.cumsum(g) + s, rtol=1e-12)
        np.testing.assert_allclose(found[1], np.cumsum(g)[::-1] * s, rtol=1e-12)
    at = torch.tensor(index)

    def by_torch(x: torch.Tensor) -> torch.Tensor:
        s = torch.sin(x)
        g = s[at][at] if tensor == "itself" else s[at]
        return ((torch.cumsum(g, 0) + s) ** 2).sum()

    (want,) = torch_gradient(by_torch, X)
    found = aj.grad(lambda x: aj.sum(f(x, index)[0] ** 2))(X)
    np.testing.assert_allclose(found, want, rtol=1e-10, atol=1e-12)


def test_permuted_rows_and_columns() -> None:
    x = RNG.standard_normal((N, 6))
    columns = RNG.permutation(6)

    def f(x: Any) -> Any:
        s = aj.tanh(x)
        rows, sides = s[PERMUTATION], aj.take(s, columns, axis=1)
        return (
            aj.cumsum(rows, axis=1) - s,
            aj.cumsum(sides, axis=0) + s,
            rows @ aj.transpose(s),
        )

    s = np.tanh(x)
    found = aj.jit(f)(x)
    np.testing.assert_allclose(found[0], np.cumsum(s[PERMUTATION], 1) - s, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found[1], np.cumsum(s[:, columns], 0) + s, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found[2], s[PERMUTATION] @ s.T, rtol=1e-12, atol=1e-15)


def test_residual_embedding() -> None:
    table = RNG.standard_normal((11, 8))
    tokens = RNG.integers(0, 11, 11)
    weight = RNG.standard_normal((11, 8))
    at = torch.tensor(tokens)
    (want,) = torch_gradient(lambda t: (torch.tanh(t + t[at]) * torch.tensor(weight)).sum(), table)
    found = aj.grad(lambda t: aj.sum(aj.tanh(t + t[tokens]) * weight))(table)
    np.testing.assert_allclose(found, want, rtol=1e-10)


def test_graph_laplacian() -> None:
    nodes, edges = 9, 30
    source, target = RNG.integers(0, nodes, edges), RNG.integers(0, nodes, edges)
    x = RNG.standard_normal((nodes, 4))

    def energy(x: Any) -> Any:  # sum over edges of |x_i - x_j|^2, whose gradient is 2 L x
        return aj.sum((x[source] - x[target]) ** 2)

    def smoothed(x: Any) -> Any:  # three steps of diffusion, each from the nodes themselves
        for _ in range(3):
            flow = 0.1 * (x[source] - x[target])
            x = aj.index_add(x, target, flow)
            x = aj.index_add(x, source, -flow)
        return x

    def by_numpy(x: np.ndarray) -> np.ndarray:
        for _ in range(3):
            flow = 0.1 * (x[source] - x[target])
            x = x.copy()
            np.add.at(x, target, flow)
            np.add.at(x, source, -flow)
        return x

    laplacian = np.zeros((nodes, nodes))
    for i, j in zip(source, target, strict=True):
        laplacian[i, i] += 1
        laplacian[j, j] += 1
        laplacian[i, j] -= 1
        laplacian[j, i] -= 1
    np.testing.assert_allclose(aj.grad(energy)(x), 2 * laplacian @ x, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(aj.jit(smoothed)(x), by_numpy(x), rtol=1e-12)
    np.testing.assert_allclose(
        aj.grad(lambda x: aj.sum(smoothed(x) ** 2))(x),
        _gradient(lambda x: (by_numpy(x) ** 2).sum(), x),
        rtol=1e-6,
        atol=1e-6,
    )


def _gradient(f: Any, x: np.ndarray) -> np.ndarray:
    """By central differences."""
    found = np.empty_like(x)
    for at in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[at] = 1e-6
        found[at] = (f(x + step) - f(x - step)) / 2e-6
    return found


def test_in_the_steps_of_a_scan() -> None:
    xs = RNG.standard_normal((5, N))

    def step(carry: Any, x: Any) -> Any:
        s = aj.tanh(carry + x)
        t = aj.index_add(s, REPEATED, s * 0.5)
        return t, aj.cumsum(s[PERMUTATION], axis=0) + s + t

    def by_torch(start: torch.Tensor, xs: torch.Tensor) -> torch.Tensor:
        carry, total = start, torch.zeros(())
        for x in xs:
            s = torch.tanh(carry + x)
            carry = s.index_add(0, torch.tensor(REPEATED), s * 0.5)
            y = torch.cumsum(s[torch.tensor(PERMUTATION)], 0) + s + carry
            total = total + (y**2).sum()
        return total + (carry**3).sum()

    def loss(start: Any, xs: Any) -> Any:
        last, ys = aj.scan(step, start, xs)
        return aj.sum(ys**2) + aj.sum(last**3)

    want = torch_gradient(by_torch, X, xs)
    value, found = aj.jit(aj.value_and_grad(loss, argnums=(0, 1)))(X, xs)
    np.testing.assert_allclose(value, by_torch(torch.tensor(X), torch.tensor(xs)), rtol=1e-10)
    for one, other in zip(found, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)


def test_results_into_what_they_are_computed_from() -> None:
    def step(w: Any, g: Any) -> Any:
        return w[PERMUTATION] - 0.1 * g * w, aj.index_add(w, REPEATED, w)

    w, g = X.copy(), W.copy()
    second = X.copy()
    np.add.at(second, REPEATED, X)
    other = np.empty(N)
    aj.jit(step)(w, g, out=(w, other))
    np.testing.assert_allclose(w, X[PERMUTATION] - 0.1 * W * X, rtol=1e-12)
    np.testing.assert_allclose(other, second, rtol=1e-12)
    w = X.copy()
    aj.jit(step)(w, g, out=(other, w))
    np.testing.assert_allclose(w, second, rtol=1e-12)
    # What the function closes over is read while it runs, too.
    table = X.copy()
    aj.jit(lambda g: aj.cumsum(table[PERMUTATION], axis=0) + g)(W, out=table)
    np.testing.assert_allclose(table, np.cumsum(X[PERMUTATION]) + W, rtol=1e-12)
