"""Text notation: aj.define."""

from __future__ import annotations

import ctypes
import json
from typing import Any

from ._arrays import arrays
from ._core import dtypes
from ._core.errors import Error
from ._core.library import Handle, call, ints, longs
from ._trace import calls, operators, scalars
from ._trace.tensor import Tensor
from ._trace.trace import current_trace
from ._trace.user_line import user_line
from .transforms.jit import jit


def define(source: str) -> Module:
    """Parses definitions in text notation; each is an attribute of the result, a function.

    ParseError names line and column, with a caret. Extents may be symbols, bound at each call.
    """
    return Module(source)


class Module:
    """Parsed definitions."""

    def __init__(self, source: str) -> None:
        file, line = user_line()
        name = f"{file}:{line}" if file else "<text>"
        self._source = source
        self._handle = Handle(
            "text_module",
            lambda out: call("adjit_text_module_create", source.encode(), name.encode(), out),
        )
        self._definitions = {
            d["name"]: Definition(self, d)
            for d in json.loads(self._handle.text("adjit_text_module_definitions"))
        }

    def __reduce__(self) -> Any:
        return define, (self._source,)

    def __getattr__(self, name: str) -> Definition:
        definitions = self.__dict__.get("_definitions", {})
        if name not in definitions:
            raise AttributeError(f"no definition {name!r}; there are {', '.join(definitions)}")
        return definitions[name]  # type: ignore[no-any-return]

    def __dir__(self) -> list[str]:
        return list(self._definitions)


class Definition:
    """One definition: a traceable function of its inputs, one result or a tuple."""

    def __init__(self, module: Module, signature: dict[str, Any]) -> None:
        self._module = module
        self.__name__ = signature["name"]
        self.inputs: list[str] = signature["inputs"]
        self.outputs: list[str] = signature["outputs"]
        self._dtypes: list[int] = signature["dtypes"]
        self._instances: dict[Any, Handle] = {}
        self._jit: Any = None

    def __reduce__(self) -> Any:
        return getattr, (self._module, self.__name__)

    def __repr__(self) -> str:
        return f"{self.__name__}({', '.join(self.inputs)}) -> ({', '.join(self.outputs)})"

    def _instance(self, specs: tuple[Any, ...]) -> Handle:
        if specs not in self._instances:
            shapes = [e for _, shape in specs for e in shape]
            kinds = (ctypes.c_int * max(1, len(specs)))(*[dtype for dtype, _ in specs])
            self._instances[specs] = Handle(
                "computation",
                lambda out: call(
                    "adjit_text_module_instantiate", self._module._handle.value,
                    self.__name__.encode(), len(specs), kinds,
                    ints([len(s) for _, s in specs]), longs(shapes), out,
                ),
            )  # fmt: skip
        return self._instances[specs]

    def __call__(self, *args: Any, out: Any = None) -> Any:
        """``out=`` takes the results into given arrays, outside traces."""
        if len(args) != len(self.inputs):
            raise Error(f"{self!r} takes {len(self.inputs)} arguments, not {len(args)}")
        trace = current_trace()
        if trace is None:
            if self._jit is None:
                self._jit = jit(self._traced)
            return self._jit(*args) if out is None else self._jit(*args, out=out)
        if out is not None:
            raise Error(f"{self!r} is called with out= inside a trace, where nothing has memory")
        return self._traced(*args)

    def _traced(self, *args: Any) -> Any:
        trace = current_trace()
        assert trace is not None
        tensors = [_tensor(a, d) for a, d in zip(args, self._dtypes, strict=True)]
        specs = tuple(
            (t.dtype_number, t.shape) if isinstance(t, Tensor) else arrays.view(t).signature[:2]
            for t in tensors
        )
        trace.mark(self.__name__)
        results = calls.splice(
            trace, self._instance(specs), [trace.resolve(t) for t in tensors], len(self.outputs)
        )
        return results[0] if len(results) == 1 else tuple(results)


def _tensor(value: Any, declared: int) -> Any:
    """An argument as a tensor or an array; a Python number takes the declared dtype."""
    if arrays.is_array(value):
        return value
    if not isinstance(value, Tensor):
        weak = scalars.is_weak(value)
        value = operators.apply("full", [value], {"shape": []})
        if weak:
            value.trace.set_weak(value.number)
    given: int = value.dtype_number
    is_integer = given != dtypes.BOOL and not dtypes.is_float(given)
    adapts = dtypes.is_float(declared) or is_integer
    if value.trace.is_weak(value.number) and adapts and given != declared:
        return value.astype(dtypes.NAMES[declared])
    return value
