"""aj.custom_vjp: functions whose gradient is written by hand."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Sequence
from typing import Any

from .._arrays import arrays
from .._core import dtypes, pytree
from .._core.errors import DTypeError, Error, ShapeError
from .._core.library import Handle
from .._core.pickling import ByName
from .._run.computation import tensor_specs
from .._run.traced import Traced
from .._trace import calls, operators
from .._trace.tensor import Tensor
from .._trace.trace import Trace, current_trace
from .._trace.user_line import user_place
from .leaves import as_traced, as_type, enclosing_trace, is_weak, name_of, type_text

# A rule that calls its own function is traced again inside itself, this many times; the derivatives
# past that are those of the function.
_MOST_RULES_WITHIN = 4

_Spec = tuple[int, tuple[int, ...]]


class CustomVjp(ByName):
    """What custom_vjp makes of a function; ``defvjp`` gives it the rule before the first call."""

    def __init__(self, f: Callable[..., Any], nondiff_argnums: Sequence[int]) -> None:
        functools.update_wrapper(self, f, updated=())
        self.function = f
        self.title = f"custom_vjp({name_of(f)})"
        self._static = tuple(nondiff_argnums)
        self._fwd: Callable[..., Any] | None = None
        self._bwd: Callable[..., Any] | None = None
        self._within = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        return {name: v for name, v in self.__dict__.items() if name != "_within"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._within = threading.local()

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """``fwd(*args) -> (out, residuals)``; ``bwd(*nondiff, residuals, cotangent) -> gradients``.

        ``bwd`` returns a tuple with one entry per differentiable argument: its structure, shapes
        and dtypes, or None for zero. Integer leaves of it are ignored.
        """
        self._fwd, self._bwd = fwd, bwd

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args = self._positional(args, kwargs)
        if self._fwd is None or self._bwd is None:
            raise Error(f"{self.title} is called before defvjp(fwd, bwd) has given it a gradient")
        depth = getattr(self._within, "depth", 0)
        if current_trace() is None or depth >= _MOST_RULES_WITHIN:
            return self.function(*args)
        self._within.depth = depth + 1
        try:
            return _Rule(self, args).inline()
        finally:
            self._within.depth = depth

    def _positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        if not kwargs:
            return args
        bound = inspect.signature(self.function).bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise Error(f"{self.title}: keyword-only arguments ({', '.join(bound.kwargs)})")
        return bound.args


class _Rule:
    """One call: primal, forward and backward traced for its arguments."""

    def __init__(self, owner: CustomVjp, args: tuple[Any, ...]) -> None:
        self.owner = owner
        self.title = owner.title
        count = len(args)
        self.static = {n % count: args[n % count] for n in owner._static if -count <= n < count}
        leaves, self.structure = pytree.flatten(
            tuple(a for k, a in enumerate(args) if k not in self.static)
        )
        self.trace = enclosing_trace()
        self.leaves = [as_traced(self.trace, leaf) for leaf in leaves]

    def inline(self) -> Any:
        primal = self._traced(self.owner.function)
        forward = self._traced(self.owner._fwd)
        self._check_forward(primal, forward)
        backward, in_backward = self._backward(primal, forward)
        closed = _union(primal.captured, forward.captured, in_backward)
        specs = [_spec_of(v) for v in [*self.leaves, *closed]]
        own = len(self.leaves)

        def align(computation: Handle, captured: Sequence[Any], passed_on: Sequence[Any]) -> Handle:
            return _aligned(
                computation, specs, own, _positions(captured, closed),
                _positions(passed_on, closed),
            )  # fmt: skip

        computations = (
            align(primal.computation, primal.captured, ()),
            align(forward.computation, forward.captured, in_backward),
            backward,
        )
        arguments = [self.trace.resolve(v) for v in [*self.leaves, *closed]]
        self.trace.mark(self.title)
        results = calls.custom_vjp(
            self.trace, computations, arguments, len(closed), primal.output_count
        )
        return pytree.unflatten(primal.structure, results)

    def _all(self, given: Sequence[Any]) -> list[Any]:
        values = list(given)
        for k in sorted(self.static):
            values.insert(k, self.static[k])
        return values

    def _traced(self, function: Any) -> Traced:
        return Traced(
            lambda *given: function(*self._all(given)),
            (pytree.unflatten(self.structure, self.leaves), {}),
            name_of(function),
        )

    def _check_forward(self, primal: Traced, forward: Traced) -> None:
        structure = forward.structure
        if structure[0] != "tuple" or len(structure[1]) != 2:
            raise Error(f"{self.title}: fwd must return (out, residuals)")
        if structure[1][0] != primal.structure:
            raise Error(f"{self.title}: fwd returns an out of another structure than the function")
        wanted = tensor_specs(primal.computation, True)
        found = tensor_specs(forward.computation, True)[: len(wanted)]
        for name, w, f in zip(pytree.paths(primal.structure, "out"), wanted, found, strict=True):
            _same(f"{self.title}: {name} of fwd", f, w, "the function returns")

    # The backward for the forward's residuals; what it captures itself is residuals, too, the last.
    def _backward(self, primal: Traced, forward: Traced) -> tuple[Handle, list[Any]]:
        outputs = tensor_specs(primal.computation, True)
        residuals = tensor_specs(forward.computation, True)[len(outputs) :]
        assert self.owner._bwd is not None
        with Trace(name_of(self.owner._bwd)) as inner:
            kept = [
                inner.input(f"r{k}", *spec, forward.weak[len(outputs) + k])
                for k, spec in enumerate(residuals)
            ]
            cotangents = [
                inner.input(f"d{k}", *spec) if dtypes.is_float(spec[0]) else None
                for k, spec in enumerate(outputs)
            ]
            gradients = self.owner._bwd(
                *[self.static[k] for k in sorted(self.static)],
                pytree.unflatten(forward.structure[1][1], kept),
                pytree.unflatten(primal.structure, cotangents),
            )
            numbers = self._gradients(inner, gradients)
        count = len(residuals) + sum(c is not None for c in cotangents)
        return self._reordered(inner, numbers, len(residuals), count), inner.captured

    # The library wants residuals, then cotangents; captured values came last.
    @staticmethod
    def _reordered(inner: Trace, numbers: list[int], residuals: int, own: int) -> Handle:
        computation = inner.finish(numbers)
        specs = tensor_specs(computation, False)
        order = [*range(residuals), *range(own, len(specs)), *range(residuals, own)]
        with Trace(inner.name) as trace:
            inputs = {k: trace.input(f"x{k}", *specs[k]).number for k in order}
            given = [inputs[k] for k in range(len(specs))]
            results = [t.number for t in calls.splice(trace, computation, given, len(numbers))]
        return trace.finish(results)

    def _gradients(self, inner: Trace, gradients: Any) -> list[int]:
        arguments = self.structure[1]
        if not isinstance(gradients, tuple) or len(gradients) != len(arguments):
            raise Error(
                f"{self.title}: bwd must return a tuple of {len(arguments)} gradients, one per "
                f"differentiable argument (None for zero), not {_described(gradients)}"
            )
        numbers = []
        leaves = iter(self.leaves)
        for k, (gradient, structure) in enumerate(zip(gradients, arguments, strict=True)):
            names = pytree.paths(structure, f"the gradient of argument {k}")
            given: list[Any] = [None] * len(names)
            if gradient is not None:
                given, found = pytree.flatten(gradient)
                if found != structure:
                    raise Error(f"{self.title}: bwd gives {names} another structure")
            for name, leaf in zip(names, given, strict=True):
                argument = next(leaves)
                if dtypes.is_float(argument.dtype_number):
                    numbers.append(self._gradient(inner, leaf, argument, name))
        return numbers

    def _gradient(self, inner: Trace, leaf: Any, argument: Tensor, name: str) -> int:
        spec = _spec_of(argument)
        if leaf is None:
            zeros = {"shape": list(spec[1]), "dtype": dtypes.NAMES[spec[0]]}
            return inner.resolve(operators.apply("full", [0], zeros))
        found = as_traced(inner, leaf)
        if is_weak(found) or is_weak(argument):
            found = as_type(found, spec[0])
        _same(f"{self.title}: {name}", _spec_of(found), spec, "the argument is")
        return inner.resolve(found)


def _union(*lists: Sequence[Any]) -> list[Any]:
    """Captured values of several traces, each once (by identity)."""
    found: dict[int, Any] = {}
    for values in lists:
        for value in values:
            found.setdefault(id(value), value)
    return list(found.values())


def _positions(captured: Sequence[Any], among: Sequence[Any]) -> list[int]:
    """Where each captured value stands in a union."""
    at = {id(value): k for k, value in enumerate(among)}
    return [at[id(value)] for value in captured]


def _spec_of(value: Any) -> tuple[int, tuple[int, ...]]:
    """(dtype number, shape) of a traced tensor or array."""
    if isinstance(value, Tensor):
        return value.dtype_number, value.shape
    view = arrays.view(value)
    return view.dtype, tuple(view.shape)


def _aligned(
    computation: Handle,
    specs: Sequence[tuple[int, tuple[int, ...]]],
    own: int,
    captured: Sequence[int],
    passed_on: Sequence[int] = (),
) -> Handle:
    """The computation with inputs ``specs``: its own first ones, then a union of captured ones.

    ``captured`` says which of the union its captured inputs are; those in ``passed_on`` become
    outputs behind its own.
    """
    count = len(tensor_specs(computation, True))
    with Trace("aligned") as trace:
        inputs = [
            trace.input(f"x{k}", dtype, shape).number for k, (dtype, shape) in enumerate(specs)
        ]
        given = inputs[:own] + [inputs[own + k] for k in captured]
        results = [t.number for t in calls.splice(trace, computation, given, count)]
    return trace.finish(results + [inputs[own + k] for k in passed_on])


def _same(what: str, found: _Spec, wanted: _Spec, whose: str) -> None:
    if found != wanted:
        kind = ShapeError if found[1] != wanted[1] else DTypeError
        raise kind(
            f"{what} is {type_text(*found)}, but {whose} {type_text(*wanted)} (at {user_place()})"
        )


def _described(value: Any) -> str:
    kind = type(value).__name__
    return f"a tuple of {len(value)}" if isinstance(value, tuple) else f"a {kind}"


def custom_vjp(f: Callable[..., Any], nondiff_argnums: Any = ()) -> Any:
    """``f`` with a gradient by hand, as jax.custom_vjp: ``g = custom_vjp(f); g.defvjp(fwd, bwd)``.

    Reverse mode runs ``fwd(*args) -> (out, residuals)`` instead of ``f`` and takes the gradients
    from ``bwd(residuals, cotangent)``; second derivatives differentiate both. Where nothing is
    differentiated ``f`` alone is computed. ``nondiff_argnums`` are passed as they are, to ``bwd``
    in front of the residuals; they need not be arrays.

    What ``f`` closes over takes part in its value, but a gradient cannot reach it:
    NotDifferentiableError when it would. Where fwd or bwd call the function itself, derivatives up
    to the fourth use the rule and later ones the function's own derivative.
    """
    numbers = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
    return CustomVjp(f, numbers)
