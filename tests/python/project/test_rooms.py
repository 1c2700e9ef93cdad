"""Sources include what stands below their room, say what they hold, and have a test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


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


def sources() -> list[Path]:
    """Of the rooms and of the C interface, by their paths from the project's top."""
    tops = ("runtime", "autosched", "jit", "bindings/c")
    return [p.relative_to(ROOT) for top in tops for p in sorted((ROOT / top).rglob("*.cpp"))]


def test_every_source_has_a_test_of_its_name() -> None:
    """tests/FOLDER/NAME_test.cpp tests FOLDER/NAME.cpp."""
    assert len(sources()) > 350
    tests = [ROOT / "tests" / path.parent / f"{path.stem}_test.cpp" for path in sources()]
    assert not [test for test in tests if not test.exists()]


def test_sources_and_headers_say_first_what_they_hold() -> None:
    """`// path -- one idea`, the path from the project's top."""
    silent = []
    for source in sources():
        for path in (source, source.with_suffix(".hpp")):
            if (ROOT / path).exists():
                with (ROOT / path).open() as file:
                    if not file.readline().startswith(f"// {path} --"):
                        silent.append(path)
    assert not silent


@pytest.mark.parametrize("room", ["autosched", "jit/emit"])
def test_tests_stand_in_the_rooms_of_what_they_test(room: str) -> None:
    """Each is beside the tests of the sources that it is about."""
    for test in sorted((ROOT / "tests" / room).rglob("*_test.cpp")):
        folder = test.parent.relative_to(ROOT / "tests")
        assert any((ROOT / folder).glob("*.cpp")), f"{test} is beside no source"


def test_sanitizers_are_asked_of_cmake() -> None:
    """By tests/sanitizer.hpp: g++'s own macro is undefined where LLVM's headers are read."""
    macro = "__SANITIZE" + "_"
    files = [path for path in (ROOT / "tests").rglob("*.[chd][pe][pf]") if path.is_file()]
    assert len(files) > 300
    assert [str(path) for path in files if macro in path.read_text()] == []
