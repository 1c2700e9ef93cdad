"""Looking inside: aj.lower, schedules, executables."""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ._arrays import arguments, arrays
from ._arrays.view import View
from ._core import dtypes, pytree
from ._core.errors import Error, ScheduleError
from ._run.compiled import Compiled, FastPath
from ._run.computation import checked_check, checked_memory_budget, lower_computation
from ._run.context import checked_target
from ._run.out_arguments import OutArguments
from ._run.traced_call import TracedCall
from .transforms.jit import jit
from .transforms.transformed import Transformed


class ShapeDtype:
    """Stands for an array of that shape and dtype where only those matter."""

    def __init__(self, shape: Any, dtype: Any) -> None:
        self.shape = tuple(int(e) for e in shape)
        self.dtype = dtypes.to_numpy(dtypes.number_of(dtype))


class Stage(NamedTuple):
    """One stage: ``iterations`` is the exact number of points of its domain."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    flops: int | None
    bytes: int
    iterations: int | None
    lines: list[str]


class KernelTime(NamedTuple):
    """One kernel in one run: all but ``tasks`` are of all its calls.

    Kernels whose code is the same share a ``symbol``. ``predicted`` is the cost model's time and
    ``roofline`` the least that flops and bytes take.
    """

    symbol: str
    stages: list[str]
    calls: int
    microseconds: float
    tasks: int
    flops: int | None
    bytes: int
    predicted: float
    roofline: float


class Profile(list[KernelTime]):
    """Times of all kernels, in the order they run; prints as a table."""

    def __str__(self) -> str:
        lines = [
            f"{'us':>10}{'predicted':>11}{'roofline':>10}{'calls':>7}{'tasks':>7}"
            f"{'GFLOP/s':>9}{'GB/s':>8}  stages"
        ]
        for k in self:
            seconds = 1e-6 * max(k.microseconds, 1e-3)
            rate = "-" if k.flops is None else f"{1e-9 * k.flops / seconds:.1f}"
            lines.append(
                f"{k.microseconds:10.1f}{k.predicted:11.1f}{k.roofline:10.1f}{k.calls:7d}{k.tasks:7d}{rate:>9}"
                f"{1e-9 * k.bytes / seconds:8.1f}  {' '.join(k.stages)}"
            )
        return "\n".join(lines)


def schedule_text(title: str, given: Any) -> str:
    """A schedule that was given as text; ScheduleError for anything else."""
    try:
        if isinstance(given, str) and b"\0" not in given.encode():
            return given
    except UnicodeEncodeError:
        pass
    raise ScheduleError(
        f"{title}: schedule_json is {reprlib.repr(given)}; it is a str of JSON, as .schedule_json "
        "gives it and json.dumps makes it of a list of moves (without one, aj.lower takes the "
        "default schedule)"
    )


def lower(
    f: Callable[..., Any],
    *args: Any,
    target: str | None = None,
    memory_budget: int | None = None,
    check: str | None = None,
) -> Lowered:
    """Derives and schedules ``f`` for these arguments (arrays, numbers or ShapeDtype).

    ``memory_budget`` and ``check`` as for ``jit``, whose own is taken where none is given.
    """
    checked_target(target)
    leaves, structure = pytree.flatten((args, {}))
    plain = [np.zeros(x.shape, x.dtype) if isinstance(x, ShapeDtype) else x for x in leaves]
    concrete = pytree.unflatten(structure, plain)
    function = f if isinstance(f, Transformed) else jit(f)
    bound, positional, keyword, _ = function._split(*concrete)
    traced_call = function.build(bound, (positional, keyword))
    leaves, structure = pytree.flatten((positional, keyword))
    views = arguments.views(leaves, traced_call.title, arguments.Names(structure, bound))
    budget = checked_memory_budget(memory_budget) or function._memory_budget
    return Lowered(
        traced_call, views, structure[-1][0], None, budget, target or function._target,
        checked_check(check) or function._check,
    )  # fmt: skip


class Lowered:
    """A computation with a schedule, for one signature."""

    def __init__(
        self,
        traced_call: TracedCall,
        views: list[View],
        structure: Any,
        schedule_json: str | None,
        memory_budget: int | None = None,
        target: str | None = None,
        check: str | None = None,
    ) -> None:
        """``structure`` is that of the arguments, a tuple; ``views`` are those of its leaves."""
        self._traced_call = traced_call
        self._structure = structure
        self._memory_budget = memory_budget
        self._target = target
        self._check = check
        self._views = views
        self._hidden = [arrays.view(v) for v in [*traced_call.traced.captured, *traced_call.seeds]]
        self._handle = lower_computation(
            traced_call.computation, traced_call.order_inputs([*views, *self._hidden]),
            traced_call.title, schedule_json, traced_call.traced.trace_ms,
            target=target, memory_budget=memory_budget,
        )  # fmt: skip

    @property
    def text(self) -> str:
        """The computation after differentiation and zero-elimination, in text notation."""
        return self._handle.text("adjit_lowered_text")

    @property
    def stages(self) -> list[Stage]:
        """The stages of that computation."""
        return [
            Stage(
                s["name"], tuple(s["shape"]), s["dtype"], s["flops"], s["bytes"],
                s["iterations"], s["lines"],
            )
            for s in json.loads(self._handle.text("adjit_lowered_stages"))
        ]  # fmt: skip

    @property
    def schedule(self) -> str:
        """The loop nests, readable."""
        return self._handle.text("adjit_lowered_schedule")

    @property
    def schedule_json(self) -> str:
        """The moves that made them; ``with_schedule`` replays them."""
        return self._handle.text("adjit_lowered_schedule_json")

    def with_schedule(self, schedule_json: str) -> Lowered:
        """The same computation under another schedule. ScheduleError when it is illegal here.

        "heuristic" names the schedule that adjit chooses, whatever ``tune`` has kept.
        """
        text = schedule_text("with_schedule", schedule_json)
        changed = Lowered(
            self._traced_call, self._views, self._structure, text, self._memory_budget,
            self._target, self._check,
        )  # fmt: skip
        _ = changed.schedule  # replayed now, so that an illegal one is refused here
        return changed

    def explain(self) -> str:
        """The predicted cost of each kernel and stage by term, in microseconds.

        Then the best of the other schedules that were priced. Compiling takes one of them only
        where the default schedule is predicted to take a quarter longer.
        """
        return self._handle.text("adjit_lowered_explain")

    @property
    def cost(self) -> dict[str, Any]:
        """The prediction with what it was made of: kernels, their nests, terms and inputs.

        Names of inputs change with versions.
        """
        return dict(json.loads(self._handle.text("adjit_lowered_cost")))

    def compile(self) -> Executable:
        """Machine code: from memory, from disk, or made now."""
        compiled = Compiled(self._traced_call, self._views, self._hidden, self._handle, self._check)
        return Executable(compiled, self._structure)


class Executable:
    """Machine code for one signature; call it with arrays like those it was lowered for."""

    def __init__(self, compiled: Compiled, structure: Any) -> None:
        self._compiled = compiled
        self._structure = structure  # of the arguments
        self._title = compiled.traced_call.title
        self._fast_path: FastPath | None = None  # how the latest arguments could run as they were

    def _fitting(self, leaves: list[Any], structure: Any) -> list[View]:
        """Views of the leaves; Error unless all inputs are like those that were lowered for."""
        compiled = self._compiled
        if structure != self._structure:
            self._refuse(structure)
        names = self._names()
        views = arguments.views(leaves, self._title, lambda k: names[k])
        captured = [arrays.view(v) for v in compiled.captured]
        wanted = [*compiled.signatures, *[v.signature for v in compiled.hidden]]
        for k, (given, signature) in enumerate(zip([*views, *captured], wanted, strict=True)):
            if given.layout != signature[:3]:  # of the device, the library knows more
                what = names[k] if k < len(leaves) else f"captured array {k - len(leaves)}"
                raise Error(
                    f"{what} has (dtype, shape, strides) {given.layout}, but the "
                    f"executable was compiled for {signature[:3]}"
                )
        compiled.hidden = captured
        return views

    def _refuse(self, structure: Any) -> None:
        wanted, given = self._structure[-1], structure[-1]
        name = f"the executable of '{self._title}'"
        if len(wanted) != len(given):
            noun = "argument" if len(wanted) == 1 else "arguments"
            raise Error(f"{name} takes {len(wanted)} {noun}, not {len(given)}")
        k = next(k for k, child in enumerate(wanted) if child != given[k])
        raise Error(
            f"{name} was lowered for arguments of another structure: "
            f"{pytree.mismatch(wanted[k], given[k], f'argument {k}')}; give it what it was lowered "
            "for, or call the function itself"
        )

    def _names(self) -> list[str]:
        children = enumerate(self._structure[-1])
        return [name for k, child in children for name in pytree.paths(child, f"argument {k}")]

    def __call__(self, *args: Any, out: Any = None) -> Any:
        """``out`` takes the results into given arrays: a tree as returned, which is returned."""
        fast_path = self._fast_path  # another thread may set it
        if fast_path is not None:
            if out is None:
                made = fast_path.run(args)
                if made is not None:
                    return fast_path.rebuild(made)
            elif fast_path.run_into(args, out):
                return out
        compiled = self._compiled
        leaves, structure = pytree.flatten(args)
        views = self._fitting(leaves, structure)
        self._fast_path = compiled.fast_path(leaves, structure, views)
        framework = next((f for x in leaves if (f := arrays.framework_of(x)) != "numpy"), "numpy")
        return compiled.run(
            views, framework, None if out is None else OutArguments(out, self._title)
        )

    def profile(self, *args: Any, repeats: int = 20) -> Profile:
        """Runs that often and measures each kernel in its fastest run."""
        views = self._fitting(*pytree.flatten(args))
        arranged = self._compiled.traced_call.order_inputs([*views, *self._compiled.hidden])
        return Profile([
            KernelTime(
                k["symbol"], k["stages"], k["calls"], k["microseconds"], k["tasks"], k["flops"],
                k["bytes"], math.nan if k["predicted"] is None else k["predicted"], k["roofline"],
            )
            for k in self._compiled.program.profile(arranged, repeats)
        ])  # fmt: skip

    @property
    def llvm(self) -> str:
        """LLVM IR of all kernels whose code differs."""
        return self._compiled.program.handle.text("adjit_executable_llvm")

    @property
    def asm(self) -> str:
        """Assembly of all kernels whose code differs."""
        return self._compiled.program.handle.text("adjit_executable_assembly")

    @property
    def ptx(self) -> str:
        """PTX of all kernels, of a GPU; "" of the CPU."""
        if self._compiled.program.report["target"] == "cpu":
            return ""
        return self._compiled.program.handle.text("adjit_executable_ptx")

    def synchronize(self) -> None:
        """Waits for all calls on a GPU; raises what an index out of range in one of them raises."""
        self._compiled.program.synchronize()

    @property
    def report(self) -> dict[str, Any]:
        """Milliseconds by step, cache, key components, kernels, workspace and code bytes."""
        return self._compiled.program.report

    @property
    def compile_ms(self) -> float:
        """Milliseconds of code generation."""
        return float(self._compiled.program.report["compile_ms"])

    @property
    def cache(self) -> str:
        """Where the code came from: "memory", "disk" or "miss"."""
        return str(self._compiled.program.report["cache"])

    @property
    def miss_reason(self) -> str:
        """Why it had to be compiled; empty on a hit."""
        return str(self._compiled.program.report["miss_reason"])
