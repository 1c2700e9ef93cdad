"""aj.vjp: a forward with residuals and a pullback that may be called many times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import arguments, arrays
from .._core import dtypes, pytree
from .._core.errors import DTypeError, Error, ShapeError
from .._core.library import Handle, call
from .._run.computation import checked_memory_budget, lower_computation, tensor_specs
from .._run.program import Program
from .._run.traced import Traced, abstract, as_tensor
from .._trace import calls
from .._trace.tensor import Tensor
from .._trace.trace import current_trace
from .grad import own_structure, vjp_of


def vjp(
    f: Callable[..., Any], *primals: Any, has_aux: bool = False, memory_budget: int | None = None
) -> Any:
    """``out, pullback = vjp(f, *primals)``; ``pullback(cotangent)`` gives one gradient a primal.

    The cotangent has the structure, shapes and dtypes of ``out``. Gradients of integer primals are
    None. With ``has_aux`` f returns (out, aux), and so do we: ``out, pullback, aux``.

    ``memory_budget``: bytes of intermediate results that are kept for the pullback, which computes
    the others again. ScheduleError where that does not do. Inside a trace forward and pullback are
    one program, and the budget is that of its ``jit``.
    """
    budget = checked_memory_budget(memory_budget)
    joint = _Joint(f, primals, has_aux)
    return joint.inline() if current_trace() is not None else joint.run(budget)


class _Joint:
    def __init__(self, f: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool) -> None:
        self.has_aux = has_aux
        leaves, structure = pytree.flatten((primals, {}))
        self.leaves = leaves
        self.primals = pytree.unflatten(structure, self.leaves)[0]
        name = getattr(f, "__name__", "f").strip("<>")
        self.title = f"vjp({name})"
        self.names = arguments.Names(structure, f)
        self.traced = Traced(f, (self.primals, {}), name)
        inputs = tensor_specs(self.traced.computation, False)
        self.outputs = tensor_specs(self.traced.computation, True)
        self.wrt = [k for k in range(len(self.leaves)) if dtypes.is_float(inputs[k][0])]
        own = own_structure(self.traced, has_aux, self.title)
        self.seeded = [
            k for k in range(pytree.leaf_count(own)) if dtypes.is_float(self.outputs[k][0])
        ]
        self.own = own

    def _results(self, values: list[Any], pullback: Any) -> Any:
        tree = pytree.unflatten(self.traced.structure, values)
        return (tree[0], pullback, tree[1]) if self.has_aux else (tree, pullback)

    def _cotangents(self, cotangent: Any) -> list[Any]:
        leaves, structure = pytree.flatten(cotangent)
        if structure != self.own:
            raise ShapeError(f"{self.title}: the cotangent has another structure than the output")
        names = pytree.paths(self.own, "out")
        return [self._cotangent(leaves[k], names[k], *self.outputs[k]) for k in self.seeded]

    def _cotangent(self, leaf: Any, name: str, dtype: int, shape: tuple[int, ...]) -> Any:
        if type(leaf) in (bool, int, float):
            leaf = np.asarray(leaf, dtypes.to_numpy(dtype))
        what = f"the cotangent of {name}"
        (given,) = abstract([leaf], self.title, lambda _: what)
        if given.shape != shape:
            raise ShapeError(f"{self.title}: {what} has shape {given.shape}, the output {shape}")
        if given.dtype != dtype and not given.weak:
            raise DTypeError(
                f"{self.title}: {what} is {dtypes.NAMES[given.dtype]}, the output "
                f"{dtypes.NAMES[dtype]}; cast one of them"
            )
        if isinstance(leaf, Tensor) and given.dtype != dtype:
            return leaf.astype(dtypes.NAMES[dtype])
        return np.asarray(leaf) if isinstance(leaf, np.generic) else leaf

    def _gradients(self, found: list[Any]) -> tuple[Any, ...]:
        by_position = dict(zip(self.wrt, found, strict=True))
        every = [by_position.get(k) for k in range(len(self.leaves))]
        result = []
        start = 0
        for primal in self.primals:
            leaves, structure = pytree.flatten(primal)
            result.append(pytree.unflatten(structure, every[start : start + len(leaves)]))
            start += len(leaves)
        return tuple(result)

    def inline(self) -> Any:
        trace = current_trace()
        assert trace is not None
        # Numbers become tensors of the outer trace once: forward and backward see the same.
        self.leaves = [as_tensor(v) for v in self.leaves]
        arguments = [trace.resolve(v) for v in [*self.leaves, *self.traced.captured]]
        values = calls.splice(trace, self.traced.computation, arguments, len(self.outputs))

        def pullback(cotangent: Any) -> tuple[Any, ...]:
            inner = current_trace()
            if inner is None:
                raise Error(
                    f"the pullback of {self.title} is used after the trace of '{trace.name}' has "
                    "ended; return what it gives from the function instead of keeping it outside"
                )
            backward = vjp_of(self.traced.computation, self.wrt, self.seeded, False)
            given = [inner.resolve(v) for v in [*self.leaves, *self.traced.captured]]
            given += [inner.resolve(c) for c in self._cotangents(cotangent)]
            return self._gradients(calls.splice(inner, backward, given, len(self.wrt)))

        return self._results(list(values), pullback)

    def run(self, memory_budget: int | None) -> Any:
        joint = vjp_of(self.traced.computation, self.wrt, self.seeded, True)
        given = [*self.leaves, *self.traced.captured]
        views = arguments.views(given, self.title, self.names)
        framework = next((f for v in given if (f := arrays.framework_of(v)) != "numpy"), "numpy")
        forward, backward = _partition(joint, len(given), len(self.outputs), memory_budget)
        title = self.title + ".forward"
        program = Program(
            lower_computation(forward, views, title, trace_ms=self.traced.trace_ms), forward, title
        )
        # JAX would narrow residuals of 64 bits: they stay NumPy's.
        own = "numpy" if framework == "jax" else framework
        made = program.run(views, own)
        values = [arrays.finish(framework, v) for v in made[: len(self.outputs)]]
        residuals = made[len(self.outputs) :]
        programs: dict[Any, Program] = {}

        def pullback(cotangent: Any) -> tuple[Any, ...]:
            inner = current_trace()
            if inner is not None:
                given = [inner.resolve(v) for v in [*residuals, *self._cotangents(cotangent)]]
                return self._gradients(calls.splice(inner, backward, given, len(self.wrt)))
            seeds = [arrays.view(c) for c in self._cotangents(cotangent)]
            inputs = [*[arrays.view(r) for r in residuals], *seeds]
            signature = tuple([v.signature for v in inputs])
            program = programs.get(signature)
            if program is None:
                title = self.title + ".pullback"
                program = Program(lower_computation(backward, inputs, title), backward, title)
                programs[signature] = program
            return self._gradients(program.run(inputs, framework))

        return self._results(values, pullback)


def _partition(
    joint: Handle, primals: int, results: int, memory_budget: int | None = None
) -> tuple[Handle, Handle]:
    parts: list[Handle] = []
    budget = -1 if memory_budget is None else memory_budget

    def forward(out: Any) -> None:
        def backward(other: Any) -> None:
            call("adjit_computation_partition", joint.value, primals, results, budget, out, other)

        parts.append(Handle("computation", backward))

    first = Handle("computation", forward)
    return first, parts[0]
