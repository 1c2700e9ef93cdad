"""Index notation and text notation."""

from __future__ import annotations

import inspect
import math
import re
from pathlib import Path
from typing import Any

import adjit as aj
import numpy as np
import pytest
import torch
from adjit._trace import expr_operators, operators

A = np.arange(12.0).reshape(3, 4)


def test_compute_with_a_reduction_anywhere() -> None:
    def f(a: Any, b: Any) -> Any:
        k = aj.reduce_axis(a.shape[1])
        return aj.compute(
            (a.shape[0], b.shape[1]), lambda i, j: 1 + aj.sum(a[i, k] * b[k, j], axis=k) / 2
        )

    np.testing.assert_allclose(aj.jit(f)(A, A.T), 1 + A @ A.T / 2)
    gradient = aj.grad(lambda a, b: aj.sum(f(a, b)))(A, A.T)
    np.testing.assert_allclose(gradient, np.tile(A.sum(0) / 2, (3, 1)))


def test_compute_outside_a_trace_reads_arrays_with_at() -> None:
    k = aj.reduce_axis(1, 4)
    rows = aj.compute((3,), lambda i: aj.max(aj.at(A, i, k), axis=k))
    np.testing.assert_array_equal(rows, A.max(1))
    several = aj.compute((3,), lambda i: (aj.at(A, i, 0), aj.exp(-aj.at(A, i, i))))
    np.testing.assert_array_equal(several[0], A[:, 0])
    np.testing.assert_allclose(several[1], np.exp(-np.diag(A)))


