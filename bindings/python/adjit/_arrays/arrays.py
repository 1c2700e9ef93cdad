"""Arrays of NumPy, PyTorch, JAX and others as addresses with layouts; outputs like the inputs."""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.errors import DeviceError, DTypeError, Error
from .._core.library import DLTensor, longs
from . import gpu, output_arena
from .numpy_abi import address_of
from .view import View

_ndarray = np.ndarray  # read in every call


def _torch() -> Any:
    return sys.modules.get("torch")


def is_torch(value: Any) -> bool:
    """Whether a value is a torch tensor, of a class of the user's too."""
    kind = getattr(_torch(), "Tensor", None)  # none while another thread imports torch
    return kind is not None and isinstance(value, kind)


def is_plain_torch(kind: type) -> bool:
    """Whether a type is PyTorch's own of tensors that lie in memory."""
    torch = _torch()
    return hasattr(torch, "nn") and kind in (torch.Tensor, torch.nn.Parameter)


def address_of_tensor(tensor: Any) -> int:
    """Of a torch tensor's first element; 0 where it has no memory."""
    try:
        return int(tensor.data_ptr())
    except RuntimeError:  # of torch.func.vmap and the like
        return 0


def requires_grad(tensor: Any) -> bool:
    """Whether autograd would follow what is computed from a torch tensor now."""
    return bool(tensor.requires_grad and _torch().is_grad_enabled())


def is_array(value: Any) -> bool:
    """Whether a value is an array that views can be made of (Python scalars are not)."""
    if isinstance(value, np.ndarray):
        return True
    if isinstance(value, np.generic | bool | int | float):
        return False
    return (
        hasattr(value, "__dlpack__")
        or hasattr(value, "__array_interface__")
        or gpu.has_interface(value)
    )


def _check_plain(array: Any) -> None:
    """DTypeError for an ndarray that means more than its elements, which would be lost."""
    kind = type(array)
    if kind is np.ndarray:
        return
    if isinstance(array, np.ma.MaskedArray):
        if not np.ma.is_masked(array):  # nothing would be lost
            return
        raise DTypeError(
            "a NumPy masked array would lose its mask; pass .filled(value), or its data and its "
            "mask apart (aj.where(mask, 0.0, data))"
        )
    if isinstance(array, np.matrix):
        raise DTypeError(
            "a NumPy matrix, whose products are others than an array's; pass np.asarray(...) of it"
        )
    if kind.__array_ufunc__ is not np.ndarray.__array_ufunc__:
        raise DTypeError(
            f"a {kind.__module__}.{kind.__qualname__} computes otherwise than NumPy's arrays (a "
            "unit, say), which would be lost; pass np.asarray(...) of it"
        )


def framework_of(value: Any) -> str:
    """numpy, torch, jax or cupy: where results that go with this value belong."""
    module = type(value).__module__
    if module.startswith("torch") or is_torch(value):
        return "torch"
    if module.startswith("cupy"):
        return "cupy"
    return "jax" if module.startswith("jax") else "numpy"


