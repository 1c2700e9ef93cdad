"""Ahead-of-time libraries: aj.export."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ._arrays import arguments
from ._core import dtypes, pytree
from ._core.errors import Error
from ._core.library import Handle, call
from ._run.computation import lower_computation, tensor_specs
from ._run.context import checked_target, target_for
from ._run.traced import Traced
from .stages import ShapeDtype
from .transforms.grad import vjp_of


def export(
    f: Callable[..., Any],
    *args: Any,
    dir: str | os.PathLike[str],
    name: str | None = None,
    backward: bool = True,
    target: str | None = None,
) -> Path:
    """Writes ``<name>.h``, ``.c``, ``.o`` and ``lib<name>.so``; gives the library's path.

    ``args``: arrays, numbers or ShapeDtype; the library takes row-major arrays of their shapes and
    dtypes. It has two functions, described in the header: ``<name>`` (arguments, then results) and,
    where ``f`` has float arguments and results, ``<name>_backward`` (arguments, one cotangent per
    float result, then one gradient per float argument; it computes the forward again). Both need
    no adjit; for the CPU they run on the calling thread, for a GPU they put their work into a
    stream. A ``memory_budget`` of ``f`` does not bind them.

    ``target``: "cpu", or "cuda", "cuda:1" for GPUs like that one, which the library's functions
    use by its driver alone: they take addresses in its memory and a stream behind them. Without it
    ``args`` decide that lie on a GPU, then ADJIT_TARGET, then it is the CPU.

    ``name``: that of ``f``; libraries that are linked into one program, such as those of one ``f``
    for several shapes, need different ones. CompileError where there is no C compiler, Error for
    arrays that ``f`` captures.
    """
    title = getattr(f, "__name__", "f").strip("<>") if name is None else name
    leaves, structure = pytree.flatten((args, {}))
    plain = [np.zeros(x.shape, x.dtype) if isinstance(x, ShapeDtype) else x for x in leaves]
    traced = Traced(f, pytree.unflatten(structure, plain), title)
    if traced.captured:
        raise Error(
            f"export: '{title}' captures {len(traced.captured)} arrays from outside, which the "
            "library could not read; pass them as arguments"
        )
    functions = {title: traced.computation}
    inputs, outputs = (tensor_specs(traced.computation, side) for side in (False, True))
    wrt, seeded = (
        [k for k, (dtype, _) in enumerate(specs) if dtypes.is_float(dtype)]
        for specs in (inputs, outputs)
    )
    if backward and wrt and seeded:
        functions[f"{title}_backward"] = vjp_of(traced.computation, wrt, seeded, False)
    folder = Path(dir)
    target = target_for(checked_target(target), [arguments.view(x) for x in plain])
    lowered = {n: lower_computation(c, None, n, target=target) for n, c in functions.items()}
    _write(title, lowered, folder)
    return folder / f"lib{title}.so"


def _write(library: str, functions: dict[str, Handle], folder: Path) -> None:
    handles = (ctypes.c_void_p * len(functions))(*[h.value.value for h in functions.values()])
    names = (ctypes.c_char_p * len(functions))(*[n.encode() for n in functions])
    call(
        "adjit_lowered_export",
        library.encode(),
        len(functions),
        handles,
        names,
        os.fsencode(folder),
    )
