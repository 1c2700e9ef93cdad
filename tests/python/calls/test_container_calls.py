"""Calls with containers of arrays, of structures and layouts seen before: straight to the code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import adjit as aj
import numpy as np
import pytest
from adjit._arrays import arguments

Tree = dict[str, Any]


def scaled(tree: Tree) -> Tree:
    return {"b": [2 * tree["b"]], "a": (tree["a"] + tree["b"], tree["a"])}


def operands(scale: float = 1.0) -> Tree:
    return {"a": np.arange(3.0) * scale, "b": np.ones(3)}


def as_tensors(tree: Any) -> Any:
    torch = pytest.importorskip("torch")
    leaves, structure = aj.pytree.flatten(tree)
    return aj.pytree.unflatten(structure, [torch.from_numpy(leaf) for leaf in leaves])


def same(tree: Any) -> Any:
    return tree


FRAMEWORKS = pytest.mark.parametrize("like", [same, as_tensors])


def warm(function: Callable[[Any], Any], like: Callable[[Any], Any] = same) -> Any:
    """A compiled function that ran twice, so that the next call is a usual one."""
    call = aj.jit(function)
    for _ in range(3):
        call(like(operands()))
    return call


@FRAMEWORKS
def test_usual_calls_make_no_views(
    like: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = warm(scaled, like)
    out = call(like(operands()))
    call(like(operands()), out=out)  # learns where each result goes
    monkeypatch.setattr(arguments, "views", None)
    made = call(like(operands(5)))
    np.testing.assert_array_equal(made["a"][0], [1, 6, 11])
    np.testing.assert_array_equal(made["b"][0], [2, 2, 2])
    assert call(like(operands(7)), out=out) is out
    np.testing.assert_array_equal(out["a"][0], [1, 8, 15])
    np.testing.assert_array_equal(out["a"][1], [0, 7, 14])


@FRAMEWORKS
def test_another_structure_or_layout_is_compiled_anew(like: Callable[[Any], Any]) -> None:
    call = warm(lambda t: t["a"] - t["b"], like)
    swapped = {"b": np.arange(3.0), "a": np.ones(3)}
    np.testing.assert_array_equal(call(like(swapped)), [1, 0, -1])
    longer = {"a": np.arange(4.0), "b": np.ones(4), "c": np.ones(4)}
    np.testing.assert_array_equal(call(like(longer)), [-1, 0, 1, 2])
    narrow = {"a": np.arange(3, dtype=np.float32), "b": np.ones(3, np.float32)}
    assert call(like(narrow)).dtype == like(narrow)["a"].dtype
    reverse = {"a": np.arange(6.0)[::2], "b": np.ones(3)}
    np.testing.assert_array_equal(call(like(reverse)), [-1, 1, 3])


@FRAMEWORKS
def test_results_over_their_inputs_and_over_each_other(like: Callable[[Any], Any]) -> None:
    call = warm(lambda t: {"sum": t["a"] + t["b"], "difference": t["a"] - t["b"]}, like)
    for _ in range(3):
        given = like(operands())
        call(given, out={"sum": given["b"], "difference": given["a"]})
        np.testing.assert_array_equal(given["b"], [1, 2, 3])
        np.testing.assert_array_equal(given["a"], [-1, 0, 1])
        memory = like(np.zeros(4))
        with pytest.raises(aj.Error, match="overlap"):
            call(like(operands()), out={"sum": memory[:3], "difference": memory[1:]})


@FRAMEWORKS
def test_results_that_cannot_be_taken(like: Callable[[Any], Any]) -> None:
    call = warm(lambda t: {"sum": t["a"] + t["b"]}, like)
    out = {"sum": like(np.zeros(3))}
    for _ in range(3):
        call(like(operands()), out=out)
    with pytest.raises(aj.ShapeError):
        call(like(operands()), out={"sum": like(np.zeros(4))})
    with pytest.raises(aj.DTypeError):
        call(like(operands()), out={"sum": like(np.zeros(3, np.float32))})
    with pytest.raises(aj.ShapeError, match="structure"):
        call(like(operands()), out=[like(np.zeros(3))])
    spread = like(np.zeros(6))[::2]
    call(like(operands()), out={"sum": spread})
    np.testing.assert_array_equal(spread, [1, 2, 3])


def test_numbers_beside_arrays() -> None:
    call = aj.jit(lambda t: t["a"] * t["rate"])
    for k in range(4):
        np.testing.assert_array_equal(call({"a": np.ones(2), "rate": float(k)}), [k, k])


def test_tensors_that_autograd_follows_are_refused() -> None:
    torch = pytest.importorskip("torch")
    call = warm(lambda t: t["a"] + t["b"], as_tensors)
    followed = as_tensors(operands())
    followed["b"].requires_grad_()
    with pytest.raises(aj.Error, match="detach"):
        call(followed)
    with torch.no_grad():
        np.testing.assert_array_equal(call(followed), [1, 2, 3])
    out = torch.zeros(3, dtype=torch.float64)
    version = out._version
    call(as_tensors(operands()), out=out)
    assert out._version > version


def test_captured_arrays() -> None:
    weights = np.full(3, 2.0)
    call = warm(lambda t: t["a"] * weights + t["b"])
    weights[:] = 3
    np.testing.assert_array_equal(call(operands()), [1, 4, 7])


def executable(function: Callable[[Any], Any], like: Callable[[Any], Any]) -> Any:
    return aj.lower(function, like(operands())).compile()


@FRAMEWORKS
def test_executables_run_containers_without_views(
    like: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = executable(scaled, like)
    call(like(operands()))
    monkeypatch.setattr(arguments, "views", None)
    made = call(like(operands(5)))
    np.testing.assert_array_equal(made["a"][0], [1, 6, 11])
    np.testing.assert_array_equal(made["b"][0], [2, 2, 2])


@FRAMEWORKS
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda t: {"a": t["a"], "c": t["b"]}, "argument 0 is a dict of 'a', 'c', not a dict of"),
        (lambda t: (t["a"], t["b"]), "argument 0 is a tuple of 2, not a dict of 'a', 'b'"),
        (lambda t: {"a": [t["a"]], "b": t["b"]}, r"argument 0\['a'\] is a list of 1, not an array"),
        (lambda t: {"a": None, "b": [t["a"], t["b"]]}, r"argument 0\['a'\] is None, not an array"),
        (lambda t: t["a"], "argument 0 is an array, not a dict"),
    ],
)
def test_executables_refuse_another_structure(
    like: Callable[[Any], Any], make: Callable[[Any], Any], message: str
) -> None:
    call = executable(lambda t: t["a"] - t["b"], like)
    for _ in range(3):  # first, and when calls have become usual
        with pytest.raises(aj.Error, match=message):
            call(make(like(operands())))
        with pytest.raises(aj.Error, match="takes 1 argument, not 2"):
            call(like(operands()), like(operands()))
        np.testing.assert_array_equal(call(like(operands())), [-1, 0, 1])


def test_executables_name_the_leaf_that_does_not_fit() -> None:
    call = executable(lambda t: t["a"] - t["b"], same)
    with pytest.raises(aj.Error, match=r"argument 0\['b'\] has"):
        call({"a": np.arange(3.0), "b": np.ones(4)})
