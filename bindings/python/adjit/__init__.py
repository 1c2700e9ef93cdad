"""adjit: write a forward once, get a compiled backward.

import adjit as aj
loss = lambda w, x, y: aj.mean(aj.square(x @ w - y))
step = aj.jit(aj.value_and_grad(loss))
value, gradient = step(w, x, y)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import errors, image, linalg, nn, operators, pytree, random, runtime, tensor_methods
from ._library import library
from .array_api import (
    asarray,
    can_cast,
    cumulative_prod,
    cumulative_sum,
    diff,
    e,
    empty,
    empty_like,
    finfo,
    from_dlpack,
    iinfo,
    inf,
    isdtype,
    nan,
    newaxis,
    pi,
    result_type,
    signbit,
)
from .check import check_grads
from .checkpoint import checkpoint
from .control import cond, scan, while_loop
from .custom_reducer import reducer
from .custom_vjp import custom_vjp
from .errors import (
    BoundsError,
    CacheError,
    CancelledError,
    CompileError,
    DeviceError,
    DTypeError,
    Error,
    InternalError,
    NotDifferentiableError,
    OutOfMemoryError,
    ParseError,
    ScheduleError,
    ShapeError,
)
from .export import export
from .grad import grad, value_and_grad
from .jacobian import hessian, jacfwd, jacobian
from .jit import jit
from .jvp import jvp
from .notation import at, compute, reduce_axis, select
from .program import compilations
from .pytree import register_pytree
from .stages import Executable, Lowered, ShapeDtype, lower
from .tensor import Tensor
from .text import define
from .tuning import Trial, TuningReport, tune
from .vjp import vjp
from .vmap import vmap

if TYPE_CHECKING:
    # Operators are made from the library's table; type checkers see them as Any.
    def __getattr__(name: str) -> Any: ...


__version__ = library.adjit_version().decode()

tensor_methods.install()
operators.install(globals())

__all__ = [
    "BoundsError",
    "CacheError",
    "CompileError",
    "DTypeError",
    "DeviceError",
    "Error",
    "Executable",
    "CancelledError",
    "InternalError",
    "Lowered",
    "NotDifferentiableError",
    "OutOfMemoryError",
    "ParseError",
    "ScheduleError",
    "Trial",
    "TuningReport",
    "ShapeDtype",
    "ShapeError",
    "Tensor",
    "asarray",
    "at",
    "can_cast",
    "check_grads",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "e",
    "empty",
    "empty_like",
    "errors",
    "finfo",
    "from_dlpack",
    "iinfo",
    "inf",
    "isdtype",
    "nan",
    "newaxis",
    "pi",
    "result_type",
    "signbit",
    "compilations",
    "compute",
    "define",
    "export",
    "grad",
    "hessian",
    "image",
    "jacfwd",
    "jacobian",
    "jit",
    "jvp",
    "linalg",
    "lower",
    "nn",
    "operators",
    "pytree",
    "random",
    "reduce_axis",
    "reducer",
    "register_pytree",
    "runtime",
    "select",
    "tune",
    "value_and_grad",
    "vjp",
    "vmap",
    "checkpoint",
    "cond",
    "custom_vjp",
    "scan",
    "while_loop",
    *operators.names(),
]
