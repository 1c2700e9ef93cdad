"""aj.jvp: values and tangents together, by forward mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._arrays.arguments import Names
from .._core import dtypes, pytree
from .._core.errors import DTypeError, Error, NotDifferentiableError, ShapeError
from .._core.library import Handle, call, ints
from .._run.computation import tensor_specs
from .._run.traced import Abstract, Traced, abstract
from .._run.traced_call import TracedCall
from .grad import own_structure
from .transformed import Transformed


def jvp(f: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """``out, tangent_out = jvp(f, primals, tangents)``: f and its derivative along ``tangents``.

    ``primals`` and ``tangents`` are sequences of one structure; a tangent has its primal's shape
    and dtype. None stands for a zero tangent and is the only one that integers and booleans have,
    as arguments and as results. With ``has_aux`` f returns (out, aux), and so do we:
    ``out, tangent_out, aux``.
    """
    for what, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple | list):
            raise Error(f"jvp: {what} must be a tuple or list, one entry per argument of f")
    pushed = Jvp(f, has_aux)
    return pushed(tuple(primals), pushed.checked(tuple(primals), tuple(tangents)))


class Jvp(Transformed):
    """Called with (primals, tangents); tangents is a flat list, one entry or None a leaf."""

    def __init__(self, function: Callable[..., Any], has_aux: bool = False) -> None:
        super().__init__(function, f"jvp({getattr(function, '__name__', 'f')})")
        self.has_aux = has_aux

    def checked(self, primals: Any, tangents: Any) -> list[Any]:
        """One tangent or None per leaf of the primals; errors name what does not fit."""
        leaves, structure = pytree.flatten((primals, {}))
        names = Names(structure, self.function)
        given = pytree.spread(tangents, structure[-1][0], _is_tangent, f"{self.title}: tangents")
        specs = abstract(leaves, self.title, names)
        return [
            self._checked_leaf(f"the tangent of {names(k)}", x, t)
            for k, (x, t) in enumerate(zip(specs, given, strict=True))
        ]

    def _checked_leaf(self, name: str, primal: Abstract, tangent: Any) -> Any:
        where = f"{self.title}: {name}"
        if tangent is None or getattr(tangent, "dtype", None) == _FLOAT0:
            return None
        if not dtypes.is_float(primal.dtype):
            raise NotDifferentiableError(
                f"{where} is given, but the primal is {dtypes.NAMES[primal.dtype]}; pass None, or "
                "cast the primal to a float type before the call"
            )
        if isinstance(tangent, bool | int | float):
            tangent = np.asarray(tangent, dtypes.to_numpy(primal.dtype))
        (own,) = abstract([tangent], self.title, lambda _: name)
        if own.shape != primal.shape:
            raise ShapeError(f"{where} has shape {own.shape}, its primal {primal.shape}")
        if own.dtype != primal.dtype:
            raise DTypeError(
                f"{where} is {dtypes.NAMES[own.dtype]}, its primal {dtypes.NAMES[primal.dtype]}; "
                "cast one of them"
            )
        return tangent

    def build(self, function: Callable[..., Any], args: Any) -> TracedCall:
        (primals, tangents), _ = args
        traced = Traced(function, (primals, {}), self._name())
        own = own_structure(traced, self.has_aux, self.title)
        wrt = [k for k, t in enumerate(tangents) if t is not None]
        computation = pushforward(traced.computation, wrt, True)
        # The computation takes primals, captured values, tangents; the call gives tangents second.
        primal, captured = traced.input_count, len(traced.captured)
        order = [
            *range(primal),
            *range(primal + len(wrt), primal + len(wrt) + captured),
            *range(primal, primal + len(wrt)),
        ]
        floats = [dtypes.is_float(d) for d, _ in tensor_specs(traced.computation, True)]

        def rebuild(outputs: Sequence[Any]) -> Any:
            values = list(outputs[: traced.output_count])
            rest = iter(outputs[traced.output_count :])
            pushed = [next(rest) if on else None for on in floats]
            tree = pytree.unflatten(traced.structure, values)
            tangent = pytree.unflatten(own, pushed[: pytree.leaf_count(own)])
            return (tree[0], tangent, tree[1]) if self.has_aux else (tree, tangent)

        pushed_weak = [w for w, on in zip(traced.weak, floats, strict=True) if on]
        return TracedCall(
            traced, computation, self.title, rebuild, order=order,
            weak=[*traced.weak, *pushed_weak],
        )  # fmt: skip


_FLOAT0 = np.dtype([("float0", np.void, 0)])  # what JAX gives as the tangent of integers


def _is_tangent(value: Any, structure: Any) -> bool:
    return value is None or structure == pytree.LEAF


def pushforward(computation: Handle, wrt: Sequence[int], keep: bool) -> Handle:
    """The jvp of a computation with respect to these inputs; its own outputs first if ``keep``."""
    return Handle(
        "computation",
        lambda out: call(
            "adjit_computation_jvp", computation.value, len(wrt), ints(wrt), int(keep), out
        ),
    )
