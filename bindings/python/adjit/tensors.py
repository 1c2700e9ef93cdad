"""PyTorch's tensors of layouts seen before, straight to the code.

A call asks each of them whether it lies as compiled for, and for its address; making views of them
takes longer than a small kernel.
"""

from __future__ import annotations

import ctypes
import functools
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

from . import arrays, dtypes, pool
from ._library import Handle, failure, library


def _maker(dtype: int, shape: tuple[int, ...]) -> Callable[[], Any]:
    """What makes fresh row-major tensors."""
    torch: Any = sys.modules["torch"]
    if math.prod(shape) * dtypes.ITEM_SIZE[dtype] >= pool.SMALLEST:
        return lambda: arrays.empty("torch", dtype, shape)[0]
    # Half the time of torch.empty.
    return functools.partial(
        torch.empty_like, arrays.stand_in("torch", dtype, shape),
        memory_format=torch.contiguous_format,
    )  # fmt: skip


def runner(
    executable: Handle,
    inputs: Sequence[tuple[int, tuple[int, ...], tuple[int, ...]]],
    outputs: Sequence[tuple[int, tuple[int, ...]]],
) -> Callable[[Sequence[Any]], Sequence[Any] | None]:
    """What runs an executable on tensors, for fresh outputs; None unless all lie as ``inputs`` say.

    ``inputs`` are (dtype number, shape, strides in elements), ``outputs`` (dtype number, shape).
    Nothing has run where a tensor does not fit: subclasses, devices, conjugates, sparse ones, those
    without memory and those that autograd follows never do.
    """
    torch: Any = sys.modules["torch"]
    plain = (torch.Tensor, torch.nn.Parameter)
    strided = torch.strided
    wanted = [
        (getattr(torch, dtypes.NAMES[dtype]), shape, strides) for dtype, shape, strides in inputs
    ]
    makers = [_maker(dtype, shape) for dtype, shape in outputs]
    addresses_in, addresses_out = (ctypes.c_void_p * max(1, len(x)) for x in (inputs, outputs))
    run_raw = library.adjit_executable_run_raw

    def run(given: Sequence[Any]) -> Sequence[Any] | None:
        if len(given) != len(wanted):
            return None
        found = []
        for tensor, (dtype, shape, strides) in zip(given, wanted, strict=True):
            if (
                type(tensor) not in plain
                or tensor.dtype is not dtype
                or tensor.layout is not strided
                or not tensor.is_cpu
                or tensor.is_nested
                or tensor.shape != shape
                or tensor.stride() != strides
                or tensor.is_neg()
                or (tensor.requires_grad and torch.is_grad_enabled())
            ):
                return None
            address = arrays.address_of_tensor(tensor)
            if not address and tensor.numel():  # fake, functional or known zeros
                return None
            found.append(address)
        made = tuple([make() for make in makers])
        status = run_raw(
            executable.value, addresses_in(*found), addresses_out(*[t.data_ptr() for t in made])
        )
        if status:
            raise failure(status)
        return made

    return run