def view(value: Any) -> View:
    """Zero copy for any strides that are multiples of the item size; else one copy."""
    if framework_of(value) == "torch":
        return _view_torch(value)
    if not isinstance(value, np.ndarray) and gpu.has_interface(value):
        return gpu.view(value)
    array = value if isinstance(value, np.ndarray) else _to_numpy(value)
    _check_plain(array)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    number = dtypes.of_numpy(array.dtype)
    size = array.itemsize
    if any(s % size for s in array.strides) or not array.flags.aligned:
        array = np.ascontiguousarray(array).reshape(array.shape)
        if not array.flags.aligned:
            array = array.copy()
    return View(
        address_of(array), number, array.shape, tuple(s // size for s in array.strides), array
    )


def _to_numpy(value: Any) -> Any:
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(value, getattr(jax.core, "Tracer", ())):
        raise DTypeError(
            "a JAX tracer has no elements yet; call adjit's functions outside jax.jit, jax.grad "
            "and jax.vmap"
        )
    device = getattr(value, "__dlpack_device__", None)
    if device is not None and device()[0] != 1:
        raise DeviceError(
            "an array lies on a device and has no __cuda_array_interface__; copy it to CPU memory"
        )
    if hasattr(value, "__array_interface__"):
        return np.asarray(value)
    try:
        return np.from_dlpack(value)
    except (TypeError, RuntimeError, BufferError):
        return np.asarray(value)


def _view_torch(tensor: Any) -> View:
    torch = _torch()
    if tensor.device.type not in ("cpu", "cuda"):
        raise DeviceError(
            f"a torch tensor lies on {tensor.device}; adjit runs on the CPU and on CUDA's GPUs: "
            "use .cpu()"
        )
    if requires_grad(tensor):
        raise Error(
            "a torch tensor requires a gradient, which autograd would not get through this call; "
            "pass its .detach(), or call under torch.no_grad()"
        )
    if tensor.is_nested:
        raise DTypeError("a torch tensor is nested; use .to_padded_tensor()")
    if tensor.layout != torch.strided:
        raise DTypeError("a torch tensor is sparse; use .to_dense()")
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    if tensor._is_zerotensor():
        tensor = torch.zeros(tensor.shape, dtype=tensor.dtype, device=tensor.device)
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in dtypes.NAMES:
        raise DTypeError(f"torch tensors of {tensor.dtype} are not supported")
    address = address_of_tensor(tensor)
    if not address and tensor.numel():
        raise DTypeError(
            f"a {type(tensor).__name__} of torch has no memory (it is fake, or belongs to a "
            "transformation of torch.func); call with tensors that hold numbers"
        )
    return View(
        address,
        dtypes.NAMES.index(name),
        tuple(tensor.shape),
        tuple(tensor.stride()),
        tensor,
        tensor.device.index if tensor.is_cuda else -1,
    )


def layouts_of(values: Sequence[Any]) -> tuple[Any, ...] | None:
    """Dtypes, shapes and strides (in bytes, of tensors in elements).

    None unless all values are plain ndarrays or plain tensors.
    """
    layouts = []
    for value in values:
        if type(value) is _ndarray:
            layouts.append((value.dtype, value.shape, value.strides))
        elif (
            is_plain_torch(type(value)) and value.layout is _torch().strided and not value.is_nested
        ):
            layouts.append((value.dtype, value.shape, value.stride()))
        else:
            return None
    return tuple(layouts)


class _Memory:
    """What NumPy needs to know of memory that something else owns."""

    def __init__(self, view: View) -> None:
        size = dtypes.ITEM_SIZE[view.dtype]
        self.__array_interface__ = {
            "shape": view.shape,
            "strides": tuple(size * s for s in view.strides),
            "typestr": f"|V{size}",
            "data": (view.address, False),
            "version": 3,
        }


def memory_of(view: View) -> Any:
    """An ndarray of uninterpreted elements on a view's memory, to ask where it lies."""
    return np.asarray(_Memory(view))


def is_row_major(view: View) -> bool:
    """Whether an array's elements lie one after the other, the last dimension's first."""
    stride = 1
    for extent, found in zip(reversed(view.shape), reversed(view.strides), strict=True):
        if extent > 1 and found != stride:
            return math.prod(view.shape) == 0
        stride *= extent
    return True


def empty(framework: str, dtype: int, shape: tuple[int, ...]) -> tuple[Any, int]:
    """A fresh row-major array and its address."""
    size = math.prod(shape) * dtypes.ITEM_SIZE[dtype]
    block = output_arena.empty(size) if size >= output_arena.SMALLEST else None
    if framework == "torch":
        torch = _torch()
        kind = getattr(torch, dtypes.NAMES[dtype])
        if block is None:
            tensor = torch.empty(shape, dtype=kind, device="cpu")
        else:
            tensor = torch.from_numpy(block).view(kind).view(shape)
        return tensor, tensor.data_ptr()
    kind = dtypes.to_numpy(dtype)
    array = np.empty(shape, kind) if block is None else block.view(kind).reshape(shape)
    return array, address_of(array)


def stand_in(framework: str, dtype: int, shape: tuple[int, ...]) -> Any:
    """An array like those of ``empty`` with one element in memory, not to be written."""
    if framework == "torch":
        torch = _torch()
        return torch.empty((), dtype=getattr(torch, dtypes.NAMES[dtype]), device="cpu").expand(
            shape
        )
    return np.broadcast_to(np.empty((), dtypes.to_numpy(dtype)), shape)


def finish(framework: str, array: Any) -> Any:
    """What the caller gets of an array made by ``empty``."""
    if framework == "jax":
        return sys.modules["jax"].numpy.asarray(array)
    return array


def dl_tensor(source: View) -> DLTensor:
    """A DLTensor that borrows from the view (keep both alive)."""
    code, bits = dtypes.DLPACK[source.dtype]
    tensor = DLTensor(
        source.address, 1 if source.device < 0 else 2, max(source.device, 0),
        len(source.shape), code, bits, 1,
        longs(source.shape), longs(source.strides), 0,
    )  # fmt: skip
    return tensor


def pointers(tensors: list[DLTensor]) -> Any:
    """An array of pointers to DLTensors."""
    kind = ctypes.POINTER(DLTensor)
    return (kind * max(1, len(tensors)))(*[ctypes.pointer(t) for t in tensors])
