"""adjit: write a forward once, get a compiled backward.

import adjit as aj
loss = lambda w, x, y: aj.mean(aj.square(x @ w - y))
step = aj.jit(aj.value_and_grad(loss))
value, gradient = step(w, x, y)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import image, linalg, nn, operators, random
from ._library import library
from .batching import vmap
from .check import check_grads
from .checkpointing import checkpoint
from .control import cond, scan, while_loop
from .custom import custom_vjp
from .custom_reducer import reducer
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
from .exporting import export
from .forward import jvp
from .gradient import grad, value_and_grad
from .jacobians import hessian, jacfwd, jacobian
from .lowering import Executable, Lowered, ShapeDtype, lower
from .notation import at, compute, reduce_axis, select
from .pullback import vjp
from .pytree import register_pytree
from .runtime import compilations
from .text import define
from .tracing import Tensor
from .transforms import jit
from .tuning import Trial, TuningReport, tune

if TYPE_CHECKING:
    # Operators are made from the library's table; type checkers see them as Any.
    def __getattr__(name: str) -> Any: ...


__version__ = library.adjit_version().decode()

operators.install(globals())
from .array_api import (  # noqa: E402
    can_cast,
    diff,
    e,
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
from .notation import scatter  # noqa: E402
from .operators import (  # noqa: E402, F401
    arange,
    asarray,
    broadcast_arrays,
    cumulative_prod,
    cumulative_sum,
    einsum,
    empty,
    empty_like,
    full,
    meshgrid,
)

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
    "diff",
    "e",
    "empty",
    "empty_like",
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
    "random",
    "reduce_axis",
    "reducer",
    "register_pytree",
    "scatter",
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
