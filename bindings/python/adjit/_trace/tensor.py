"""Traced tensors: what user functions are called with while they are traced.

tensor_methods.py, which stands above the operators, adds what computes: Python's operators,
indexing, NumPy's methods.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .._core import dtypes
from .._core.errors import Error
from .numpy_protocol import NumPyProtocol
from .user_line import user_place

if TYPE_CHECKING:
    from .trace import Trace


def needs_value(tensor: Tensor, what: str, remedy: str) -> Error:
    """The error where Python asks a tensor for what is not known yet."""
    return Error(
        f"{what} at {user_place()} needs the value of a traced tensor (shape {tensor.shape}, "
        f"dtype {tensor.dtype}), which is not known while '{tensor.trace.name}' is traced; {remedy}"
    )


class Tensor(NumPyProtocol):
    """A value of a trace: shape and dtype are known, elements are not."""

    __slots__ = ("dtype_number", "number", "shape", "trace")
    __array_priority__ = 1000

    def __init__(self, trace: Trace, number: int, shape: tuple[int, ...], dtype: int) -> None:
        self.trace = trace
        self.number = number
        self.shape = shape
        self.dtype_number = dtype

    @property
    def dtype(self) -> Any:
        return dtypes.to_numpy(self.dtype_number)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    def __repr__(self) -> str:
        return f"Tensor(shape={self.shape}, dtype={self.dtype}, trace='{self.trace.name}')"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a traced value of rank 0")
        return self.shape[0]

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        raise needs_value(
            self,
            "Python control flow (if, while, and, or, not)",
            "use aj.where or aj.select, or make the deciding argument static (static_argnums)",
        )

    def __int__(self) -> int:
        raise needs_value(
            self, "int()", "keep it a tensor (astype), or pass it as a static argument"
        )

    def __index__(self) -> int:
        raise needs_value(self, "use as an index", "use aj.take, or pass it as a static argument")

    def __float__(self) -> float:
        raise needs_value(self, "float()", "keep it a tensor, or pass it as a static argument")

    def __array__(self, *unused: Any, **also_unused: Any) -> Any:
        raise needs_value(self, "conversion to a NumPy array", "use adjit's functions on it")

    if TYPE_CHECKING:  # tensor_methods.install() gives it these

        def __getattr__(self, name: str) -> Any: ...

        def __getitem__(self, key: Any) -> Any: ...

        def __iter__(self) -> Iterator[Tensor]: ...