def test_guards_ties_and_integer_expressions() -> None:
    k = aj.reduce_axis(4)
    upper = aj.compute((3,), lambda i: aj.sum(aj.at(A, i, k), axis=k, where=k > i))
    np.testing.assert_array_equal(upper, np.triu(A, 1).sum(1))
    folded = aj.compute((6,), lambda i: aj.at(A, i // 2, (i * 3 - 7) % 4))
    np.testing.assert_array_equal(folded, [A[i // 2, (i * 3 - 7) % 4] for i in range(6)])
    first = aj.grad(
        lambda x: aj.sum(aj.compute((1,), lambda i: aj.max(x[k], axis=k, ties="first")))
    )(np.array([1.0, 5.0, 5.0, 0.0]))
    np.testing.assert_array_equal(first, [0, 1, 0, 0])


@pytest.mark.parametrize("strict", [False, True])
def test_bands_by_distances_cost_their_points(strict: bool) -> None:
    rows, columns = np.mgrid[:9, :9]
    near = abs(rows - columns) < 3 if strict else abs(rows - columns) <= 2
    matrix = np.where(near, 1.0 + columns, 0.0)

    def f(x: Any) -> Any:
        j = aj.reduce_axis(9)

        def row(i: Any) -> Any:
            band = abs(i - j) < 3 if strict else abs(i - j) <= 2
            return aj.sum(aj.select(band, x[j], 0.0) * (1.0 + j), axis=j)

        return aj.compute((9,), row)

    x = np.random.default_rng(0).random(9)
    np.testing.assert_allclose(aj.jit(f)(x), matrix @ x)
    lowered = aj.lower(aj.grad(lambda x: aj.sum(f(x))), x)
    np.testing.assert_allclose(lowered.compile()(x), matrix.sum(0))
    assert sum(s.iterations or 0 for s in lowered.stages) == near.sum()


def test_constant_indices_out_of_range_have_guards_and_modes() -> None:
    x = np.array([1.0, 2.0, 3.0])
    folded = aj.compute((2,), lambda i: aj.select(i - i > 0, aj.at(x, 5), 7.0))
    np.testing.assert_array_equal(folded, 7.0)
    assert aj.compute((), lambda: aj.at(x, 5, mode="clip")) == 3.0
    assert aj.compute((), lambda: aj.at(x, 5, mode="wrap")) == 3.0
    assert aj.compute((), lambda: aj.at(x, 5, mode="drop")) == 0.0
    with pytest.raises(aj.BoundsError, match=r"index 5 .*test_notation|test_notation.*index 5"):
        aj.compute((2,), lambda i: aj.select(i > 0, aj.at(x, 5), 7.0))


def test_an_expression_serves_many_traces() -> None:
    k = aj.reduce_axis(4)
    shared = k * 2 + 1
    for n in range(40):  # traces die in between, and others take their addresses

        def element(i: aj.Expr, n: int = n) -> aj.Expr:
            before = sum((aj.at(A, i, 0) * float(m) for m in range(n % 7)), 0.0 * aj.at(A, i, 0))
            return before + aj.sum(aj.at(A, i, k) * shared, axis=k)

        want = A[:, 0] * sum(range(n % 7)) + A @ np.arange(1, 9, 2)
        np.testing.assert_allclose(aj.compute((3,), element), want)


def test_custom_reducers_do_not_inherit_from_dead_ones() -> None:
    def computed(i: aj.Expr) -> aj.Expr:
        total = 0.0 * aj.at(A, i, 0)
        for scale in range(1, 9):
            k = aj.reduce_axis(4)
            plus = aj.reducer(lambda a, b: a + b, identity=0.0)
            total = total + plus(aj.at(A, i, k) * float(scale), axis=k)
        return total

    np.testing.assert_allclose(aj.compute((3,), computed), 36 * A.sum(1))


def test_axes_are_numbers_beside_floats() -> None:
    for dtype in (np.float32, np.float64):
        x = np.arange(1, 4).astype(dtype)
        got = aj.jit(lambda x: aj.compute(3, lambda i: i + x[i] * (i / 2)))(x)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, np.arange(3) + x * np.arange(3) / 2)
    slope = aj.grad(lambda x: aj.sum(aj.compute(3, lambda i: i * x[i])))(x)
    np.testing.assert_array_equal(slope, [0, 1, 2])
    assert aj.compute(3, lambda i: i * 3).dtype == np.int64
    assert aj.compute(3, lambda i: aj.exp(i)).dtype == np.float32
    with pytest.raises(aj.DTypeError, match="float64 and float32"):
        aj.compute(3, lambda i: i + aj.at(x, i) + aj.at(x.astype(np.float32), i))


def test_an_axis_that_is_not_reduced_is_named_by_where_it_was_made() -> None:
    k = aj.reduce_axis(4)
    line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    with pytest.raises(aj.Error, match=rf"test_notation\.py:{line}' \(over 0:4\)"):
        aj.compute((3,), lambda i: aj.at(A, i, k))


def test_an_index_through_floats_is_checked_when_it_is_too_much_to_prove() -> None:
    table = np.arange(4.0)

    def f(x: Any, scale: float) -> Any:
        def body(i: Any, j: Any) -> Any:
            return x[aj.floor((i * 2000 + j).astype("float64") / scale).astype("int64")]

        return aj.compute((2000, 2000), body)

    got = aj.jit(lambda x: f(x, 1e6))(table)
    np.testing.assert_array_equal(got.ravel(), np.arange(4_000_000) // 1_000_000)

    def leaves(x: Any) -> Any:
        def body(i: Any, j: Any) -> Any:
            return x[aj.select((i == 700) & (j == 9), 4.5, 0.5).astype("int64")]

        return aj.compute((2000, 2000), body)

    with pytest.raises(aj.BoundsError, match="index 4 .* i = 700, j = 9"):
        aj.jit(leaves)(table)


NUMPY_FUNCTIONS: dict[str, Any] = {
    "exp": lambda v: np.exp(v),
    "array on the left": lambda v: A + v,
    "matmul": lambda v: A.T @ v,
    "sum": lambda v: np.sum(v, 1, keepdims=True),
    "std": lambda v: np.std(v, ddof=1),
    "cumsum": lambda v: np.cumsum(v),
    "concatenate": lambda v: np.concatenate([v, A], axis=1),
    "clip": lambda v: np.clip(v, 1, 3),
    "where": lambda v: np.where(v > 2, v, 0.0),
    "einsum": lambda v: np.einsum("ij,kj->ik", v, A),
    "shape": lambda v: v * np.shape(v)[1],
    "transpose": lambda v: np.transpose(v),
}


@pytest.mark.parametrize("name", NUMPY_FUNCTIONS)
def test_numpy_functions_stand_for_operators(name: str) -> None:
    f = NUMPY_FUNCTIONS[name]
    np.testing.assert_allclose(aj.jit(f)(A), f(A))


def test_numpy_functions_on_expressions() -> None:
    k = aj.reduce_axis(4)
    got = aj.compute((3,), lambda i: np.sum(np.maximum(np.sqrt(aj.at(A, i, k)), 1.5), axis=k))
    np.testing.assert_allclose(got, np.maximum(np.sqrt(A), 1.5).sum(1))


def test_operations_that_are_operators_take_expressions() -> None:
    """A new row of the table of operations is one of them, too."""
    table = (Path(__file__).parents[3] / "runtime" / "expr" / "op.hpp").read_text()
    operations = re.findall(r'X\(\w+,\s+"(\w+)",\s+[123], (?!Select|Cast)', table)
    assert len(operations) > 40
    # min and max of the table are maximum and minimum of two; of one tensor they reduce.
    named = [n for n in operations if n in operators.TABLE and n not in ("min", "max")]
    missing = [n for n in named if n not in expr_operators._OPERATIONS]
    assert not missing


def test_operations_on_bits_and_sides() -> None:
    n = np.array([5, 3, 12])
    got = aj.compute((3,), lambda i: aj.bitwise_left_shift(aj.at(n, i), 2))
    np.testing.assert_array_equal(got, n << 2)
    got = aj.compute((3,), lambda i: aj.bitwise_right_shift(aj.at(n, i), 1))
    np.testing.assert_array_equal(got, n >> 1)
    got = aj.compute((3,), lambda i: aj.bitwise_invert(aj.at(n, i)))
    np.testing.assert_array_equal(got, ~n)
    got = aj.compute((3,), lambda i: aj.hypot(aj.at(A, i, 0), aj.at(A, i, 1)))
    np.testing.assert_allclose(got, np.hypot(A[:, 0], A[:, 1]))


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda v: np.cbrt(v), r"numpy\.cbrt .*no operator of that name"),
        (lambda v: np.add.reduce(v), r"numpy\.add\.reduce .*use aj\.add"),
        (lambda v: np.add(A, v, out=A.copy()), r"numpy\.add with out="),
        (lambda v: np.median(v), r"numpy\.median .*no operator of that name"),
        (lambda v: np.sum(v, where=A > 1), r"'where'.*its signature is sum\(x"),
    ],
)
def test_other_numpy_functions_say_what_to_use(f: Any, message: str) -> None:
    with pytest.raises((aj.Error, TypeError), match=message):
        aj.jit(f)(A)


def test_powers_in_the_text_notation() -> None:
    m = aj.define("def f(double(N) x) -> (y) { y(i) = -x(i) ** 2 + 2 ** -x(i) ** 2 }")
    x = np.array([0.5, 1.0, 2.0])
    np.testing.assert_allclose(m.f(x), -(x**2) + 2 ** -(x**2))


def test_reads_by_data_with_modes() -> None:
    index = np.array([0, 7, -1])
    expected = {"clip": [0, 2, 0], "wrap": [0, 1, 2]}
    for mode, rows in expected.items():
        got = aj.compute((3,), lambda i, m=mode: aj.at(A, aj.at(index, i), 1, mode=m))
        np.testing.assert_array_equal(got, A[rows, 1])
    dropped = aj.compute((3,), lambda i: aj.at(A, aj.at(index, i), 1, mode="drop"))
    np.testing.assert_array_equal(dropped, [1, 0, 0])


def test_clip_on_expressions_has_slope_one_at_its_bounds() -> None:
    x = np.array([-2.0, -1.0, 0.5, 3.0, 4.0, np.nan])
    for bounds in ({"min": -1, "max": 3}, {"min": -1}, {"max": 3}):

        def clipped(v: Any, given: Any = bounds) -> Any:
            return aj.compute(6, lambda i: aj.clip(v[i], **given))

        np.testing.assert_array_equal(aj.jit(clipped)(x), np.clip(x, **bounds))
        slope = aj.grad(lambda v, f=clipped: aj.sum(f(v)[:5]))(x)
        of_operator = aj.grad(lambda v, given=bounds: aj.sum(aj.clip(v, **given)[:5]))(x)
        np.testing.assert_array_equal(slope, of_operator)


def test_control_flow_on_an_expression_raises() -> None:
    with pytest.raises(aj.Error, match=r"aj\.select"):
        aj.compute((3,), lambda i: 1.0 if i > 1 else 2.0)


_k = aj.reduce_axis(4)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda i: A[i, 0], r"aj\.at"),
        (lambda i: math.exp(i), r"aj\.exp"),
        (lambda i: aj.sum(aj.at(A, i, 0)), r"needs axis=.*not None"),
        (lambda i: aj.sum(aj.at(A, i, 0), axis=0), r"needs axis=.*not 0"),
        (lambda i: aj.mean(aj.at(A, i, _k), axis=_k), r"'mean' .*aj\.compute"),
        (lambda i: aj.at(A, i, slice(None)), r"a slice .*one element"),
        (lambda i: [aj.at(A, i, 0)], r"a list .*no scalar expression"),
        (lambda i: None, r"a NoneType .*no scalar expression"),
        (lambda i, j: aj.at(A, i, j), r"1 axes.*\(i, j\)"),
        (lambda: 1.0, r"1 axes.*\(\)"),
    ],
)
def test_what_is_no_expression_is_named_with_its_line(body: Any, message: str) -> None:
    with pytest.raises(aj.Error, match=message) as caught:
        aj.compute((3,), body)
    assert re.search(r"test_notation\.py:\d+", str(caught.value))


