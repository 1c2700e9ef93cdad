"""Functions after a transformation: what jit, grad, vmap and the others share; they nest."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any

from .._arrays import arguments, arrays
from .._arrays.arguments import Names
from .._core import pytree
from .._core.errors import Error
from .._core.pickling import ByName
from .._core.static_value import StaticValue
from .._run.call_cache import CallCache
from .._run.compiled import compile_call
from .._run.computation import checked_check, checked_memory_budget, tensor_specs
from .._run.context import checked_target
from .._run.out_arguments import OutArguments
from .._run.traced import Traced, as_tensor
from .._run.traced_call import TracedCall
from .._trace import calls
from .._trace.tensor import Tensor
from .._trace.trace import current_trace, stack


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
        check: str | None = None,
    ) -> None:
        if not callable(function):
            raise TypeError(f"{function!r} is not callable")
        functools.update_wrapper(self, function, updated=())
        self.function = function
        self.title = title
        self._target = checked_target(target)
        self._memory_budget = checked_memory_budget(memory_budget)
        self._check = checked_check(check)
        self._static_numbers = tuple(static_argnums)
        self._static_names = frozenset(static_argnames)
        self._calls = CallCache()

    def __getstate__(self) -> dict[str, Any]:
        """Pickled and copied without machine code, which belongs to this process."""
        return {name: v for name, v in self.__dict__.items() if name != "_calls"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._calls = CallCache()

    def build(self, function: Callable[..., Any], args: Any) -> TracedCall:
        """The computation for (positional, keyword) arguments; subclasses transform it."""
        traced = Traced(function, args, self._name())
        return TracedCall(
            traced, traced.computation, self.title,
            lambda outputs: pytree.unflatten(traced.structure, outputs),
        )  # fmt: skip

    def inline(self, function: Callable[..., Any], args: Any) -> Any:
        """The call inside another trace."""
        trace = current_trace()
        assert trace is not None
        leaves, structure = pytree.flatten(args)
        # Numbers become tensors of the outer trace: they may be differentiated.
        leaves = [as_tensor(leaf) for leaf in leaves]
        traced_call = self.build(function, pytree.unflatten(structure, leaves))
        arguments = [trace.resolve(leaf) for leaf in leaves]
        arguments += [trace.resolve(value) for value in traced_call.traced.captured]
        arguments += [trace.resolve(seed) for seed in traced_call.seeds]
        count = len(tensor_specs(traced_call.computation, True))
        trace.mark(traced_call.title)
        return traced_call.spliced(
            calls.splice(trace, traced_call.computation, traced_call.order_inputs(arguments), count)
        )

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
            # Most calls: arrays by position, laid out as those of the calls before.
            hot = self._calls.hot
            if hot is not None and not stack.traces:
                made = hot.run(args)
                if made is not None:
                    return hot.rebuild(made)
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
        if stack.traces:
            raise Error(
                f"'{self.title}' is called with out= while a function is traced, where arrays "
                "have no memory yet; use what it returns"
            )
        hot = self._calls.hot
        if hot is not None and not kwargs and hot.run_into(args, out):
            return out
        return self._call(args, kwargs, OutArguments(out, self.title))

    def _call(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], into: OutArguments | None = None
    ) -> Any:
        if current_trace() is None and not kwargs and into is None:
            ran, result = self._calls.run(args)
            if ran:
                return result
        function, positional, keyword, static = self._split(args, kwargs)
        leaves, structure = pytree.flatten((positional, keyword))
        if current_trace() is not None:
            return self.inline(function, (positional, keyword))
        for leaf in leaves:
            if isinstance(leaf, Tensor):
                raise Error(
                    f"'{self.title}' is called with a traced value of '{leaf.trace.name}' after "
                    "that trace has ended; return it from the function instead"
                )
        views = arguments.views(leaves, self._name(), Names(structure, function))
        compiled = self._calls.compiled(
            structure, static, leaves, views,
            lambda: compile_call(
                self.build(function, (positional, keyword)), views, self._memory_budget,
                self._target, self._check,
            ),
        )  # fmt: skip
        if not kwargs and not static:
            self._calls.keep_fast_path(compiled, structure[-1][0], leaves, views)
        framework = "numpy"
        for leaf in leaves:
            if (found := arrays.framework_of(leaf)) != "numpy":
                framework = found
        return compiled.run(views, framework, into)

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
            tuple([(k, StaticValue(fixed[k])) for k in sorted(fixed)]),
            tuple([(n, StaticValue(named[n])) for n in sorted(named)]),
        )
        try:
            hash(static)
        except TypeError as error:
            raise Error(f"static arguments of '{self.title}' must be hashable") from error
        return bound, rest, keyword, static
