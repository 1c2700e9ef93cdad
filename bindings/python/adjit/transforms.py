"""Transformations: jit, and what all of them share; they nest in any order.

The others: gradient.py (grad, value_and_grad), pullback.py (vjp), forward.py (jvp), batching.py
(vmap), jacobians.py.
"""

from __future__ import annotations

import functools
import inspect
import time
import types
from collections.abc import Callable, Sequence
from typing import Any

from . import arguments, arrays, dtypes, pytree, runtime, scalars, tracing
from .arguments import WEAK, Names
from .built import Built
from .compiled import Compiled, Direct
from .errors import Error
from .fixed import Fixed
from .into import Into
from .pickling import ByName


class Traced:
    """A function traced for one signature."""

    def __init__(self, function: Callable[..., Any], args: Any, name: str) -> None:
        """``args`` is a pair (positional, keyword) whose leaves are arrays, scalars, tensors."""
        started = time.perf_counter()
        leaves, structure = pytree.flatten(args)
        self.name = name
        self.specs = abstract(leaves, name, Names(structure, function))
        with tracing.Trace(name) as trace:
            inputs = [
                trace.input(f"x{k}", spec.dtype, spec.shape, spec.weak)
                for k, spec in enumerate(self.specs)
            ]
            positional, keyword = pytree.unflatten(structure, inputs)
            result = function(*positional, **keyword)
            outputs, self.structure = pytree.flatten(result)
            numbers = [_output(trace, leaf) for leaf in outputs]
            # Which outputs stand for Python numbers; an ended trace does not tell.
            self.weak = [trace.is_weak(number) for number in numbers]
        self.input_count = len(leaves)
        self.captured = trace.captured
        self.output_count = len(numbers)
        self.computation = trace.finish(numbers)
        self.trace_ms = 1e3 * (time.perf_counter() - started)


class Abstract:
    """Stands for an argument of which only dtype (its number), shape and weakness matter."""

    def __init__(self, dtype: int, shape: tuple[int, ...], weak: bool = False) -> None:
        self.dtype = dtype
        self.shape = shape
        self.weak = weak


def abstract(leaves: Sequence[Any], name: str, names: Callable[[int], str]) -> list[Abstract]:
    """What tracing needs to know of the leaves of arguments of the function ``name``."""
    found = []
    for k, leaf in enumerate(leaves):
        if isinstance(leaf, Abstract):
            found.append(leaf)
        elif isinstance(leaf, tracing.Tensor):
            found.append(Abstract(leaf.dtype_number, leaf.shape, leaf.trace.is_weak(leaf.number)))
        else:
            (view,) = arguments.views([leaf], name, lambda _, k=k: names(k))  # type: ignore[misc]
            found.append(Abstract(view.dtype, view.shape, weak=type(leaf) in WEAK))
    return found


def _output(trace: tracing.Trace, leaf: Any) -> int:
    if scalars.is_scalar(leaf):
        return _as_tensor(leaf).number  # type: ignore[no-any-return]
    if not isinstance(leaf, tracing.Tensor) and not arrays.is_array(leaf):
        raise Error(
            f"'{trace.name}' returns a {type(leaf).__name__}; traced functions return arrays, "
            "numbers, and containers of them"
        )
    return trace.resolve(leaf)


