"""Operators as functions: one for every row of the library's table, with its signature.

On traced tensors a function adds stages to the current trace; on arrays it runs at once, as a
cached program of one operator; on scalar expressions of the index notation it builds expressions.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .._core.errors import Error
from .._core.library import library
from .._core.static_value import StaticValue
from . import eager, expr_operators, numpy_protocol, scalars
from .tensor import Tensor
from .trace import attributes_text, current_trace


class Row(NamedTuple):
    """A row of the operator table."""

    name: str
    tensors: tuple[str, ...]  # names of required tensors; ("tensors...",) takes any number
    optional: tuple[str, ...]
    attributes: dict[str, Any]  # name -> default (inspect.Parameter.empty when required)
    doc: str
    several: bool  # a tuple of results, even of one


def _parse(entry: dict[str, Any]) -> Row:
    tensors: list[str] = []
    optional: list[str] = []
    attributes: dict[str, Any] = {}
    keyword = False
    for part in map(str.strip, entry["signature"][1:-1].split(",")):
        if not part:
            continue
        if part == "*":
            keyword = True
            continue
        name, _, default = part.partition("=")
        if not keyword and default:
            optional.append(name)
        elif not keyword:
            tensors.append(name)
        elif name not in attributes:
            attributes[name] = _default(default)
    doc = f"Shapes: {entry['shapes']}\n\nGradient: {entry['gradient']}\n"
    return Row(entry["name"], tuple(tensors), tuple(optional), attributes, doc, entry["several"])


_CONSTANTS = {"": inspect.Parameter.empty, "None": None, "True": True, "False": False}


def _default(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    return text[1:-1] if text.startswith("'") else json.loads(text)


TABLE: dict[str, Row] = {
    entry["name"]: _parse(entry) for entry in json.loads(library.adjit_operators())
}


def apply(name: str, operands: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """An operator on tensors, arrays and Python scalars, in order; one result or a tuple.

    None stands for an optional operand that is left out.
    """
    given = scalars.checked(name, operands)
    trace = current_trace()
    if trace is None:
        return _eager(name, given, attributes)
    tensors, attributes = scalars.split(trace, given, attributes)
    results = trace.apply(name, tensors, attributes)
    return results[0] if len(results) == 1 and not TABLE[name].several else tuple(results)


_PYTHON = (bool, int, float)
_ARRAY, _WEAK_ARRAY = "array", "weak array"  # operands that are not part of a program


@functools.lru_cache(maxsize=4096)
def _program(name: str, attributes: str, pattern: tuple[StaticValue | str, ...]) -> Any:
    fixed = json.loads(attributes)

    def run(*tensors: Any) -> Any:
        rest = iter(tensors)
        operands = [p.value if isinstance(p, StaticValue) else next(rest) for p in pattern]
        for operand, p in zip(operands, pattern, strict=True):
            if p == _WEAK_ARRAY:
                operand.trace.set_weak(operand.number)
        return apply(name, operands, fixed)

    run.__name__ = name.replace(".", "_")
    return eager.compiled(run)


def _eager(name: str, operands: Sequence[Any], attributes: dict[str, Any]) -> Any:
    for operand in operands:
        if isinstance(operand, Tensor):
            raise Error(
                f"{name}: a traced value of '{operand.trace.name}' is used after its trace has "
                "ended; return it from the function instead of keeping it in a variable outside"
            )
    # Numbers are part of the program, but for NumPy's, and where there is nothing else.
    numbers = name != "full" and all(type(o) in _PYTHON for o in operands)
    pattern: list[StaticValue | str] = []
    tensors: list[Any] = []
    for value in operands:
        kind = type(value)
        if kind is np.ndarray or (numbers and value is not None):
            pattern.append(_ARRAY)
            tensors.append(scalars.literal(value) if kind is int else value)
        elif value is None or (isinstance(value, _PYTHON) and not isinstance(value, np.generic)):
            pattern.append(StaticValue(scalars.literal(value)))
        else:
            weak = kind is scalars.Weak
            pattern.append(_WEAK_ARRAY if weak else _ARRAY)
            tensors.append(value.view(np.ndarray) if weak else value)
    return _program(name, attributes_text(attributes), tuple(pattern))(*tensors)


# torch's signatures have the axis second: gather(x, dim, index).
_TORCH_ORDER = ("gather", "scatter_add", "index_add")


def in_own_order(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments in torch's order, told by an int before an array, as (x, indices, ..., axis=)."""
    if len(args) < 3 or type(args[1]) is not int or scalars.is_scalar(args[2]):
        return args, kwargs
    return (args[0], *args[2:]), {**kwargs, "axis": args[1]}