def test_custom_reducers() -> None:
    k = aj.reduce_axis(4)
    largest = aj.reducer(lambda a, b: aj.maximum(a, b), -np.inf)
    np.testing.assert_array_equal(
        aj.compute((3,), lambda i: largest(aj.at(A, i, k), axis=k)), A.max(1)
    )
    where = aj.reducer(
        lambda a, b: (aj.where(a[0] >= b[0], a[0], b[0]), aj.where(a[0] >= b[0], a[1], b[1])),
        (-np.inf, 0),
    )
    values, places = aj.compute((3,), lambda i: where((aj.sin(aj.at(A, i, k)), k), axis=k))
    np.testing.assert_allclose(values, np.sin(A).max(1))
    np.testing.assert_array_equal(places, np.sin(A).argmax(1))


def histogram(index: Any, weight: Any) -> Any:
    r = aj.reduce_axis(index.shape[0])
    return aj.scatter((4,), r, lambda r: (index[r], weight[r]))


def test_scatter_is_derived_printed_and_run() -> None:
    index, weight = np.array([0, 2, 0]), np.ones(3)
    low = aj.lower(aj.grad(lambda i, w: aj.sum(histogram(i, w) ** 2), argnums=1), index, weight)
    assert "scatter double(4)" in low.text
    aj.define(low.text)
    gradient = aj.grad(lambda i, w: aj.sum(histogram(i, w) ** 2), argnums=1)
    np.testing.assert_allclose(gradient(index, weight), [4, 2, 4])


