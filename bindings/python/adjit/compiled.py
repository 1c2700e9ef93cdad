"""A computation compiled for one signature, and what a call of it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import arrays, runtime
from ._library import Handle
from .built import Built
from .into import Into


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
        self._plain = not self.captured and built.order is None  # calls take the leaves as they are
        #: Fresh outputs for leaves that are ndarrays. None where they or captured arrays do not lie
        #: as they were compiled for.
        self.run_numpy: Callable[[tuple[Any, ...]], tuple[Any, ...] | None] = (
            self.program.run_numpy
            if self._plain
            else _arranging(self.program, built, self.captured)
        )

    def fits(self) -> bool:
        """Whether captured arrays lie as they were compiled for; they are looked at again.

        Their memory may be another: torch's ``w.data = ...``, a copy that must be made again.
        """
        hidden = [arrays.view(v) for v in self.captured]
        if [v.signature for v in hidden] != [v.signature for v in self.hidden]:
            return False
        self.hidden = hidden
        return True

    def takes_objects(self, args: Sequence[Any], views: Sequence[arrays.View]) -> bool:
        """Whether ``run_numpy`` may take arguments like these, whose views those of the leaves are.

        They are ndarrays that need no copy, and so are the captured ones.
        """
        return len(args) == len(views) and all(
            type(a) is np.ndarray and a is v.owner
            for a, v in zip((*args, *self.captured), (*views, *self.hidden), strict=True)
        )

    def run_numpy_into(self, args: tuple[Any, ...], out: Any) -> bool:
        """Whether all arrays fit as they are; if so, the results are in ``out``."""
        outputs = self.built.outputs_of(out, len(self.program.outputs))
        return outputs is not None and self.program.run_numpy_into(
            args if self._plain else self._all(args), outputs
        )

    def _all(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(self.built.arranged([*args, *self.captured]))

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


def _arranging(
    program: runtime.Program, built: Built, captured: list[Any]
) -> Callable[[tuple[Any, ...]], tuple[Any, ...] | None]:
    """``program.run_numpy`` for the leaves alone; refers to no Compiled, which refers to it."""
    return lambda args: program.run_numpy(tuple(built.arranged([*args, *captured])))
