"""adjit: write a forward once, get a compiled backward.

import adjit as aj
loss = lambda w, x, y: aj.mean(aj.square(x @ w - y))
step = aj.jit(aj.value_and_grad(loss))
value, gradient = step(w, x, y)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import errors, image, linalg, nn, operators, pytree, random, runtime
from ._core.errors import (
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
from ._core.library import library
from ._core.pytree import register_pytree
from ._run.program import compilations
from ._trace.array_api import (
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
from ._trace.notation import at, compute, reduce_axis, select
from ._trace.tensor import Tensor
from ._trace.tensor_methods import install as _install_methods
from .check import check_grads
from .export import export
from .stages import Executable, Lowered, ShapeDtype, lower
from .text import define
from .transforms.checkpoint import checkpoint
from .transforms.control import cond, scan, while_loop
from .transforms.custom_reducer import reducer
from .transforms.custom_vjp import custom_vjp
from .transforms.grad import grad, value_and_grad
from .transforms.jacobian import hessian, jacfwd, jacobian
from .transforms.jit import jit
from .transforms.jvp import jvp
from .transforms.vjp import vjp
from .transforms.vmap import vmap
from .tuning import Trial, TuningReport, tune

if TYPE_CHECKING:
    # Operators are made from the library's table; type checkers see them as Any.
    def __getattr__(name: str) -> Any: ...


__version__ = library.adjit_version().decode()

_install_methods()
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

# Classes and functions of private folders are known by the names that users write.
for _name in __all__:
    if str(getattr(globals()[_name], "__module__", "")).startswith("adjit._"):
        globals()[_name].__module__ = "adjit"
del _name
