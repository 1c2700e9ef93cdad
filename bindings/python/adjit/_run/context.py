"""This process's context, and the targets that it has."""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Sequence

from .._arrays.view import View
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


def checked_target(target: str | None) -> str | None:
    """The target; DeviceError for what names none. Whether a GPU is there shows when it is used."""
    if target is None or re.fullmatch(r"cpu|cuda(:(0|[1-9]\d*))?", str(target)):
        return target
    raise DeviceError(f'there is no target {target!r}; use "cpu", "cuda" or "cuda:1"')


def target_for(target: str | None, views: Sequence[View]) -> str | None:
    """The target of a call with these arrays: where they lie, unless they lie in CPU memory.

    None: what ADJIT_TARGET says, else the CPU. DeviceError where they lie on several GPUs, or on
    another one than the target names.
    """
    devices = {v.device for v in views if v.device >= 0}
    if not devices:
        return target
    if len(devices) > 1:
        first, second, *_ = sorted(devices)
        raise DeviceError(
            f"arrays lie on cuda:{first} and on cuda:{second}; copy them to one of them"
        )
    (device,) = devices
    own = f"cuda:{device}"
    if target not in (None, "cuda", own):
        raise DeviceError(
            f"an array lies on {own}, but target={target!r} is given; copy the array, or leave the "
            "target out"
        )
    return own