def hot_select(index: Any, w: Any) -> Any:
    k = aj.reduce_axis(w.shape[0])
    shape = (index.shape[0], w.shape[1])
    return aj.compute(shape, lambda i, j: aj.sum(aj.select(k == index[i], w[k, j], 0), axis=k))


def hot_operator(index: Any, w: Any) -> Any:
    return aj.nn.one_hot(index, num_classes=w.shape[0]).astype("float64") @ w


def hot_comparison(index: Any, w: Any) -> Any:
    rows = aj.reshape(index, (-1, 1)) == aj.arange(w.shape[0])
    return rows.astype("float64") @ w


@pytest.mark.parametrize("f", [hot_select, hot_operator, hot_comparison])
def test_one_hot_by_data_is_a_gather(f: Any, rng: np.random.Generator) -> None:
    index, w = np.array([3, 0, 6, 2, 3, -1, 9]), rng.standard_normal((7, 4))
    loss = lambda i, w: aj.sum(f(i, w) ** 2)  # noqa: E731
    low = aj.lower(aj.value_and_grad(loss, argnums=1), index, w)
    assert max(stage.iterations for stage in low.stages) == 7 * 4
    value, gradient = aj.value_and_grad(loss, argnums=1)(index, w)
    torch_w = torch.tensor(w, requires_grad=True)
    hot = torch.tensor(index[:, None] == np.arange(7)).double()
    wanted = ((hot @ torch_w) ** 2).sum()
    wanted.backward()
    np.testing.assert_allclose(value, wanted.item())
    np.testing.assert_allclose(gradient, torch_w.grad.numpy())


MATMUL = """
def matmul(float(M, K) A, float(K, N) B) -> (C) {
    C(m, n) +=! A(m, r_k) * B(r_k, n)
}
"""


