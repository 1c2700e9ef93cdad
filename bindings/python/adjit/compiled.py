"""A computation compiled for one signature, and what a call of it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import arrays, runtime, tensors
from ._library import Handle
from .built import Built
from .into import Into


class Direct(NamedTuple):
    """How a compiled function runs on arrays of one framework, as they are.

    ``run`` gives fresh outputs, or None where an argument does not fit, and nothing has run;
    ``run_into`` says whether all arguments and given results fitted.
    """

    run: Callable[[tuple[Any, ...]], Sequence[Any] | None]
    run_into: Callable[[tuple[Any, ...], Any], bool]
    rebuild: Callable[[Sequence[Any]], Any]


class Compiled:
    """Machine code with the arrays that the function captured."""

    def __init__(
        self,
        built: Built,
        views: Sequence[arrays.View],
        hidden: Sequence[arrays.View],
        lowered: Handle,
    ) -> None:
        """``views`` of the leaves of a call and ``hidden`` of the captured arrays, as lowered."""
        self.built = built
        self.signatures = [v.signature for v in views]  # the arrays themselves are not kept
        self.captured = [*built.traced.captured, *built.seeds]
        self.hidden = list(hidden)
        self.program = runtime.Program(lowered, built.computation, built.title)
        self._direct: dict[str, Direct] = {}  # by framework

    def fits(self) -> bool:
        """Whether captured arrays lie as they were compiled for; they are looked at again.

        Their memory may be another: torch's ``w.data = ...``, a copy that must be made again.
        """
        hidden = [arrays.view(v) for v in self.captured]
        if [v.signature for v in hidden] != [v.signature for v in self.hidden]:
            return False
        self.hidden = hidden
        return True

    def direct(self, args: Sequence[Any], views: Sequence[arrays.View]) -> Direct | None:
        """What runs arguments like these; None where some need a copy or are of two frameworks.

        ``views`` are those of the leaves.
        """
        if len(args) != len(views):
            return None
        kinds = set()
        for array, view in zip((*args, *self.captured), (*views, *self.hidden), strict=True):
            if array is not view.owner:
                return None
            kinds.add(type(array))
        if kinds == {np.ndarray}:
            kind, make = "numpy", self._on_ndarrays
        elif kinds and all(map(arrays.is_plain_torch, kinds)):
            kind, make = "torch", self._on_tensors
        else:
            return None
        if kind not in self._direct:
            self._direct[kind] = make()
        return self._direct[kind]

    # What these give does not refer to the Compiled, which refers to it.

    def _on_ndarrays(self) -> Direct:
        program, built, arranged = self.program, self.built, self._arranging()
        count = len(program.outputs)

        def run_into(args: tuple[Any, ...], out: Any) -> bool:
            outputs = built.outputs_of(out, count)
            return outputs is not None and program.run_numpy_into(arranged(args), outputs)

        plain = arranged is tuple
        run = program.run_numpy if plain else lambda args: program.run_numpy(arranged(args))
        return Direct(run, run_into, built.rebuild)

    def _on_tensors(self) -> Direct:
        signatures = self.built.arranged([*self.signatures, *[v.signature for v in self.hidden]])
        run = tensors.runner(self.program.handle, signatures, self.program.outputs)
        arranged = self._arranging()
        return Direct(
            run if arranged is tuple else lambda args: run(arranged(args)),
            lambda args, out: False,
            self.built.rebuild,
        )

    def _arranging(self) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
        """All inputs from the leaves; ``tuple`` where they are the leaves."""
        built, captured = self.built, self.captured
        if not captured and built.order is None:
            return tuple
        return lambda args: tuple(built.arranged([*args, *captured]))

    def run(self, views: Sequence[arrays.View], framework: str, into: Into | None = None) -> Any:
        """The result for leaves that lie as compiled for.

        In fresh arrays of the framework, or in those of ``into``.
        """
        hidden = self.hidden  # kept alive, should another thread look again
        given = self.built.arranged([*views, *hidden])
        addresses = [v.address for v in given]
        if into is None:
            return self.built.rebuild(self.program.run(addresses, framework))
        targets = into.targets(self.built, self.program.outputs, given, framework)
        self.program.run_into(addresses, targets.addresses)
        targets.finish()
        return into.out
