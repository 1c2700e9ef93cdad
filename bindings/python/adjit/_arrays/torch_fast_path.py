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

from .._core import dtypes
from .._core.library import Handle, failure, library
from . import arrays, output_arena
from .view import row_major


def _maker(dtype: int, shape: tuple[int, ...]) -> Callable[[], Any]:
    """What makes fresh row-major tensors."""
    torch: Any = sys.modules["torch"]
    if math.prod(shape) * dtypes.ITEM_SIZE[dtype] >= output_arena.SMALLEST:
        return lambda: arrays.empty("torch", dtype, shape)[0]
    # Half the time of torch.empty.
    return functools.partial(
        torch.empty_like, arrays.stand_in("torch", dtype, shape),
        memory_format=torch.contiguous_format,
    )  # fmt: skip


def _reach(dtype: int, shape: Sequence[int], strides: Sequence[int]) -> int:
    """Bytes from the first element of a tensor to behind its last."""
    if math.prod(shape) == 0:
        return 0
    last = sum((e - 1) * s for e, s in zip(shape, strides, strict=True))
    return (last + 1) * dtypes.ITEM_SIZE[dtype]


class Runner:
    """Runs an executable on tensors that all lie as compiled for; others do not fit.

    Subclasses, devices, conjugates, sparse ones, those without memory and those that autograd
    follows never fit. Where a tensor does not, nothing has run.
    """

    def __init__(
        self,
        executable: Handle,
        inputs: Sequence[tuple[int, tuple[int, ...], tuple[int, ...]]],
        outputs: Sequence[tuple[int, tuple[int, ...]]],
    ) -> None:
        """By tensor: its dtype number, shape and, of inputs, strides in elements."""
        self._executable = executable
        results = [(dtype, shape, row_major(shape)) for dtype, shape in outputs]
        self._makers = [_maker(dtype, shape) for dtype, shape in outputs]
        self._addresses = _addresser(inputs)
        self._result_addresses = _addresser(results)
        self._reaches = [_reach(*tensor) for tensor in inputs]
        self._result_reaches = [_reach(*tensor) for tensor in results]
        self._given, self._made = (ctypes.c_void_p * max(1, len(x)) for x in (inputs, outputs))

    def run(self, given: Sequence[Any]) -> Sequence[Any] | None:
        """Fresh outputs; None where a tensor does not fit."""
        found = self._addresses(given)
        if found is None:
            return None
        made = tuple([make() for make in self._makers])
        self._call(found, [tensor.data_ptr() for tensor in made])
        return made

    def run_into(self, given: Sequence[Any], outputs: Sequence[Any]) -> bool:
        """Whether all fitted; if so, these outputs are written.

        Outputs fit that are row-major and overlap neither inputs nor each other.
        """
        found, results = self._addresses(given), self._result_addresses(outputs)
        if found is None or results is None or self._overlap(found, results):
            return False
        self._call(found, results)
        mark = sys.modules["torch"].autograd.graph.increment_version
        for tensor in outputs:  # autograd must know that what it may have kept is another value now
            mark(tensor)
        return True

    def _call(self, found: Sequence[int], results: Sequence[int]) -> None:
        status = library.adjit_executable_run_raw(
            self._executable.value, self._given(*found), self._made(*results)
        )
        if status:
            raise failure(status)

    def _overlap(self, found: Sequence[int], results: Sequence[int]) -> bool:
        """Whether an output shares memory with an input or another output."""
        spans = [(a, a + n, False) for a, n in zip(found, self._reaches, strict=True) if n]
        spans += [(a, a + n, True) for a, n in zip(results, self._result_reaches, strict=True) if n]
        spans.sort()
        end = end_of_result = 0
        for begin, behind, is_result in spans:
            if begin < (end if is_result else end_of_result):
                return True
            end = max(end, behind)
            if is_result:
                end_of_result = max(end_of_result, behind)
        return False


def _addresser(
    tensors: Sequence[tuple[int, tuple[int, ...], tuple[int, ...]]],
) -> Callable[[Sequence[Any]], list[int] | None]:
    """What gives the addresses of tensors that lie so; None where one does not."""
    torch: Any = sys.modules["torch"]
    plain = (torch.Tensor, torch.nn.Parameter)
    strided = torch.strided
    wanted = [
        (getattr(torch, dtypes.NAMES[dtype]), shape, strides) for dtype, shape, strides in tensors
    ]

    def addresses(given: Sequence[Any]) -> list[int] | None:
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
        return found

    return addresses
