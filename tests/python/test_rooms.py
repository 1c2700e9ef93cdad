"""Sources include what stands below their room, as CMakeLists.txt lists the rooms."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: Sources without a test of their name, by folder. No other may be; one that gets a test leaves.
WITHOUT_A_TEST = {
    "bindings/c": "arrays boundary interpreter",
    "jit/cpu": "machine",
    "jit/emit/ir": "outlined",
    "jit/emit/math": "error_functions exponentials hyperbolic library_calls logarithms",
    "jit/engine": "cost_report export_library export_math export_source profile",
}


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


def test_every_source_has_a_test_of_its_name() -> None:
    """tests/FOLDER/NAME_test.cpp tests FOLDER/NAME.cpp, but for those listed above."""
    without: dict[str, set[str]] = {}
    sources = 0
    for top in ("runtime", "autosched", "jit", "bindings/c"):
        for source in sorted((ROOT / top).rglob("*.cpp")):
            path = source.relative_to(ROOT)
            sources += 1
            if not (ROOT / "tests" / path.parent / f"{path.stem}_test.cpp").exists():
                without.setdefault(path.parent.as_posix(), set()).add(path.stem)
    assert sources > 350
    assert without == {folder: set(names.split()) for folder, names in WITHOUT_A_TEST.items()}


def test_tests_of_the_scheduler_stand_in_its_rooms() -> None:
    """Each is beside the tests of the sources that it is about."""
    for test in sorted((ROOT / "tests" / "autosched").rglob("*_test.cpp")):
        folder = test.parent.relative_to(ROOT / "tests")
        assert any((ROOT / folder).glob("*.cpp")), f"{test} is beside no source"
