"""Containers of arguments and results, and what messages call their leaves."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from typing import Any, NamedTuple

import adjit as aj
import numpy as np
import pytest


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any


A, B = np.arange(3.0), np.ones(3)
TREES = {
    "dict": {"a": A, "b": B},
    "ordered": OrderedDict([("b", A), ("a", B)]),
    "default": defaultdict(list, {"a": A, "b": B}),
    "named": Point(A, B),
    "dataclass": Layer(A, B),
    "nested": [OrderedDict(p=Point(A, (B, None))), defaultdict(int, k=[A])],
}


@pytest.mark.parametrize("name", TREES)
def test_containers_come_out_as_they_went_in(name: str) -> None:
    tree = TREES[name]
    for _ in range(3):
        found = aj.jit(lambda t: t)(tree)
        assert type(found) is type(tree) and repr(found) == repr(tree)
    gradient = aj.grad(lambda t: sum(aj.sum(aj.square(v)) for v in aj.pytree.flatten(t)[0]))(tree)
    leaves, structure = aj.pytree.flatten(tree)
    found, other = aj.pytree.flatten(gradient)
    assert structure == other
    for g, v in zip(found, leaves, strict=True):
        np.testing.assert_array_equal(g, 2 * v)


def test_what_a_container_remembers() -> None:
    found = aj.jit(lambda t: t)(OrderedDict([("z", A), ("a", B)]))
    assert list(found) == ["z", "a"]
    found = aj.jit(lambda t: t)(defaultdict(list, {"z": A}))
    assert found.default_factory is list and found["new"] == []
    swapped = aj.jit(lambda t: t["z"] - t["a"])
    np.testing.assert_array_equal(swapped(OrderedDict([("z", A), ("a", B)])), A - B)
    np.testing.assert_array_equal(swapped(OrderedDict([("a", B), ("z", A)])), A - B)


def f(p: Any, x: Any = 0.0, *, scale: Any = 1.0) -> Any:
    return aj.sum(p["b"] * scale + x)


BAD = "text"
CALLS = {
    "nested": (lambda g: g({"a": A, "b": BAD}), r"p\['b'\] of argument 0 "),
    "named": (lambda g: g(Point(A, BAD)), r"p\.y of argument 0 "),
    "second": (lambda g: g({"b": A}, BAD), "argument 1 "),
    "keyword": (lambda g: g({"b": A}, scale=[A, BAD]), r"scale\[1\] of argument 'scale'"),
}


@pytest.mark.parametrize("name", CALLS)
def test_errors_name_the_leaf(name: str) -> None:
    call, path = CALLS[name]
    for g in (aj.jit(f), aj.grad(f), aj.jit(aj.value_and_grad(f)), aj.vmap(f)):
        with pytest.raises(aj.DTypeError, match=path):
            call(g)
    for g in (aj.grad(f), aj.vmap(f)):
        with pytest.raises(aj.DTypeError, match=path):
            aj.jit(lambda _, g=g: call(g))(A)


def test_errors_name_what_is_not_differentiable() -> None:
    whole = np.arange(3)
    with pytest.raises(aj.NotDifferentiableError, match=r"p\['b'\] of argument 0"):
        aj.grad(f)({"a": A, "b": whole})
    with pytest.raises(aj.NotDifferentiableError, match="argument 1 "):
        aj.grad(f, argnums=1)({"b": A}, whole)
    with pytest.raises(aj.NotDifferentiableError, match=r"tangent of p\['b'\] of argument 0"):
        aj.jvp(f, ({"b": whole},), ({"b": A},))
    static = aj.jit(lambda kind, p: p["b"] * 2, static_argnums=0)
    with pytest.raises(aj.DTypeError, match=r"p\['b'\] of argument 1"):
        static("kind", {"b": BAD})


@pytest.mark.parametrize("argnums", ["a", 0.5, (0, "x"), None, True])
def test_argnums_are_positions(argnums: Any) -> None:
    for transform in (aj.grad, aj.value_and_grad, aj.jacobian, aj.jacfwd, aj.hessian):
        with pytest.raises(aj.Error, match="argnums is"):
            transform(f, argnums=argnums)


def test_cotangents_are_named() -> None:
    _, pullback = aj.vjp(lambda x: {"y": x * 2}, np.ones(2, np.float32))
    with pytest.raises(aj.DTypeError, match=r"cotangent of out\['y'\] is float64.*float32"):
        pullback({"y": np.ones(2)})
    with pytest.raises(aj.ShapeError, match=r"cotangent of out\['y'\]"):
        pullback({"y": np.ones(3, np.float32)})
    np.testing.assert_array_equal(pullback({"y": np.ones(2, np.float32)})[0], [2, 2])


def test_asarray() -> None:
    assert aj.asarray(0.5).dtype == np.float32 and aj.asarray(3).dtype == np.int64
    assert aj.asarray(np.float64(0.5)).dtype == np.float64 and aj.asarray(True).dtype == np.bool_
    assert aj.asarray([[1, 2], [3, 4]]).dtype == np.int64
    assert aj.asarray([0.5, 1]).dtype == np.float32 and aj.asarray([1, 2], "float64").dtype == float
    assert aj.asarray(A) is A and aj.asarray(A, copy=True) is not A
    assert aj.jit(lambda x: aj.asarray(x, dtype="float32"))(A).dtype == np.float32
    both = aj.jit(lambda x: aj.asarray(x) + aj.asarray([1, 2, 3]))(A)
    np.testing.assert_array_equal(both, [1, 3, 5])
    assert aj.empty((2, 3)).shape == (2, 3) and aj.empty_like(A).dtype == A.dtype
