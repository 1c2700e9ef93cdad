"""aj.vmap: a function of one element becomes a function of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._arrays.arguments import Names
from .._core import pytree
from .._core.errors import Error, ShapeError
from .._core.library import Handle, call, ints
from .._run.computation import tensor_specs
from .._run.traced import Abstract, Traced, abstract
from .._run.traced_call import TracedCall
from .transformed import Transformed


def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Any:
    """``f`` on every element of a batch at once, as jax.vmap.

    ``in_axes``: where the batch axis of each argument is (negative: counted from the end). An int
    or None (the argument is shared) for all, or a tuple or list with one entry per argument, each
    an int, None, or a container of them like the argument's. Keyword arguments are batched along
    axis 0. ``out_axes`` says likewise where the results get it; None only for results that do not
    depend on the batch. All batch axes have one size: ShapeError otherwise.
    """
    return Vmap(f, in_axes, out_axes)


class Vmap(Transformed):
    """``aj.vmap``."""

    def __init__(self, function: Callable[..., Any], in_axes: Any, out_axes: Any) -> None:
        super().__init__(function, f"vmap({getattr(function, '__name__', 'f')})")
        if not (_is_axis(in_axes) or isinstance(in_axes, tuple | list)):
            raise Error(
                f"{self.title}: in_axes must be an int, None, or a tuple with an entry per "
                f"argument, not {in_axes!r}"
            )
        self.in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
        self.out_axes = out_axes

    def build(self, function: Callable[..., Any], args: Any) -> TracedCall:
        leaves, structure = pytree.flatten(args)
        specs = abstract(leaves, self._name(), Names(structure, function))
        axes = self._input_axes(args, specs)
        size = self._size(specs, axes)
        elements = [_element(spec, axis) for spec, axis in zip(specs, axes, strict=True)]
        traced = Traced(function, pytree.unflatten(structure, elements), self._name())
        shared: list[int | None] = [None] * len(traced.captured)
        out_axes = self._output_axes(traced)
        computation = batched(traced.computation, [*axes, *shared], size, out_axes)
        return TracedCall(
            traced, computation, self.title,
            lambda outputs: pytree.unflatten(traced.structure, outputs),
        )  # fmt: skip

    def _input_axes(self, args: Any, specs: Sequence[Abstract]) -> list[int | None]:
        positional, keyword = args
        what = f"{self.title}: in_axes"
        if isinstance(self.in_axes, tuple) and len(self.in_axes) != len(positional):
            raise Error(
                f"{what} has {len(self.in_axes)} entries for {len(positional)} positional arguments"
            )
        given = pytree.spread(self.in_axes, pytree.flatten(positional)[1], _is_axis, what)
        given += pytree.spread(0, pytree.flatten(keyword)[1], _is_axis, what)
        return [
            self._normal(axis, len(spec.shape), f"argument leaf {k} of shape {spec.shape}")
            for k, (axis, spec) in enumerate(zip(given, specs, strict=True))
        ]

    def _output_axes(self, traced: Traced) -> list[int | None]:
        what = f"{self.title}: out_axes"
        given = pytree.spread(self.out_axes, traced.structure, _is_axis, what)
        shapes = [shape for _, shape in tensor_specs(traced.computation, True)]
        return [
            self._normal(axis, len(shape) + 1, f"result leaf {k}, of shape {shape} an element")
            for k, (axis, shape) in enumerate(zip(given, shapes, strict=True))
        ]

    def _normal(self, axis: int | None, rank: int, what: str) -> int | None:
        if axis is None:
            return None
        if not -rank <= axis < rank:
            remedy = "; use None to share it" if rank == 0 else ""
            raise ShapeError(f"{self.title}: {what} has no axis {axis}{remedy}")
        return axis % rank

    def _size(self, specs: Sequence[Abstract], axes: Sequence[int | None]) -> int:
        sizes = {
            k: spec.shape[axis]
            for k, (spec, axis) in enumerate(zip(specs, axes, strict=True))
            if axis is not None
        }
        if not sizes:
            raise Error(f"{self.title}: no argument has a batch axis: in_axes is None everywhere")
        if len(set(sizes.values())) > 1:
            found = ", ".join(
                f"leaf {k} of shape {specs[k].shape} has {n} along axis {axes[k]}"
                for k, n in sizes.items()
            )
            raise ShapeError(f"{self.title}: batch axes differ in size: {found}")
        return next(iter(sizes.values()))


def _is_axis(value: Any, structure: Any = None) -> bool:
    return value is None or type(value) is int


def _element(spec: Abstract, axis: int | None) -> Abstract:
    if axis is None:
        return spec
    shape = spec.shape[:axis] + spec.shape[axis + 1 :]
    return Abstract(spec.dtype, shape, spec.weak)


def batched(
    computation: Handle, in_axes: Sequence[int | None], size: int, out_axes: Sequence[int | None]
) -> Handle:
    """The computation on ``size`` elements; None: no batch axis."""
    ins = [-1 if a is None else a for a in in_axes]
    outs = [-1 if a is None else a for a in out_axes]
    return Handle(
        "computation",
        lambda out: call(
            "adjit_computation_vmap", computation.value, len(ins), ints(ins), size, len(outs),
            ints(outs), out,
        ),
    )  # fmt: skip