def test_define() -> None:
    a, b = A.astype(np.float32), A.T.astype(np.float32)
    m = aj.define(MATMUL)
    assert dir(m) == ["matmul"] and "matmul(A, B) -> (C)" in repr(m.matmul)
    np.testing.assert_allclose(m.matmul(a, b), a @ b)
    out, pullback = aj.vjp(m.matmul, a, b)
    ga, gb = pullback(np.ones_like(out))
    np.testing.assert_allclose(ga, np.ones((3, 3)) @ b.T)
    np.testing.assert_allclose(gb, a.T @ np.ones((3, 3)))
    np.testing.assert_allclose(aj.jit(lambda a: aj.sum(m.matmul(a, b)) * 2)(a), 2 * (a @ b).sum())


def test_define_refuses_what_does_not_fit() -> None:
    m = aj.define(MATMUL)
    a = A.astype(np.float32)
    with pytest.raises(aj.ShapeError, match="'K' is 4"):
        m.matmul(a, a)
    with pytest.raises(aj.DTypeError, match="float64"):
        m.matmul(A, A)
    with pytest.raises(aj.Error, match="2 arguments"):
        m.matmul(a)
    with pytest.raises(AttributeError, match="there are matmul"):
        _ = m.convolution


ROUND_TRIPS: dict[str, Any] = {
    "matmul": (lambda a, b: aj.sum((a @ b) ** 2), [(3, 4), (4, 2)]),
    "softmax": (lambda x: aj.sum(aj.nn.softmax(x, axis=1) ** 2), [(3, 4)]),
    "conv2d": (
        lambda x, w: aj.sum(aj.nn.conv2d(x, w, stride=2, padding=1) ** 2),
        [(1, 2, 6, 5), (3, 2, 3, 3)],
    ),
    "max_pool2d": (lambda x: aj.sum(aj.nn.max_pool2d(x, 2) ** 2), [(1, 2, 4, 6)]),
    "slices": (lambda x: aj.sum(x[1:, ::2] * x[:-1, 1:2]), [(4, 5)]),
}


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_derived_text_parses_back_to_the_same_results(name: str, rng: np.random.Generator) -> None:
    f, shapes = ROUND_TRIPS[name]
    args = [rng.standard_normal(s) for s in shapes]
    gradient = aj.value_and_grad(f, argnums=tuple(range(len(args))))
    low = aj.lower(gradient, *args)
    module = aj.define(low.text)
    (definition,) = dir(module)
    found = getattr(module, definition)(*args)
    value, gradients = gradient(*args)
    for again, once in zip(found, [value, *gradients], strict=True):
        np.testing.assert_array_equal(again, once)
    assert (
        aj.lower(getattr(module, definition), *args).text.splitlines()[1:]
        == (low.text.splitlines()[1:])
    )


@pytest.mark.parametrize(
    "f",
    [lambda x, i: aj.compute((3,), lambda k: x[i[k]]), lambda x, i: aj.take(x, i)],
    ids=["compute", "take"],
)
def test_index_from_data_out_of_range_raises(f: Any) -> None:
    with pytest.raises(aj.BoundsError, match="7"):
        aj.jit(f)(np.arange(3.0), np.array([0, 7, 1]))


@pytest.mark.parametrize("terms", [400, 5000])
def test_a_loop_may_write_any_number_of_terms(terms: int) -> None:
    x, w = np.linspace(-1, 1, terms + 40), np.sin(np.arange(float(terms)))

    def taps(x: Any) -> Any:
        def body(i: Any) -> Any:
            total = 0.0
            for k in range(terms):
                total = total + x[i + k] * float(w[k])
            return total

        return aj.compute((x.shape[0] - terms + 1,), body)

    np.testing.assert_allclose(aj.jit(taps)(x), np.correlate(x, w), rtol=1e-9, atol=1e-9)


def test_a_condition_and_an_index_may_be_as_deep() -> None:
    x = np.arange(8.0)

    def f(x: Any) -> Any:
        r = aj.reduce_axis(8)

        def body(i: Any) -> Any:
            index: Any = i
            inside = r <= i
            for k in range(1500):
                index = aj.where(index > 7, index, index + 0 * k)
                inside = inside & (r < 9 + k)
            return aj.sum(x[r], axis=r, where=inside) + x[index]

        return aj.compute((8,), body)

    np.testing.assert_allclose(aj.jit(f)(x), np.cumsum(x) + x)