class Transformed(ByName):
    """A function after a transformation: callable on arrays, and inside traces."""

    def __init__(
        self,
        function: Callable[..., Any],
        title: str,
        target: str | None = None,
        static_argnums: Sequence[int] = (),
        static_argnames: Sequence[str] = (),
        memory_budget: int | None = None,
    ) -> None:
        runtime.check_cpu(target)
        if not callable(function):
            raise TypeError(f"{function!r} is not callable")
        functools.update_wrapper(self, function, updated=())
        self.function = function
        self.title = title
        self._memory_budget = runtime.memory_budget(memory_budget)
        self._static_numbers = tuple(static_argnums)
        self._static_names = frozenset(static_argnames)
        self._forget()

    def _forget(self) -> None:
        """Nothing is compiled."""
        self._compiled: dict[Any, Compiled] = {}  # by structure, static arguments, layouts
        self._by_layouts: dict[Any, Direct] = {}  # those that take all arguments as they are
        self._latest: Direct | None = None  # that one of them that ran last
        self._usual: Direct | None = None  # that one, if it ran before that, too

    def __getstate__(self) -> dict[str, Any]:
        """Pickled and copied without machine code, which belongs to this process."""
        compiled = ("_compiled", "_by_layouts", "_latest", "_usual")
        return {name: v for name, v in self.__dict__.items() if name not in compiled}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def build(self, function: Callable[..., Any], args: Any) -> Built:
        """The computation for (positional, keyword) arguments; subclasses transform it."""
        traced = Traced(function, args, self._name())
        return Built(
            traced, traced.computation, self.title,
            lambda outputs: pytree.unflatten(traced.structure, outputs),
        )  # fmt: skip

    def inline(self, function: Callable[..., Any], args: Any) -> Any:
        """The call inside another trace."""
        trace = tracing.current()
        assert trace is not None
        leaves, structure = pytree.flatten(args)
        # Numbers become tensors of the outer trace: they may be differentiated.
        leaves = [_as_tensor(leaf) for leaf in leaves]
        built = self.build(function, pytree.unflatten(structure, leaves))
        arguments = [trace.resolve(leaf) for leaf in leaves]
        arguments += [trace.resolve(value) for value in built.traced.captured]
        arguments += [trace.resolve(seed) for seed in built.seeds]
        count = len(runtime.tensor_specs(built.computation, True))
        trace.mark(built.title)
        return built.spliced(trace.call(built.computation, built.arranged(arguments), count))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method: the instance is the first argument (make it static, or a pytree)."""
        return self if instance is None else types.MethodType(self, instance)

    def _name(self) -> str:
        return getattr(self.function, "__name__", "main").strip("<>") or "main"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """``out=`` takes the results into given arrays, unless the function names such a parameter.

        It is a tree of the structure of what the function returns, and is returned. Arrays that
        are inputs, too, get their results when all are there.
        """
        if not kwargs:
            # The usual call: arrays by position, of layouts seen before.
            usual = self._usual
            if usual is not None and not tracing.stack.traces:
                made = usual.run(args)
                if made is not None:
                    return usual.rebuild(made)
            return self._call(args, kwargs)
        if "out" in kwargs and self._takes_out:
            return self._call_into(kwargs.pop("out"), args, kwargs)
        return self._call(args, kwargs)

    @functools.cached_property
    def _takes_out(self) -> bool:
        """Whether ``out=`` is ours: the function has no such parameter."""
        try:
            return "out" not in inspect.signature(self.function).parameters
        except (TypeError, ValueError):  # some built-in functions have no signature
            return True

    def _call_into(self, out: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if out is None:
            return self(*args, **kwargs)
        if tracing.current() is not None:
            raise Error(
                f"'{self.title}' is called with out= while a function is traced, where arrays "
                "have no memory yet; use what it returns"
            )
        usual = self._usual
        if usual is not None and not kwargs and usual.run_into(args, out):
            return out
        return self._call(args, kwargs, Into(out, self.title))

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any], into: Into | None = None) -> Any:
        if tracing.current() is None and self._by_layouts and not kwargs and into is None:
            leaves, structure = pytree.flatten(args)
            direct = self._by_layouts.get((structure, arrays.layouts_of(leaves)))
            if direct is not None and (made := direct.run(args)) is not None:
                self._ran(direct)
                return direct.rebuild(made)
        function, positional, keyword, static = self._split(args, kwargs)
        leaves, structure = pytree.flatten((positional, keyword))
        if tracing.current() is not None:
            return self.inline(function, (positional, keyword))
        for leaf in leaves:
            if isinstance(leaf, tracing.Tensor):
                raise Error(
                    f"'{self.title}' is called with a traced value of '{leaf.trace.name}' after "
                    "that trace has ended; return it from the function instead"
                )
        views = arguments.views(leaves, self._name(), Names(structure, function))
        key = (structure, static, tuple([(v.signature, type(x) in WEAK) for v, x in
                                         zip(views, leaves, strict=True)]))  # fmt: skip
        compiled = self._compiled.get(key)
        if compiled is None or not compiled.fits():
            compiled = self._compiled[key] = compile_built(
                self.build(function, (positional, keyword)), views, self._memory_budget
            )
        given = structure[-1][0]
        if not kwargs and not static and (direct := compiled.direct(leaves, given, views)):
            self._by_layouts[given, arrays.layouts_of(leaves)] = direct
            self._ran(direct)
        framework = "numpy"
        for leaf in leaves:
            if (found := arrays.framework_of(leaf)) != "numpy":
                framework = found
        return compiled.run(views, framework, into)

    def _ran(self, direct: Direct) -> None:
        """Calls that change layouts every time do not try the latest ones first."""
        self._usual = direct if direct is self._latest else None
        self._latest = direct

    def _split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Static arguments leave; the function that is traced has them bound."""
        if not self._static_numbers and not self._static_names:
            return self.function, args, kwargs, ()
        fixed = {
            n % len(args): args[n] for n in self._static_numbers if -len(args) <= n < len(args)
        }
        named = {n: v for n, v in kwargs.items() if n in self._static_names}
        rest = tuple(a for k, a in enumerate(args) if k not in fixed)
        keyword = {n: v for n, v in kwargs.items() if n not in named}

        def bound(*given: Any, **more: Any) -> Any:
            values = list(given)
            for k in sorted(fixed):
                values.insert(k, fixed[k])
            return self.function(*values, **more, **named)

        bound.kept = [k for k in range(len(args)) if k not in fixed]  # type: ignore[attr-defined]
        bound.original = self.function  # type: ignore[attr-defined]
        static = (
            tuple([(k, Fixed(fixed[k])) for k in sorted(fixed)]),
            tuple([(n, Fixed(named[n])) for n in sorted(named)]),
        )
        try:
            hash(static)
        except TypeError as error:
            raise Error(f"static arguments of '{self.title}' must be hashable") from error
        return bound, rest, keyword, static


