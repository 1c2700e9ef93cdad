"""Arrays in a GPU's memory: PyTorch's, and those with ``__cuda_array_interface__``."""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.errors import DeviceError, DTypeError
from .._core.library import call
from .view import View


def has_interface(value: Any) -> bool:
    """Whether a value says where it lies in a GPU's memory. JAX's arrays say so only there."""
    return hasattr(value, "__cuda_array_interface__")


def view(value: Any) -> View:
    """Of an array with ``__cuda_array_interface__``, in place."""
    described = value.__cuda_array_interface__
    missing = [key for key in ("shape", "typestr", "data") if key not in described]
    if missing:
        raise DTypeError(f"an array on a GPU does not say its {' and '.join(missing)}")
    if described.get("mask") is not None:
        raise DTypeError("an array on a GPU would lose its mask; pass its data")
    dtype = np.dtype(described["typestr"])
    number = dtypes.of_numpy(dtype)
    shape = tuple(described["shape"])
    strides = described.get("strides")
    if strides is None:
        strides = [dtype.itemsize * math.prod(shape[k + 1 :]) for k in range(len(shape))]
    if any(s % dtype.itemsize for s in strides) or described["data"][0] % dtype.itemsize:
        raise DTypeError(
            "an array on a GPU is not aligned to the size of its elements; pass a copy of it"
        )
    return View(
        described["data"][0], number, shape, tuple(s // dtype.itemsize for s in strides), value,
        device_of(value),
    )  # fmt: skip


def device_of(value: Any) -> int:
    """The ordinal of the GPU that an array with the interface lies on.

    The driver knows it of an array that does not say it, neither by DLPack nor as CuPy's do. 0 of
    one without memory.
    """
    ask = getattr(value, "__dlpack_device__", None)
    if ask is not None:
        return int(ask()[1])
    number = getattr(getattr(value, "device", None), "id", None)
    if isinstance(number, int):
        return number
    address = value.__cuda_array_interface__["data"][0]
    if not address:
        return 0
    device = ctypes.c_int32()
    call("adjit_gpu_of", address, ctypes.byref(device))
    return device.value


def stream_of(views: Sequence[View]) -> int:
    """The stream in whose order arrays of a GPU are computed; 0 is the legacy default one.

    PyTorch's current one of a tensor, else that of the interface, where None asks for no order and
    1 is the legacy one. DeviceError where these are several: somebody must wait.
    """
    streams = set()
    for v in views:
        if v.device < 0:
            continue
        if has_torch_type(v.owner):
            stream = int(sys.modules["torch"].cuda.current_stream(v.device).cuda_stream)
        else:
            stream = v.owner.__cuda_array_interface__.get("stream")
        if stream is not None:
            streams.add(0 if stream == 1 else stream)
    if len(streams) > 1:
        raise DeviceError(
            f"arrays on a GPU are computed in {len(streams)} streams; synchronize them, and give "
            "arrays of one stream"
        )
    return streams.pop() if streams else 0


def has_torch_type(value: Any) -> bool:
    """Whether a value is a torch tensor."""
    kind = getattr(sys.modules.get("torch"), "Tensor", None)
    return kind is not None and isinstance(value, kind)


def copy(to: Any, array: Any) -> None:
    """Between two of CuPy's arrays on one GPU, in its current stream."""
    with sys.modules["cupy"].cuda.Device(device_of(to)):
        to[...] = array


def empty(framework: str, dtype: int, shape: tuple[int, ...], device: int) -> Any:
    """A fresh row-major array on a GPU; None for a framework that has none of its own there."""
    if framework == "torch":
        torch: Any = sys.modules["torch"]
        return torch.empty(
            shape, dtype=getattr(torch, dtypes.NAMES[dtype]), device=f"cuda:{device}"
        )
    if framework == "cupy":
        cupy: Any = sys.modules["cupy"]
        with cupy.cuda.Device(device):
            return cupy.empty(shape, dtypes.to_numpy(dtype))
    return None
