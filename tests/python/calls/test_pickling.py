"""Functions are pickled, copied and sent to processes after their first call as before it."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import adjit as aj
import numpy as np
import pytest


def loss(x: Any) -> Any:
    return aj.sum(aj.sin(x) * x)


@aj.jit
def decorated(x: Any) -> Any:
    return aj.sum(x * x)


@aj.custom_vjp
def by_hand(x: Any) -> Any:
    return x * x


by_hand.defvjp(lambda x: (x * x, x), lambda x, g: (3 * x * g,))

MODULE = aj.define("def twice(float(N) x) -> (y) { y(i) = 2 * x(i) }")
X = np.linspace(0, 1, 3, dtype=np.float32)

FUNCTIONS: dict[str, Any] = {
    "jit": lambda: aj.jit(loss),
    "value_and_grad": lambda: aj.jit(aj.value_and_grad(loss)),
    "grad": lambda: aj.grad(loss),
    "vmap": lambda: aj.vmap(loss),
    "static": lambda: aj.jit(aj.sum, static_argnames="axis"),
    "decorated": lambda: decorated,
    "custom_vjp": lambda: aj.grad(by_hand),
    "text": lambda: MODULE.twice,
    "module": lambda: MODULE,
}


def called(f: Any, x: Any) -> Any:
    return f.twice(x) if f is MODULE or type(f).__name__ == "Module" else f(x)


def same(a: Any, b: Any) -> None:
    for one, other in zip(*(v if isinstance(v, tuple) else (v,) for v in (a, b)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_pickled_and_copied(name: str) -> None:
    f = FUNCTIONS[name]()
    x = X[1] if name == "custom_vjp" else X
    x = X[None] if name == "vmap" else x
    before = pickle.dumps(f)
    for _ in range(4):
        wanted = called(f, x)
    for twin in (
        pickle.loads(before),
        pickle.loads(pickle.dumps(f)),
        copy.deepcopy(f),
        copy.copy(f),
    ):
        for _ in range(3):
            same(called(twin, x), wanted)
    same(called(f, x), wanted)


def test_a_copy_compiles_for_itself() -> None:
    f = aj.jit(loss)
    f(X)
    twin = copy.deepcopy(f)
    assert twin is not f and len(twin._calls) == 0 and len(f._calls) == 1
    assert pickle.loads(pickle.dumps(decorated)) is decorated


def test_what_is_of_a_process_says_so() -> None:
    lowered = aj.lower(loss, X)
    for held in (lowered, lowered.compile()):
        with pytest.raises(TypeError, match="cannot be copied or pickled: .* pickle the function"):
            pickle.dumps(held)


def test_process_pools() -> None:
    step = aj.jit(aj.value_and_grad(loss))
    wanted = [step(X + k) for k in range(3)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, context) as pool:
        for found, own in zip(pool.map(step, [X + k for k in range(3)]), wanted, strict=True):
            same(found, own)
