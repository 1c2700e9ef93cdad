"""Arrays on a GPU: how they are seen, and what is refused before anything runs."""

from __future__ import annotations

from typing import Any

import adjit as aj
import numpy as np
import pytest
from adjit._arrays import arrays, gpu
from adjit._arrays.view import View
from adjit._run.context import target_for

NOWHERE = "/nowhere/libcuda.so.1"


class OnGpu:
    """Numbers that say that they lie on a GPU."""

    def __init__(self, array: Any, device: int = 0, **more: Any) -> None:
        described = {**array.__array_interface__, **more}
        del described["descr"]
        self.__cuda_array_interface__ = described
        self._device = device
        self._array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self._device


def test_arrays_with_the_interface_are_seen_in_place() -> None:
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for given in (array, array[:, ::2], array.transpose(2, 0, 1)):
        seen, same = arrays.view(OnGpu(given, device=1)), arrays.view(given)
        assert seen.layout == same.layout
        assert (seen.address, seen.device, same.device) == (same.address, 1, -1)
        assert seen.signature == (*same.signature, 1)
    assert arrays.is_array(OnGpu(array))
    assert arrays.dl_tensor(arrays.view(OnGpu(array, device=1))).device_type == 2
    assert arrays.dl_tensor(arrays.view(OnGpu(array, device=1))).device_id == 1


def test_masked_and_unaligned_arrays_are_refused() -> None:
    array = np.zeros(4, np.float32)
    with pytest.raises(aj.DTypeError, match="mask"):
        arrays.view(OnGpu(array, mask=array))
    with pytest.raises(aj.DTypeError, match="aligned"):
        arrays.view(OnGpu(array, data=(array.ctypes.data + 2, False)))


def test_their_stream_is_that_of_the_interface() -> None:
    array = np.zeros(4, np.float32)

    def views(*streams: int | None) -> list[View]:
        return [arrays.view(OnGpu(array, stream=s)) for s in streams]

    assert gpu.stream_of([arrays.view(array)]) == 0
    assert gpu.stream_of(views(None)) == 0
    assert gpu.stream_of([arrays.view(array), *views(7, 7)]) == 7
    assert gpu.stream_of(views(None, 7)) == 7, "None asks for no order"
    assert gpu.stream_of(views(None, 1)) == 0, "1 is the legacy default stream"
    with pytest.raises(aj.DeviceError, match="2 streams"):
        gpu.stream_of(views(7, 8))


def test_the_target_is_where_the_arrays_lie() -> None:
    array = np.zeros(4, np.float32)
    host, zero, one = (arrays.view(a) for a in (array, OnGpu(array), OnGpu(array, device=1)))
    assert target_for(None, [host]) is None
    assert target_for("cuda:1", [host]) == "cuda:1"
    for target in (None, "cuda", "cuda:1"):
        assert target_for(target, [host, one]) == "cuda:1"
    with pytest.raises(aj.DeviceError, match="cuda:0 and on cuda:1"):
        target_for(None, [zero, one])
    for target in ("cpu", "cuda:0"):
        with pytest.raises(aj.DeviceError, match="lies on cuda:1"):
            target_for(target, [one])


def test_without_a_driver_its_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJIT_CUDA_LIBRARY", NOWHERE)
    array = np.zeros(4, np.float32)
    for call in (
        lambda: aj.jit(lambda x: x + 1, target="cuda")(array),
        lambda: aj.lower(lambda x: x + 1, array, target="cuda:1"),
        lambda: aj.jit(lambda x: x + 1)(OnGpu(array)),
    ):
        with pytest.raises(aj.DeviceError, match=NOWHERE):
            call()


def test_arrays_on_a_gpu_take_no_results_of_the_cpu() -> None:
    array = np.zeros(4, np.float32)
    f = aj.jit(lambda x: x + 1)
    with pytest.raises(aj.DeviceError, match=r"out lies on cuda:0, but the function runs on the C"):
        f(np.ones(4, np.float32), out=OnGpu(array))
    torch = pytest.importorskip("torch")

    class Far(torch.Tensor):  # type: ignore[misc, name-defined]
        device = torch.device("cuda", 1)
        is_cuda = True

    far = torch.zeros(4).as_subclass(Far)
    with pytest.raises(aj.DeviceError, match=r"out lies on cuda:1, but the function runs on the C"):
        f(np.ones(4, np.float32), out=far)
    assert not far.as_subclass(torch.Tensor).any()
    assert not array.any()
