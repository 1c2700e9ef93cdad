"""This process's context, and the targets that it has."""

from __future__ import annotations

import ctypes
import functools

from .._core import interrupts
from .._core.errors import DeviceError
from .._core.library import ContextOptions, Handle, call, library


@functools.cache
def context() -> Handle:
    """This process's context, made when first needed from the environment (docs/environment.md)."""
    options = ContextOptions(struct_size=ctypes.sizeof(ContextOptions))
    options.cancel, options.cancel_user = interrupts.hook(library)
    return Handle("context", lambda out: call("adjit_context_create", ctypes.byref(options), out))


def flush() -> None:
    """Blocks until the disk cache's queue is written."""
    call("adjit_context_flush", context().value)


def check_cpu(target: str | None) -> None:
    """DeviceError for targets that this version has no code for."""
    if target is None or target == "cpu":
        return
    if str(target).startswith("cuda"):
        raise DeviceError(
            f"target={target!r}: this version of adjit generates code for the CPU only; "
            'use target="cpu" or leave it out'
        )
    raise DeviceError(f'there is no target {target!r}; use "cpu"')
