"""Control flow inside traces: scan, cond, while_loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core import dtypes, pytree
from .._core.errors import DTypeError, Error, ShapeError
from .._run.traced import as_tensor, output_number
from .._trace import calls, operators, scalars
from .._trace.tensor import Tensor
from .._trace.trace import Trace, current_trace
from .._trace.user_line import user_place
from .jit import Jit
from .leaves import (
    as_traced,
    as_type,
    enclosing_trace,
    is_weak,
    leaf_names,
    name_of,
    set_weak,
    type_text,
)


def scan(
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    checkpoint: int | bool | None = None,
) -> Any:
    """A loop over the leading axis of ``xs``: ``f(carry, x) -> (carry, y)``; gives (carry, ys).

    ``f`` is traced once. ``init``, ``xs`` (or None, with ``length``) and y are pytrees; the carry
    keeps its structure, shapes and dtypes. Slices x have the shapes of xs without their leading
    extent; ys are the y stacked along a new leading axis. ``reverse`` runs from the last slice to
    the first, and stacks y where its x came from. What ``f`` closes over stays the same every step.

    ``checkpoint`` decides what the derivative keeps: None all that it needs of every step; an int k
    the carries of every k-th step, and a segment of k steps is run again to go back through it;
    True takes the square root of the number of steps for k.

    Raises ShapeError for leading extents that differ, ShapeError or DTypeError for a carry that f
    changes, Error when there is neither xs nor a length.
    """
    if current_trace() is None:
        return Jit(lambda i, x: scan(f, i, x, length, reverse, checkpoint), f"scan({name_of(f)})")(
            init, xs
        )
    return _Loop(f, init, xs, length, f"scan({name_of(f)})").run(reverse, checkpoint)


class _Loop:
    """A function (carry, x) -> (carry, y) about to be traced once."""

    def __init__(
        self, f: Callable[..., Any], init: Any, xs: Any, length: int | None, title: str
    ) -> None:
        self.f = f
        self.title = title
        self.trace = enclosing_trace()
        leaves, self.carry_structure = pytree.flatten(init)
        self.init = [as_traced(self.trace, leaf) for leaf in leaves]
        slices, self.xs_structure = pytree.flatten(xs)
        self.xs = [as_traced(self.trace, leaf) for leaf in slices]
        self.steps = self._steps(length)

    def _steps(self, length: int | None) -> int:
        names = pytree.paths(self.xs_structure, "xs")
        for name, x in zip(names, self.xs, strict=True):
            if not x.shape:
                raise ShapeError(f"{self.title}: {name} has rank 0, so no axis to scan over")
        extents = {name: x.shape[0] for name, x in zip(names, self.xs, strict=True)}
        if length is not None:
            extents["length"] = int(length)
        if not extents:
            raise Error(f"{self.title}: with xs=None the number of steps must be given as length=")
        if len(set(extents.values())) > 1:
            shown = ", ".join(f"{name}: {n}" for name, n in extents.items())
            raise ShapeError(f"{self.title}: the leading extents differ ({shown})")
        steps = next(iter(extents.values()))
        if steps < 0:
            raise ShapeError(f"{self.title}: length is {steps}; it must not be negative")
        return steps

    def run(self, reverse: bool, checkpoint: int | bool | None) -> Any:
        inner, carry, ys = self.step()
        weak = [inner.is_weak(number) for _, _, number in [*carry, *ys]]
        step = inner.finish([number for _, _, number in [*carry, *ys]])
        operands = [self.trace.resolve(v) for v in [*self.init, *self.xs, *inner.captured]]
        self.trace.mark("scan")
        results = calls.scan(
            self.trace, step, operands, (len(self.init), len(self.xs)), self.steps,
            len(carry) + len(ys), reverse, self._segment(checkpoint),
        )  # fmt: skip
        set_weak(results, weak)
        return (
            pytree.unflatten(self.carry_structure, results[: len(carry)]),
            pytree.unflatten(self.y_structure, results[len(carry) :]),
        )

    def step(self) -> tuple[Trace, list[_Leaf], list[_Leaf]]:
        """The step, to be finished, and (dtype, shape, number) of its outputs."""
        inner, carry, ys = self._step()
        if any(
            is_weak(x) and x.dtype_number != c[0] for x, c in zip(self.init, carry, strict=True)
        ):
            # A Python number as initial carry takes the dtype of what f makes of it.
            self.init = [
                as_type(x, c[0]) if is_weak(x) else x for x, c in zip(self.init, carry, strict=True)
            ]
            inner, carry, ys = self._step()
        self._check(carry)
        return inner, carry, ys

    def _step(self) -> tuple[Trace, list[_Leaf], list[_Leaf]]:
        with Trace(name_of(self.f)) as inner:
            carries = [
                inner.input(f"c{k}", x.dtype_number, x.shape, is_weak(x))
                for k, x in enumerate(self.init)
            ]
            slices = [
                inner.input(f"x{k}", x.dtype_number, x.shape[1:], is_weak(x))
                for k, x in enumerate(self.xs)
            ]
            result = self.f(
                pytree.unflatten(self.carry_structure, carries),
                pytree.unflatten(self.xs_structure, slices),
            )
            if not isinstance(result, tuple) or len(result) != 2:
                raise Error(
                    f"{self.title}: the function must return (carry, y), not "
                    f"{type(result).__name__}; y may be None"
                )
            next_carry, structure = pytree.flatten(result[0])
            if structure != self.carry_structure:
                raise Error(
                    f"{self.title}: the function returns a carry of another structure: "
                    f"{leaf_names(structure)} where init has {leaf_names(self.carry_structure)}"
                )
            y, self.y_structure = pytree.flatten(result[1])
            carry = [
                _leaf(inner, _like(inner, leaf, start))
                for leaf, start in zip(next_carry, self.init, strict=True)
            ]
            ys = [_leaf(inner, output_number(inner, leaf)) for leaf in y]
        return inner, carry, ys

    def _check(self, carry: Sequence[_Leaf]) -> None:
        names = pytree.paths(self.carry_structure, "carry")
        for name, start, (dtype, shape, _) in zip(names, self.init, carry, strict=True):
            if (dtype, shape) == (start.dtype_number, start.shape):
                continue
            kind = ShapeError if shape != start.shape else DTypeError
            raise kind(
                f"{self.title} at {user_place()}: {name} is "
                f"{type_text(start.dtype_number, start.shape)} in init but "
                f"{type_text(dtype, shape)} as the function returns it; a carry keeps its "
                "shape and dtype (astype, broadcast_to)"
            )

    def _segment(self, checkpoint: int | bool | None) -> int:
        if checkpoint is None or checkpoint is False:
            return 0
        if checkpoint is True:
            return max(1, math.isqrt(max(0, self.steps - 1)) + 1)
        if not isinstance(checkpoint, int | np.integer) or checkpoint < 1:
            raise Error(
                f"{self.title}: checkpoint={checkpoint!r}; it must be None, True, or the number of "
                "steps in a segment"
            )
        return int(checkpoint)


_Leaf = tuple[int, tuple[int, ...], int]  # dtype number, shape, number of the tensor


def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *operands: Any
) -> Any:
    """``true_fn(*operands)`` where ``pred`` is true, else ``false_fn(*operands)``.

    ``pred`` is a scalar (bool or a number). Both functions are traced, and *both are evaluated*;
    each result is then selected. So both must be safe to evaluate: an index that is out of range
    in the branch not taken still raises BoundsError, and a loop in it still runs. What the branch
    not taken computes, NaN included, reaches neither the result nor a gradient.

    Both return pytrees of one structure, with the same shapes and dtypes (Python numbers adapt).
    Outside a trace ``pred`` is a value, and only the branch taken is called.
    """
    if current_trace() is None:
        if np.ndim(pred) != 0:
            raise ShapeError(f"cond: pred has shape {np.shape(pred)}; it must be a scalar")
        return true_fn(*operands) if bool(pred) else false_fn(*operands)
    trace = enclosing_trace()
    chosen = _scalar_bool(as_traced(trace, pred), "cond: pred")
    yes, structure = pytree.flatten(true_fn(*operands))
    no, other = pytree.flatten(false_fn(*operands))
    if structure != other:
        raise Error(
            f"cond at {user_place()}: the functions return different structures: "
            f"{leaf_names(structure)} and {leaf_names(other)}"
        )
    names = pytree.paths(structure, "result")
    return pytree.unflatten(
        structure,
        [_select(chosen, a, b, name) for a, b, name in zip(yes, no, names, strict=True)],
    )


def _select(chosen: Any, yes: Any, no: Any, name: str) -> Any:
    trace = enclosing_trace()
    numbers = [scalars.is_scalar(v) for v in (yes, no)]
    if not all(numbers):
        a, b = (None if n else as_traced(trace, v) for n, v in zip(numbers, (yes, no), strict=True))
        if a is not None and b is not None and not (is_weak(a) or is_weak(b)):
            if a.shape != b.shape or a.dtype_number != b.dtype_number:
                kind = ShapeError if a.shape != b.shape else DTypeError
                raise kind(
                    f"cond at {user_place()}: {name} is {type_text(a.dtype_number, a.shape)} where "
                    f"pred is true and {type_text(b.dtype_number, b.shape)} where it is false; "
                    "they must be the same"
                )
    return operators.apply("where", [chosen, yes, no], {})


def while_loop(cond_fn: Callable[[Any], Any], body_fn: Callable[[Any], Any], init: Any) -> Any:
    """``carry = init; while cond_fn(carry): carry = body_fn(carry)``; gives the last carry.

    Both functions are traced once; the carry is a pytree that keeps its structure, shapes and
    dtypes. The number of steps depends on data, so there is no reverse mode: a gradient through the
    loop raises NotDifferentiableError (use scan with a fixed number of steps).
    """
    if current_trace() is None:
        return Jit(lambda i: while_loop(cond_fn, body_fn, i), f"while_loop({name_of(body_fn)})")(
            init
        )
    trace = enclosing_trace()
    holds = _Test(cond_fn, f"while_loop({name_of(body_fn)})")

    def step(carry: tuple[Any, Any], _: Any) -> Any:
        after = body_fn(carry[0])
        return (after, holds(after)), None

    loop = _Loop(step, (init, holds(init)), None, 0, holds.title)
    inner, carry, _ = loop.step()
    weak = [inner.is_weak(number) for _, _, number in carry]
    body = inner.finish([number for _, _, number in carry])
    operands = [trace.resolve(v) for v in [*loop.init, *inner.captured]]
    trace.mark("while_loop")
    results = calls.while_loop(trace, body, len(carry), operands)
    set_weak(results, weak)
    return pytree.unflatten(loop.carry_structure, results)[0]


class _Test:
    """Whether to go on with a carry: one bool."""

    def __init__(self, cond_fn: Callable[[Any], Any], title: str) -> None:
        self.cond_fn = cond_fn
        self.title = title

    def __call__(self, carry: Any) -> Tensor:
        found = as_traced(enclosing_trace(), self.cond_fn(carry))
        return _scalar_bool(found, f"{self.title}: what {name_of(self.cond_fn)} returns")


def _like(trace: Trace, leaf: Any, start: Tensor) -> int:
    """A carry as the step returns it: numbers and weak tensors take the dtype of a strong init."""
    if scalars.is_scalar(leaf):
        leaf = as_tensor(leaf)
    number = output_number(trace, leaf)
    if trace.is_weak(number) and not is_weak(start):
        number = trace.resolve(as_type(trace.tensor(number), start.dtype_number))
    return number


def _leaf(trace: Trace, number: int) -> _Leaf:
    tensor = trace.tensor(number)
    return tensor.dtype_number, tensor.shape, number


def _scalar_bool(tensor: Tensor, what: str) -> Tensor:
    if tensor.shape != ():
        raise ShapeError(
            f"{what} has shape {tensor.shape} (at {user_place()}); it must be a scalar: reduce it "
            "with any or all, or use aj.where element by element"
        )
    return as_type(tensor, dtypes.BOOL)
