"""Environment variables that settle how a measuring process behaves: threads, allocator, paths."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import MutableMapping
from pathlib import Path

#: glibc's allocator as it is, or keeping large blocks instead of giving their pages back.
ALLOCATORS = {
    "default": {},
    "keep": {
        "MALLOC_MMAP_MAX_": "0",
        "MALLOC_TRIM_THRESHOLD_": "16000000000",
        "MALLOC_TOP_PAD_": "1000000000",
    },
}


def hold_to(threads: int) -> None:
    """Holds this process, and those that it starts, to so many cores."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def variables(allocator: str, threads: int, cache: str) -> dict[str, str]:
    """The environment of a measuring process; ``cache`` is an empty directory."""
    count = str(threads)
    made = {
        **os.environ,
        **ALLOCATORS[allocator],
        "ADJIT_NUM_THREADS": count,
        "ADJIT_CACHE_DIR": cache,
        "OMP_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": count,
        "HL_NUM_THREADS": count,
        # Compiling in the process itself can be stopped when the budget is spent.
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
        # PyTorch's profiler says on standard error whenever it starts and stops.
        "KINETO_LOG_LEVEL": "6",
    }
    if "avx512f" in _cpu_flags():
        # On other makers' processors OpenBLAS does not choose its AVX-512 kernels by itself.
        made.setdefault("OPENBLAS_CORETYPE", "SkylakeX")
    if threads == 1:
        made["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    return made


def with_checkout(environment: MutableMapping[str, str]) -> MutableMapping[str, str]:
    """Where adjit is not installed, this checkout's is used; from any directory."""
    root = Path(__file__).parents[3]
    paths = [os.path.abspath(p) for p in environment.get("PYTHONPATH", "").split(os.pathsep) if p]
    built = root / "build" / "release" / "libadjit.so"
    if importlib.util.find_spec("adjit") is None:
        paths.append(str(root / "bindings" / "python"))
        environment.setdefault("ADJIT_LIBRARY", str(built))
    if paths:
        environment["PYTHONPATH"] = os.pathsep.join(paths)
    if library := environment.get("ADJIT_LIBRARY"):
        environment["ADJIT_LIBRARY"] = os.path.abspath(library)
    return environment


def use_checkout() -> None:
    """The same for this process and those that it starts; before the first import of adjit."""
    paths = with_checkout(os.environ).get("PYTHONPATH", "").split(os.pathsep)
    sys.path += [path for path in paths if path and path not in sys.path]


def _cpu_flags() -> set[str]:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return set()
    line = next((x for x in text.splitlines() if x.startswith("flags")), "")
    return set(line.split())
