"""Operators on scalar expressions: their functions called with these build an expression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core.errors import Error
from .expr import Expr, apply_operation, cast, is_expr, reduce, to_expr
from .user_line import user_place

# Operators of the table that are operations on expressions, too.
_OPERATIONS = {
    "abs": "abs", "sign": "sign", "negative": "neg", "exp": "exp", "exp2": "exp2",
    "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sqrt": "sqrt", "rsqrt": "rsqrt", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin",
    "acos": "acos", "atan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
    "asinh": "asinh", "acosh": "acosh", "atanh": "atanh", "sigmoid": "sigmoid",
    "nn.sigmoid": "sigmoid", "nn.tanh": "tanh", "erf": "erf", "erfc": "erfc",
    "erfinv": "erfinv", "lgamma": "lgamma", "digamma": "digamma", "floor": "floor",
    "ceil": "ceil", "trunc": "trunc", "round": "round", "isnan": "isnan", "isinf": "isinf",
    "maximum": "max", "minimum": "min", "pow": "pow", "atan2": "atan2", "fmod": "fmod",
    "remainder": "mod", "floor_divide": "floordiv", "add": "add", "subtract": "sub",
    "multiply": "mul", "divide": "div", "logical_and": "and", "logical_or": "or",
    "logical_not": "not", "where": "select", "equal": "eq", "not_equal": "ne", "less": "lt",
    "less_equal": "le", "greater": "gt", "greater_equal": "ge", "bitwise_and": "bitand",
    "bitwise_or": "bitor", "bitwise_xor": "bitxor", "bitwise_invert": "invert",
    "bitwise_left_shift": "lshift", "bitwise_right_shift": "rshift", "hypot": "hypot",
}  # fmt: skip
_REDUCERS = ("sum", "prod", "max", "min", "argmax", "argmin", "any", "all")


def pop_reduction_arguments(
    name: str, args: Sequence[Any], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """``where`` and ``ties``, which reductions take when they reduce an expression."""
    if name not in _REDUCERS or not args or not is_expr(args[0]):
        return {}
    return {n: kwargs.pop(n) for n in ("where", "ties") if n in kwargs}


def apply_function(name: str, operands: Sequence[Any], bound: dict[str, Any]) -> Expr | None:
    """An operator's function called with expressions; None when there are none."""
    if not any(is_expr(o) for o in operands):
        return None
    if name in _REDUCERS:
        return reduce(name, operands[0], bound.get("axis"), bound.get("where"), bound.get("ties"))
    if name == "astype":
        return cast(to_expr(operands[0]), bound["dtype"])
    if name == "square":
        return apply_operation("mul", [operands[0], operands[0]])
    if name == "nn.relu":
        return apply_operation("max", [operands[0], 0])
    if name == "clip":
        return _clip(to_expr(operands[0]), bound.get("min"), bound.get("max"))
    if name not in _OPERATIONS:
        raise Error(
            f"'{name}' at {user_place()} takes tensors, not scalar expressions; make a tensor with "
            "aj.compute and apply it to that"
        )
    return apply_operation(_OPERATIONS[name], operands)


def _clip(value: Expr, low: Any, high: Any) -> Expr:
    """``value`` within its bounds, its slope 1 at them (as aj.clip's on tensors); NaN stays."""
    bounded = value
    if high is not None:
        bounded = apply_operation("select", [value > high, high, bounded])
    if low is not None:
        bounded = apply_operation("select", [value < low, low, bounded])
    return bounded
