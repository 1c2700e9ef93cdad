"""The disk cache across processes: the second compiles nothing, damage is a miss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PROGRAM = """
import adjit as aj
import numpy as np
x = np.arange(6.0).reshape(2, 3)
loss = lambda x: aj.sum(aj.sin(x) * x)
np.testing.assert_allclose(aj.grad(loss)(x), np.cos(x) * x + np.sin(x))
aj.runtime.flush()
print(*[r["cache"] for r in aj.compilations])
"""


def test_second_process_compiles_nothing_and_damage_is_a_miss(
    python: Any, cache_directory: Path
) -> None:
    def run(mode: str = "rw") -> str:
        done = python(PROGRAM, ADJIT_CACHE=mode, ADJIT_CACHE_DIR=str(cache_directory))
        return str(done.stdout).strip()

    assert run() == "miss"
    assert run() == "disk"
    entries = [p for p in cache_directory.rglob("*") if p.is_file()]
    assert entries
    for entry in entries:
        content = bytearray(entry.read_bytes())
        for place in range(len(content) // 3, len(content), max(1, len(content) // 7)):
            content[place] ^= 0xFF
        entry.chmod(0o600)
        entry.write_bytes(bytes(content))
    assert run("ro") == "miss"
    for entry in entries:
        if entry.exists():
            entry.write_bytes(b"")
    assert run() == "miss"


def test_same_process_hits_memory() -> None:
    import adjit as aj
    import numpy as np

    for _ in range(2):
        np.testing.assert_array_equal(
            aj.jit(lambda x: x * 3 - 1)(np.arange(5.0)), np.arange(5) * 3 - 1
        )
    # Only the last so many are kept.
    assert [r["cache"] for r in list(aj.compilations)[-2:]] == ["miss", "memory"]