@functools.cache
def _required(name: str) -> inspect.Parameter:
    """A parameter without a default: hundreds of rows share a few."""
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _signature(row: Row) -> inspect.Signature:
    """As PyTorch orders them: layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5)."""
    empty, kind = inspect.Parameter.empty, inspect.Parameter.POSITIONAL_OR_KEYWORD
    attributes = {n: d for n, d in row.attributes.items() if n not in row.optional}
    return inspect.Signature([
        *[_required(n.removesuffix("...")) for n in row.tensors],
        *[_required(n) for n, d in attributes.items() if d is empty],
        *[inspect.Parameter(n, kind, default=None) for n in row.optional],
        *[inspect.Parameter(n, kind, default=d) for n, d in attributes.items() if d is not empty],
    ])  # fmt: skip


def _function(row: Row) -> Callable[..., Any]:
    """A Python function of a row: tensors, then attributes, all by position or keyword."""
    variadic = bool(row.tensors) and row.tensors[-1].endswith("...")
    signature = _signature(row)

    def function(*args: Any, **kwargs: Any) -> Any:
        if row.name in _TORCH_ORDER:
            args, kwargs = in_own_order(args, kwargs)
        more = expr_operators.pop_reduction_arguments(row.name, args, kwargs)
        try:
            bound = signature.bind(*args, **kwargs).arguments | more
        except TypeError as error:
            raise TypeError(
                f"{row.name}: {error}; its signature is {row.name}{signature}"
            ) from None
        operands: list[Any] = []
        for name in row.tensors:
            value = bound[name.removesuffix("...")]
            operands.extend(value) if variadic and name.endswith("...") else operands.append(value)
        expr = expr_operators.apply_function(row.name, operands, bound)
        if expr is not None:
            return expr
        attributes = {
            n: v for n, v in bound.items() if n in row.attributes and n not in row.optional
        }
        given = [n for n in row.optional if bound.get(n) is not None]
        if given:
            # One that is left out keeps its place: scalars are found by position.
            operands.extend(bound.get(n) for n in row.optional)
            attributes["optional"] = given
        return apply(row.name, operands, attributes)

    function.__name__ = row.name.rpartition(".")[2]
    function.__qualname__ = function.__name__
    parameters = [
        n if p.default is p.empty else f"{n}={p.default!r}" for n, p in signature.parameters.items()
    ]
    function.__doc__ = f"{row.name}({', '.join(parameters)})\n\n{row.doc}"
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


_F = TypeVar("_F", bound=Callable[..., Any])
_by_hand: dict[str, Callable[..., Any]] = {}


def by_hand(function: _F) -> _F:
    """Decorates what is installed instead of the function that the row of that name would give."""
    _by_hand[function.__name__] = function
    return function


def install(
    namespace: dict[str, Any], prefix: str = "", only: Sequence[str] | None = None
) -> list[str]:
    """Puts the functions of rows with this prefix ("nn.") into a module's namespace.

    ``only``: those of these names, which have a place of their own elsewhere. NumPy's functions
    find the others by their rows' names.
    """
    names = []
    for row in TABLE.values():
        head, _, tail = row.name.rpartition(".")
        if head == prefix.rstrip(".") and (only is None or tail in only):
            function = namespace[tail] = _by_hand.get(row.name) or _function(row)
            function.__module__ = namespace["__name__"]  # pickled by name
            if only is None:
                numpy_protocol.register(row.name, function)
            names.append(tail)
    return names


def names() -> list[str]:
    """The module-level operators."""
    return sorted(name for name in TABLE if "." not in name)