def compile_built(
    built: Built, views: Sequence[arrays.View], memory_budget: int | None = None
) -> Compiled:
    """Machine code for leaves that lie like these."""
    hidden = [arrays.view(v) for v in [*built.traced.captured, *built.seeds]]
    lowered = runtime.lower(
        built.computation, built.arranged([*views, *hidden]), built.title,
        trace_ms=built.traced.trace_ms, memory_budget=memory_budget,
    )  # fmt: skip
    return Compiled(built, views, hidden, lowered)


def _as_tensor(leaf: Any) -> Any:
    """A number as a tensor of the current trace; anything else as it is.

    A NumPy scalar keeps its dtype; a Python number adapts to the dtypes that it meets.
    """
    if not scalars.is_scalar(leaf):
        return leaf
    from . import operators

    weak = scalars.is_weak(leaf)
    dtype = arguments.view(leaf).dtype
    tensor = operators.apply("full", [leaf], {"shape": [], "dtype": dtypes.NAMES[dtype]})
    if weak:
        tensor.trace.set_weak(tensor.number)
    return tensor


class Jit(Transformed):
    """``aj.jit``: inside another trace the function is simply traced along."""

    def build(self, function: Callable[..., Any], args: Any) -> Built:
        """Of a transformation its own computation: derived once, and not where a cache has it."""
        if (
            not isinstance(function, Transformed)
            or function._static_numbers
            or function._static_names
        ):
            return super().build(function, args)
        built = function.build(function.function, args)
        built.title = self.title
        return built

    def inline(self, function: Callable[..., Any], args: Any) -> Any:
        positional, keyword = args
        return function(*positional, **keyword)


def jit(
    f: Callable[..., Any],
    target: str | None = None,
    static_argnums: Any = (),
    static_argnames: Any = (),
    memory_budget: int | None = None,
) -> Any:
    """Compiles ``f``: traced once per signature (structure, shapes, dtypes, strides).

    ``target``: None or "cpu". Static arguments are compared by value and may be anything hashable.

    ``memory_budget``: bytes that a call may take besides its arguments and results. Where the
    program would take more, intermediate results (activations that wait for the backward, say) are
    computed a second time instead of kept; where that does not do, ScheduleError names the stage
    that needs most. Memory that each thread needs for itself counts for as many threads as the
    process has cores. ``report["workspace_bytes"]`` of an executable is what a call takes. Inside
    other transformations (``grad(jit(f, memory_budget=...))``) the outermost ``jit`` decides.
    """
    numbers = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    numbers, names = _static_both_ways(f, numbers, names)
    name = getattr(f, "title", None) or getattr(f, "__name__", "f")
    return Jit(f, f"jit({name})", target, numbers, names, memory_budget)


def _static_both_ways(
    f: Callable[..., Any], numbers: tuple[int, ...], names: tuple[str, ...]
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """As in JAX: what is static by position is so by name, and the other way round."""
    if not numbers and not names:
        return numbers, names
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return numbers, names
    fixed = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    by_number = [fixed[n] for n in numbers if -len(fixed) <= n < len(fixed)]
    by_name = [fixed.index(n) for n in names if n in fixed]
    known = {n % len(fixed) if fixed else n for n in numbers}
    return (
        (*numbers, *[n for n in by_name if n not in known]),
        tuple(dict.fromkeys([*names, *by_number])),
    )


def run_once(build: Callable[[tracing.Trace], Any]) -> Any:
    """Traces, compiles and runs something that only captures arrays."""
    traced = Traced(lambda: build(tracing.current()), ((), {}), "compute")  # type: ignore[arg-type]
    built = Built(
        traced, traced.computation, "compute",
        lambda outputs: pytree.unflatten(traced.structure, outputs),
    )  # fmt: skip
    framework = "numpy"
    for value in traced.captured:
        if (found := arrays.framework_of(value)) != "numpy":
            framework = found
    return compile_built(built, []).run([], framework)
