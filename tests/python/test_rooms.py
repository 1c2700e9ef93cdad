"""Sources include what stands below their room, as CMakeLists.txt lists the rooms."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def rooms() -> dict[str, set[str]]:
    """{folder: the folders that its sources may include}, by the adjit_folder calls."""
    text = (ROOT / "CMakeLists.txt").read_text()
    folders: dict[str, str] = {}
    may_include: dict[str, set[str]] = {}
    for target, folder, linked in re.findall(r"adjit_folder\((\S+) (\S+)([^)]*)\)", text):
        folder = folder.removesuffix("/**")
        folders[target] = folder
        below = {folders[name] for name in linked.split() if name in folders}
        may_include[folder] = {folder}.union(below, *(may_include[name] for name in below))
    return may_include


def room_of(path: str, known: list[str]) -> str | None:
    """The innermost room that holds a path."""
    holding = [room for room in known if path.startswith(room + "/")]
    return max(holding, key=len, default=None)


def test_includes_run_downwards() -> None:
    """A room may include itself and what it links, directly or not."""
    may_include = rooms()
    known = list(may_include)
    assert len(known) > 15
    upwards = []
    files = 0
    for top in ("runtime", "autosched", "jit"):
        for source in sorted((ROOT / top).rglob("*.[ch]pp")):
            path = source.relative_to(ROOT).as_posix()
            room = room_of(path, known)
            assert room is not None, f"{path} is in no folder of CMakeLists.txt"
            files += 1
            for included in re.findall(r'^#include "([^"]+)"', source.read_text(), re.MULTILINE):
                other = room_of(included, known)
                if other is None or other not in may_include[room]:
                    upwards.append(f"{path} includes {included}")
    assert files > 400
    assert not upwards, "\n".join(upwards)
