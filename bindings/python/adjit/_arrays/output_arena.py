"""Memory of large results, kept when they are dropped and given to later results of that size.

The kernel hands fresh pages out one by one, and clears them: for a result that is written once,
that takes as long as writing it. Results start on a cache line, so that vectors straddle no two,
at an offset in a page where other arrays seldom start: a processor takes loads and stores at one
offset of two pages for accesses of the same memory until it knows better.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

#: Results of fewer bytes come from NumPy's allocator, which keeps small blocks itself.
SMALLEST = 256 << 10
#: Bytes that are kept for later at most; what was dropped first goes first.
MOST_KEPT = 256 << 20

_PAGE = 4096
_STARTS = (1024, 2048, 3072)  # in a page; allocators' blocks start near 0
_kept: dict[int, Any] = {}  # arrays of bytes by id, oldest first
_lock = threading.RLock()  # a collection inside may drop more blocks


class _Owner:
    """Holds a block for the arrays in it; the block goes back when the last of them is gone."""

    __slots__ = ("__array_interface__", "block")

    def __init__(self, block: Any, size: int) -> None:
        self.block = block
        address = block.ctypes.data
        start = _STARTS[address // _PAGE % len(_STARTS)]
        self.__array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "version": 3,
            "data": (address + (start - address) % _PAGE, False),
        }

    def __del__(self) -> None:
        with _lock:
            _kept[id(self.block)] = self.block
            for key in list(_kept):
                if sum([block.nbytes for block in list(_kept.values())]) <= MOST_KEPT:
                    break
                _kept.pop(key, None)


def _forget() -> None:
    """A forked child starts without blocks, and without a lock that another thread held."""
    global _kept, _lock
    _kept, _lock = {}, threading.RLock()


os.register_at_fork(after_in_child=_forget)


def empty(size: int) -> Any:
    """A one-dimensional array of that many bytes, not initialised."""
    wanted = size + _PAGE
    with _lock:
        for key, block in reversed(list(_kept.items())):
            # A collection since may have dropped it.
            if block.nbytes == wanted and _kept.pop(key, None) is block:
                return np.asarray(_Owner(block, size))
    return np.asarray(_Owner(np.empty(wanted, np.uint8), size))
