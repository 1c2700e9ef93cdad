"""Random programs against PyTorch and JAX: values, gradients, tangents, arguments of any layout.

The part of the differential fuzzer (tests/fuzz, in C++) that needs Python: transformations as users
call them, NumPy's way of indexing, results in given arrays that are arguments too. ADJIT_FUZZ_CASES
asks for more programs, ADJIT_FUZZ_SEED for others. What fails is shrunk and printed as source.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import adjit as aj
import fuzz_programs
import numpy as np
import pytest
from fuzz_programs import Program

Gradients = list[np.ndarray]


def _seeds(usual: int) -> range:
    first = int(os.environ.get("ADJIT_FUZZ_SEED", "1"))
    return range(first, first + int(os.environ.get("ADJIT_FUZZ_CASES", str(usual))))


def by_adjit(program: Program) -> Gradients:
    arrays = list(program.inputs.values())
    f = program.function(fuzz_programs.adjit_library())
    value, gradients = aj.value_and_grad(f, argnums=tuple(range(len(arrays))))(*arrays)
    return [np.asarray(value), *map(np.asarray, gradients)]


def by_torch(program: Program) -> Gradients:
    torch = pytest.importorskip("torch")
    arrays = [torch.tensor(v, requires_grad=True) for v in program.inputs.values()]
    value = program.function(fuzz_programs.torch_library())(*arrays)
    found = torch.autograd.grad(value, arrays, allow_unused=True, materialize_grads=True)
    return [value.detach().numpy(), *(g.numpy() for g in found)]


def by_jax(program: Program) -> Gradients:
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        f = program.function(fuzz_programs.jax_library())
        arrays = [jax.numpy.asarray(v) for v in program.inputs.values()]
        value, found = jax.value_and_grad(f, argnums=tuple(range(len(arrays))))(*arrays)
        return [np.asarray(value), *map(np.asarray, found)]


def _differ(a: Gradients, b: Gradients) -> bool:
    return any(not np.allclose(x, y, rtol=1e-9, atol=1e-10) for x, y in zip(a, b, strict=True))


def _check(program: Program, other: Callable[[Program], Gradients]) -> None:
    def fails(candidate: Program) -> bool:
        try:
            return _differ(by_adjit(candidate), other(candidate))
        except aj.Error:
            return True

    if fails(program):
        small = fuzz_programs.shrink(program, fails)
        try:
            found: Any = by_adjit(small)
        except aj.Error as e:
            found = repr(e)
        pytest.fail(f"{small.test()}\nadjit {found}\nother {other(small)}")


def test_the_gradients_of_torch() -> None:
    for seed in _seeds(25):
        _check(fuzz_programs.draw(seed, 12), by_torch)


def test_the_gradients_of_jax() -> None:
    for seed in _seeds(6):
        _check(fuzz_programs.draw(seed + 10_000, 30), by_jax)


def _turned(array: np.ndarray, seed: int) -> np.ndarray:
    """The same numbers, laid out otherwise: backwards, with gaps, by columns."""
    shape = tuple(2 * n for n in array.shape)
    wide = np.full(shape, np.nan)
    view = wide[tuple(slice(None, None, 2) for _ in shape)]
    if seed % 3 == 0:
        view = view[::-1]
    view[...] = array
    return np.asfortranarray(array) if seed % 3 == 1 else view


def test_layouts_and_results_in_arguments_change_nothing() -> None:
    for seed in _seeds(15):
        program = fuzz_programs.draw(seed + 20_000, 15)
        wanted = by_adjit(program)[1:]
        f = program.function(fuzz_programs.adjit_library())
        numbers = tuple(range(len(program.inputs)))
        gradient = aj.jit(aj.grad(f, argnums=numbers))
        turned = [_turned(v, seed + k) for k, v in enumerate(program.inputs.values())]
        assert not _differ(list(gradient(*turned)), wanted), program.test()
        # Every gradient where its argument is read.
        own = [v.copy() for v in program.inputs.values()]
        gradient(*own, out=tuple(own))
        assert not _differ(own, wanted), program.test()
        # In another argument's place, shapes turned.
        own = [v.copy() for v in program.inputs.values()]
        out = (own[0], own[3].reshape(5, 3), own[2], own[1].reshape(3, 5))
        gradient(*own, out=out)
        assert not _differ([np.asarray(g) for g in out], wanted), program.test()


def test_the_tangent_is_the_gradient_along_it() -> None:
    for seed in _seeds(15):
        program = fuzz_programs.draw(seed + 30_000, 15)
        if any("by_hand" in line.source for line in program.lines):
            continue  # a gradient by hand has no forward mode
        arrays = list(program.inputs.values())
        f = program.function(fuzz_programs.adjit_library())
        directions = [np.cos(np.arange(v.size)).reshape(v.shape) for v in arrays]
        _, tangent = aj.jvp(f, tuple(arrays), tuple(directions))
        slope = sum(np.sum(g * d) for g, d in zip(by_adjit(program)[1:], directions, strict=True))
        assert np.allclose(tangent, slope, rtol=1e-9, atol=1e-10), program.test()


def test_a_program_that_fails_is_shrunk_to_what_makes_it_fail() -> None:
    program = fuzz_programs.draw(3, 40)
    wrong = next(line.source for line in program.lines if "sin" in line.source)

    def fails(candidate: Program) -> bool:
        return any(line.source == wrong for line in candidate.lines)

    small = fuzz_programs.shrink(program, fails)
    assert [line.source for line in small.lines].count(wrong) == len(small.lines) == 1


@pytest.mark.parametrize("wrong", ["index_add", "flip", "scanned", "row_max"])
def test_a_wrong_operator_is_found(wrong: str, monkeypatch: Any) -> None:
    right = fuzz_programs.adjit_library()
    changed = {**right, wrong: lambda *a: right[wrong](*a) * 1.001}
    monkeypatch.setattr(fuzz_programs, "adjit_library", lambda: changed)
    drawn = (fuzz_programs.draw(seed, 20) for seed in range(1, 200))
    program = next(p for p in drawn if any(wrong in i.source for i in p.lines))
    with pytest.raises(pytest.fail.Exception, match=wrong):
        _check(program, by_torch)
