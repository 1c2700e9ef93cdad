"""Memory of large results: reused when dropped, never while somebody holds it."""

import gc
import threading

import adjit as aj
import numpy as np
import pytest
import torch
from adjit._arrays import output_arena

LARGE = (output_arena.SMALLEST // 4, 2)  # of float32: twice the smallest


def test_a_dropped_result_is_reused() -> None:
    double = aj.jit(lambda x: x * 2.0)
    x = np.ones(LARGE, np.float32)
    first = double(x).ctypes.data
    assert double(x).ctypes.data == first


def test_what_somebody_holds_is_not() -> None:
    double = aj.jit(lambda x: x * 2.0)
    x = np.ones(LARGE, np.float32)
    held = double(x)[5:9, 1]  # a view keeps the block
    for _ in range(4):
        double(3.0 * x)
    np.testing.assert_array_equal(held, 2.0)


def test_lines_of_the_cache() -> None:
    for size in (output_arena.SMALLEST, output_arena.SMALLEST + 1):
        block = output_arena.empty(size)
        assert block.ctypes.data % 64 == 0
        assert block.shape == (size,)
        assert block.flags.writeable


def test_offsets_in_pages() -> None:
    blocks = [output_arena.empty(k * output_arena.SMALLEST) for k in range(1, 10)]
    starts = [block.ctypes.data % 4096 for block in blocks]
    assert set(starts) <= {1024, 2048, 3072}
    for block in blocks:
        block[:] = 1  # all of it is there


def test_what_is_kept_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_arena, "MOST_KEPT", 4 * output_arena.SMALLEST)
    blocks = [output_arena.empty(output_arena.SMALLEST) for _ in range(9)]
    del blocks
    gc.collect()
    assert sum(block.nbytes for block in output_arena._kept.values()) <= 4 * output_arena.SMALLEST


def test_torch_results() -> None:
    double = aj.jit(lambda x: x * 2.0)
    for dtype in (torch.float32, torch.bfloat16):
        x = torch.ones(LARGE, dtype=dtype)
        y = double(x)
        assert (y.dtype, tuple(y.shape), y.is_contiguous()) == (dtype, LARGE, True)
        assert y.data_ptr() % 64 == 0
        torch.testing.assert_close(y, 2 * x)
        y += 1  # the caller's own
        torch.testing.assert_close(double(x), 2 * x)


def test_threads() -> None:
    triple = aj.jit(lambda x: x * 3.0)
    wrong: list[float] = []

    def work(value: float) -> None:
        x = np.full(LARGE, value, np.float32)
        for _ in range(20):
            y = triple(x)
            if not (y == 3 * value).all():
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
