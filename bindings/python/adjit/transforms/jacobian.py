"""Full derivatives: aj.jacobian (reverse mode), aj.jacfwd (forward mode), aj.hessian.

Each batches a pullback or a pushforward over a basis. The basis is a traced identity matrix, which
zero-elimination reads through: the Jacobian of an elementwise function costs its diagonal.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import dtypes, pytree
from .._core.errors import NotDifferentiableError
from .._run.computation import tensor_specs
from .._run.traced import Traced, as_tensor
from .._trace import calls, operators
from .._trace.trace import current_trace
from .grad import checked_argnums, own_structure, positions, vjp_of
from .jit import Jit
from .jvp import pushforward
from .vmap import batched


def jacobian(f: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Any:
    """All derivatives of ``f``'s results with respect to ``argnums``, by reverse mode.

    The result has the structure of ``f``'s, with the structure of the argument (a tuple of them
    when argnums is one) in place of each leaf; a leaf has the result's shape, then the argument's.
    Integer and boolean arguments and results raise NotDifferentiableError. With ``has_aux`` f
    returns (out, aux) and we (jacobian, aux).
    """
    return _full_derivative(f, argnums, has_aux, "jacobian", _rows)


def jacfwd(f: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Any:
    """As ``jacobian``, by forward mode: better where arguments have fewer elements than results."""
    return _full_derivative(f, argnums, has_aux, "jacfwd", _columns)


def hessian(f: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Any:
    """Second derivatives, forward over reverse: jacfwd(jacobian(f)), as jax.hessian.

    For a scalar ``f`` of one array a leaf has the array's shape twice; for containers the
    argument's structure is nested in itself.
    """
    whole = jacfwd(jacobian(f, argnums, has_aux), argnums, has_aux)
    whole.title = f"hessian({getattr(f, '__name__', 'f')})"
    return whole


class _Site:
    """A function traced at arguments of the current trace, to be called there."""

    def __init__(self, f: Callable[..., Any], args: Any, argnums: Any, title: str) -> None:
        self.title = title
        trace = current_trace()
        assert trace is not None
        self.trace = trace
        self.wrt, self.structures = positions(args, argnums, title, f)
        leaves, structure = pytree.flatten(args)
        leaves = [as_tensor(leaf) for leaf in leaves]
        name = getattr(f, "__name__", "f").strip("<>") or "f"
        self.traced = Traced(f, pytree.unflatten(structure, leaves), name)
        self.computation = self.traced.computation
        self.arguments = [trace.resolve(v) for v in [*leaves, *self.traced.captured]]
        self.inputs = tensor_specs(self.computation, False)
        self.outputs = tensor_specs(self.computation, True)

    def check_outputs(self, count: int) -> None:
        for k, (dtype, _) in enumerate(self.outputs[:count]):
            if not dtypes.is_float(dtype):
                raise NotDifferentiableError(
                    f"{self.title}: result leaf {k} is {dtypes.NAMES[dtype]} and has no "
                    "derivative; return floats only, or give it as aux with has_aux=True"
                )

    def basis(self, dtype: int, shape: tuple[int, ...]) -> int:
        """One array per element of ``shape``, along a new leading axis: 1 there, else 0."""
        count = int(np.prod(shape, dtype=np.int64))
        eye = operators.apply("eye", [], {"n_rows": count, "dtype": dtypes.NAMES[dtype]})
        shaped = operators.apply("reshape", [eye], {"shape": [count, *shape]})
        return self.trace.resolve(shaped)

    def values(self) -> list[Any]:
        """The function's own results."""
        return calls.splice(self.trace, self.computation, self.arguments, len(self.outputs))


# table[k][j]: the derivative of result k with respect to input wrt[j].
_Table = list[list[Any]]


def _rows(site: _Site, count: int) -> _Table:
    return [_row(site, k) for k in range(count)]


def _row(site: _Site, k: int) -> list[Any]:
    dtype, shape = site.outputs[k]
    pullback = vjp_of(site.computation, site.wrt, [k], False)
    axes = [None] * len(site.arguments)
    size = int(np.prod(shape, dtype=np.int64))
    rows = batched(pullback, [*axes, 0], size, [0] * len(site.wrt))
    found = calls.splice(
        site.trace, rows, [*site.arguments, site.basis(dtype, shape)], len(site.wrt)
    )
    return [
        _reshaped(g, (*shape, *site.inputs[j][1])) for g, j in zip(found, site.wrt, strict=True)
    ]


def _columns(site: _Site, count: int) -> _Table:
    columns = [_column(site, j, count) for j in site.wrt]
    return [[column[k] for column in columns] for k in range(count)]


def _column(site: _Site, j: int, count: int) -> list[Any]:
    dtype, shape = site.inputs[j]
    pushed = pushforward(site.computation, [j], False)
    floats = [s for d, s in site.outputs if dtypes.is_float(d)]
    axes = [None] * len(site.arguments)
    size = int(np.prod(shape, dtype=np.int64))
    columns = batched(pushed, [*axes, 0], size, [len(s) for s in floats])
    found = calls.splice(
        site.trace, columns, [*site.arguments, site.basis(dtype, shape)], len(floats)
    )
    return [_reshaped(found[k], (*site.outputs[k][1], *shape)) for k in range(count)]


def _reshaped(tensor: Any, shape: tuple[int, ...]) -> Any:
    return operators.apply("reshape", [tensor], {"shape": list(shape)})


def _full_derivative(
    f: Callable[..., Any],
    argnums: Any,
    has_aux: bool,
    name: str,
    derive: Callable[[_Site, int], _Table],
) -> Any:
    title = f"{name}({getattr(f, 'title', None) or getattr(f, '__name__', 'f')})"
    argnums = checked_argnums(argnums, title)

    @functools.wraps(f, updated=())
    def derivative(*args: Any, **kwargs: Any) -> Any:
        site = _Site(f, (args, kwargs), argnums, title)
        own = own_structure(site.traced, has_aux, title)
        count = pytree.leaf_count(own)
        site.check_outputs(count)
        single = isinstance(argnums, int)

        def argument_tree(leaves: list[Any]) -> Any:
            rest = iter(leaves)
            trees = [pytree.unflatten(s, rest) for s in site.structures]
            return trees[0] if single else tuple(trees)

        whole = pytree.unflatten(own, [argument_tree(row) for row in derive(site, count)])
        if not has_aux:
            return whole
        return whole, pytree.unflatten(site.traced.structure, site.values())[1]

    return Jit(derivative, title)
