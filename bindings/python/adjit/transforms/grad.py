"""aj.grad and aj.value_and_grad, and what the derivatives of other modules share with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._arrays.arguments import Names
from .._core import dtypes, pytree
from .._core.errors import Error, NotDifferentiableError
from .._core.library import Handle, call, ints
from .._run.computation import tensor_specs
from .._run.traced import Traced, abstract
from .._run.traced_call import TracedCall
from .transformed import Transformed


def vjp_of(computation: Handle, wrt: Sequence[int], outputs: Sequence[int], keep: bool) -> Handle:
    """The pullback of some outputs to some inputs; with the outputs themselves first if kept."""
    return Handle(
        "computation",
        lambda out: call(
            "adjit_computation_vjp", computation.value, len(wrt), ints(wrt), len(outputs),
            ints(outputs), int(keep), out,
        ),
    )  # fmt: skip


def gradient_of(computation: Handle, wrt: Sequence[int], keep: bool) -> Handle:
    """The gradient of the only output, a scalar; with the output itself first if kept."""
    return Handle(
        "computation",
        lambda out: call(
            "adjit_computation_gradient", computation.value, len(wrt), ints(wrt), 0, int(keep), out
        ),
    )


class Grad(Transformed):
    """``aj.grad`` and ``aj.value_and_grad``."""

    def __init__(
        self, function: Callable[..., Any], argnums: Any, has_aux: bool, keep_value: bool
    ) -> None:
        name = getattr(function, "__name__", "f")
        super().__init__(function, f"{'value_and_grad' if keep_value else 'grad'}({name})")
        self.argnums = checked_argnums(argnums, self.title)
        self.has_aux = has_aux
        self.keep_value = keep_value

    def build(self, function: Callable[..., Any], args: Any) -> TracedCall:
        wrt, structures = positions(args, self.argnums, self.title, function)
        traced = Traced(function, args, self._name())
        # The gradient of a number is a number.
        weak = [spec.weak for spec in traced.specs]
        gradient_weak = [weak[k] for k in wrt]
        loss = _loss_structure(traced, self.has_aux, self.title)
        single = isinstance(self.argnums, int)

        def gradients(leaves: Sequence[Any]) -> Any:
            rest = iter(leaves)
            trees = [pytree.unflatten(s, rest) for s in structures]
            return trees[0] if single else tuple(trees)

        if not self.has_aux:
            computation = gradient_of(traced.computation, wrt, self.keep_value)

            def plain(outputs: Sequence[Any]) -> Any:
                if not self.keep_value:
                    return gradients(outputs)
                return outputs[0], gradients(outputs[1:])

            kept = traced.weak if self.keep_value else []
            return TracedCall(traced, computation, self.title, plain, weak=[*kept, *gradient_weak])

        computation = vjp_of(traced.computation, wrt, [0], True)
        dtype, shape = tensor_specs(traced.computation, True)[0]
        if int(np.prod(shape)) != 1:
            raise Error(f"{self.title}: the loss has shape {shape}; it must be a scalar")

        def with_aux(outputs: Sequence[Any]) -> Any:
            own = outputs[: traced.output_count]
            aux = pytree.unflatten(loss, own)[1]
            found = gradients(outputs[traced.output_count :])
            return ((own[0], aux), found) if self.keep_value else (found, aux)

        seed = np.ones(shape, dtypes.to_numpy(dtype))
        return TracedCall(
            traced, computation, self.title, with_aux, [seed], weak=[*traced.weak, *gradient_weak]
        )


def _loss_structure(traced: Traced, has_aux: bool, title: str) -> Any:
    structure = traced.structure
    if has_aux:
        if structure[0] != "tuple" or len(structure[1]) != 2 or structure[1][0] != pytree.LEAF:
            raise Error(f"{title}: with has_aux the function must return (scalar, aux)")
    elif structure != pytree.LEAF:
        raise Error(
            f"{title}: the function must return one scalar; for more results use has_aux=True"
        )
    return structure


def own_structure(traced: Traced, has_aux: bool, title: str) -> Any:
    """The structure of the results that are differentiated: all, or the first of (out, aux)."""
    if not has_aux:
        return traced.structure
    if traced.structure[0] != "tuple" or len(traced.structure[1]) != 2:
        raise Error(f"{title}: with has_aux the function must return (out, aux)")
    return traced.structure[1][0]


def positions(
    args: Any, argnums: Any, title: str, function: Callable[..., Any]
) -> tuple[list[int], list[Any]]:
    """Leaf positions of the arguments of a function that argnums names, and their structures."""
    positional, _ = args
    names = Names(pytree.flatten(args)[1], function)
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    spans = []
    start = 0
    leaves_of_all: list[Any] = []
    for argument in positional:
        leaves, structure = pytree.flatten(argument)
        leaves_of_all.extend(leaves)
        spans.append((range(start, start + len(leaves)), structure))
        start += len(leaves)
    wrt: list[int] = []
    structures = []
    for number in numbers:
        if not -len(spans) <= number < len(spans):
            raise Error(
                f"{title}: argnums names argument {number}, but {len(spans)} are passed by "
                "position; pass the arguments to differentiate by position, not by keyword"
            )
        span, structure = spans[number]
        for k in span:
            _check_differentiable(leaves_of_all[k], k, title, names)
        wrt.extend(span)
        structures.append(structure)
    return wrt, structures


def checked_argnums(argnums: Any, title: str) -> Any:
    """``argnums`` as an int or a tuple of ints; Error names what is neither."""
    given = argnums if isinstance(argnums, tuple | list) else (argnums,)
    if any(isinstance(n, bool) or not isinstance(n, int | np.integer) for n in given):
        raise Error(
            f"{title}: argnums is the position of an argument, or a tuple of such ints, not "
            f"{argnums!r}"
        )
    numbers = tuple(map(int, given))
    return numbers if isinstance(argnums, tuple | list) else numbers[0]


def _check_differentiable(leaf: Any, position: int, title: str, names: Names) -> None:
    (spec,) = abstract([leaf], title, lambda _: names(position))
    if not dtypes.is_float(spec.dtype):
        raise NotDifferentiableError(
            f"{title}: the gradient with respect to {names(position)} is asked for, but its "
            f"dtype is {dtypes.NAMES[spec.dtype]}; only floats have one (cast it before the call, "
            "or leave it out of argnums)"
        )


def grad(f: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Any:
    """The gradient of a scalar-valued function, as jax.grad."""
    return Grad(f, argnums, has_aux, False)


def value_and_grad(f: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Any:
    """Value and gradient of a scalar-valued function, as jax.value_and_grad."""
    return Grad(f, argnums, has_aux, True)
