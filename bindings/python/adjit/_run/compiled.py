"""A computation compiled for one signature, and what a call of it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._arrays import arrays, torch_fast_path
from .._arrays.view import View
from .._core import pytree
from .._core.library import Handle
from .computation import lower_computation
from .out_arguments import OutArguments
from .program import Program
from .traced_call import TracedCall

#: All inputs of a computation from a call's arguments; None where these have another structure.
_Arrange = Callable[[tuple[Any, ...]], tuple[Any, ...] | None]


class FastPath:
    """How a compiled function runs on arrays of one framework, as they are.

    ``run`` gives fresh outputs, or None where an argument does not fit, and nothing has run;
    ``run_into`` says whether all arguments and given results fitted.
    """

    __slots__ = ("rebuild", "run", "run_into")

    def __init__(
        self,
        run: Callable[[tuple[Any, ...]], Sequence[Any] | None],
        run_into: Callable[[tuple[Any, ...], Any], bool],
        rebuild: Callable[[Sequence[Any]], Any],
    ) -> None:
        self.run = run
        self.run_into = run_into
        self.rebuild = rebuild


class Compiled:
    """Machine code with the arrays that the function captured."""

    def __init__(
        self,
        traced_call: TracedCall,
        views: Sequence[View],
        hidden: Sequence[View],
        lowered: Handle,
        check: str | None = None,
    ) -> None:
        """``views`` of the leaves of a call and ``hidden`` of the captured arrays, as lowered.

        ``check`` as for ``jit``.
        """
        self.traced_call = traced_call
        self.signatures = [v.signature for v in views]  # the arrays themselves are not kept
        self.captured = [*traced_call.traced.captured, *traced_call.seeds]
        self.hidden = list(hidden)
        self.program = Program(
            lowered, traced_call.computation, traced_call.title, check is not None
        )
        self._fast_paths: dict[str, FastPath] = {}  # by framework

    def still_matches(self) -> bool:
        """Whether captured arrays lie as they were compiled for; they are looked at again.

        Their memory may be another: torch's ``w.data = ...``, a copy that must be made again.
        """
        hidden = [arrays.view(v) for v in self.captured]
        if [v.signature for v in hidden] != [v.signature for v in self.hidden]:
            return False
        self.hidden = hidden
        return True

    def fast_path(
        self, leaves: Sequence[Any], structure: Any, views: Sequence[View]
    ) -> FastPath | None:
        """What runs arguments like these; None where some need a copy or are of two frameworks.

        ``structure`` is that of the arguments, a tuple; ``views`` are those of its leaves.
        """
        kinds = set()
        for array, view in zip((*leaves, *self.captured), (*views, *self.hidden), strict=True):
            if array is not view.owner or view.device >= 0:
                return None
            kinds.add(type(array))
        if kinds == {np.ndarray}:
            kind, make = "numpy", self._on_ndarrays
        elif kinds and all(map(arrays.is_plain_torch, kinds)):
            kind, make = "torch", self._on_tensors
        else:
            return None
        if kind not in self._fast_paths:
            self._fast_paths[kind] = make(self._arrangement(structure))
        return self._fast_paths[kind]

    # What these give does not refer to the Compiled, which refers to it.

    def _on_ndarrays(self, arrange: _Arrange) -> FastPath:
        program, traced_call = self.program, self.traced_call
        count = len(program.outputs)

        def run(args: tuple[Any, ...]) -> Sequence[Any] | None:
            given = arrange(args)
            return None if given is None else program.run_numpy(given)

        def run_into(args: tuple[Any, ...], out: Any) -> bool:
            given, outputs = arrange(args), traced_call.outputs_of(out, count)
            if given is None or outputs is None:
                return False
            return program.run_numpy_into(given, outputs)

        return FastPath(
            program.run_numpy if arrange is tuple else run, run_into, traced_call.rebuild
        )

    def _on_tensors(self, arrange: _Arrange) -> FastPath:
        traced_call = self.traced_call
        signatures = traced_call.order_inputs(
            [*self.signatures, *[v.signature for v in self.hidden]]
        )
        runner = torch_fast_path.Runner(self.program.handle, signatures, self.program.outputs)
        count = len(self.program.outputs)

        def run(args: tuple[Any, ...]) -> Sequence[Any] | None:
            given = arrange(args)
            return None if given is None else runner.run(given)

        def run_into(args: tuple[Any, ...], out: Any) -> bool:
            given, outputs = arrange(args), traced_call.outputs_of(out, count)
            if given is None or outputs is None:
                return False
            return runner.run_into(given, outputs)

        return FastPath(runner.run if arrange is tuple else run, run_into, traced_call.rebuild)

    def _arrangement(self, structure: Any) -> _Arrange:
        """All inputs from arguments of that structure, None of another.

        ``tuple`` where the inputs are the arguments, whatever these are.
        """
        traced_call, captured = self.traced_call, self.captured
        if any(child != pytree.LEAF for child in structure[-1]):

            def unpacked(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
                leaves, found = pytree.flatten(args)
                return (
                    tuple(traced_call.order_inputs([*leaves, *captured]))
                    if found == structure
                    else None
                )

            return unpacked
        if not captured and traced_call.order is None:
            return tuple
        return lambda args: tuple(traced_call.order_inputs([*args, *captured]))

    def run(self, views: Sequence[View], framework: str, into: OutArguments | None = None) -> Any:
        """The result for leaves that lie as compiled for.

        In fresh arrays of the framework, or in those of ``into``.
        """
        hidden = self.hidden  # kept alive, should another thread look again
        given = self.traced_call.order_inputs([*views, *hidden])
        if into is None:
            return self.traced_call.rebuild(self.program.run(given, framework))
        targets = into.buffers(
            self.traced_call, self.program.outputs, given, framework, self.program.device
        )
        self.program.run_into(given, targets.views)
        targets.finish()
        return into.out


def compile_call(
    traced_call: TracedCall,
    views: Sequence[View],
    memory_budget: int | None = None,
    target: str | None = None,
    check: str | None = None,
) -> Compiled:
    """Machine code for leaves that lie like these."""
    hidden = [arrays.view(v) for v in [*traced_call.traced.captured, *traced_call.seeds]]
    lowered = lower_computation(
        traced_call.computation, traced_call.order_inputs([*views, *hidden]), traced_call.title,
        trace_ms=traced_call.traced.trace_ms, target=target, memory_budget=memory_budget,
    )  # fmt: skip
    return Compiled(traced_call, views, hidden, lowered, check)
