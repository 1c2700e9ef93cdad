"""NumPy's functions on traced values: ``np.exp(x)``, ``array + x`` stand for adjit's operators."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .._core.errors import Error
from .user_line import user_place

# NumPy's names where the array API, whose names operators have, says otherwise.
_OPERATORS = {
    "absolute": "abs", "fabs": "abs", "power": "pow", "rint": "round", "arcsin": "asin",
    "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "arctan2": "atan2", "true_divide": "divide", "mod": "remainder",
    "invert": "bitwise_invert", "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift", "concatenate": "concat", "amax": "max", "amin": "min",
}  # fmt: skip
_PARAMETERS = {
    "a_min": "min", "a_max": "max", "indices_or_sections": "sections_or_indices",
    "reps": "repetitions", "fill_value": "value", "ddof": "correction",
}  # fmt: skip
_ATTRIBUTES = ("shape", "ndim", "size")
_functions: dict[str, Callable[..., Any]] = {}  # adjit's; operators.py registers them


class NumPyProtocol:
    """What NumPy asks a value that is no array; Error where adjit has no operator of that name."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            how = f"numpy.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
            given = "".join(f" with {name}=" for name in kwargs)
            raise _refusal(f"{how}{given}", ufunc.__name__)
        return _operator(ufunc.__name__)(*inputs)

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        name = function.__name__
        if name in _ATTRIBUTES and len(args) == 1 and not kwargs:
            return getattr(args[0], name)
        operator = _operator(_qualified(function))
        signature = inspect.signature(function)
        given = signature.bind(*args, **kwargs).arguments
        if any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values()):
            return operator(*args, **kwargs)
        if given.get("out") is None:
            given.pop("out", None)
        # The first operand is NumPy's a, adjit's x; the order of the others differs, too.
        first, *others = given
        return operator(given[first], **{_PARAMETERS.get(n, n): given[n] for n in others})


def _qualified(function: Any) -> str:
    in_linalg = function.__module__ == "numpy.linalg"
    return ("linalg." if in_linalg else "") + str(function.__name__)


def register(name: str, function: Callable[..., Any]) -> None:
    """Makes an operator's function known by its name in the operator table."""
    _functions[name] = function


def _operator(name: str) -> Callable[..., Any]:
    found = _functions.get(_OPERATORS.get(name, name))
    if found is None:
        raise _refusal(f"numpy.{name}", name)
    return found


def _refusal(what: str, name: str) -> Error:
    own = _OPERATORS.get(name, name)
    remedy = (
        f"use aj.{own}"
        if own in _functions
        else "there is no operator of that name; write it with adjit's functions (aj.exp, ...)"
    )
    return Error(
        f"{what} at {user_place()} is given a traced value, which has no elements while it is "
        f"traced; {remedy}"
    )
