"""The code revision: a hash of the names and contents of the sources that make code."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "cmake" / "code_revision.cmake"


def revision(root: Path, names: list[str]) -> str:
    """What the build would write for these sources."""
    listed, output = root / "list.txt", root / "revision.cpp"
    listed.write_text("".join(f"{name}\n" for name in names))
    command = ["cmake", "-D", f"LIST={listed}", "-D", f"ROOT={root}", "-D", f"OUTPUT={output}"]
    subprocess.run([*command, "-P", str(SCRIPT)], check=True)
    found = re.search(r'kCodeRevision\[\] = "([0-9a-f]{32})"', output.read_text())
    assert found
    return found[1]


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
def test_it_depends_on_names_and_contents_only(tmp_path: Path) -> None:
    names = ["a.cpp", "b/c.hpp"]
    roots = [tmp_path / "here", tmp_path / "over" / "there"]
    for root in roots:
        (root / "b").mkdir(parents=True)
        (root / "a.cpp").write_text("int a;\n")
        (root / "b" / "c.hpp").write_text("[brackets]; ${and} \\ more\n")
    first = revision(roots[0], names)
    assert revision(roots[1], names) == first
    assert revision(roots[0], names) == first
    assert revision(roots[0], ["a.cpp"]) != first
    (roots[1] / "a.cpp").write_text("int b;\n")
    assert revision(roots[1], names) != first
    (roots[1] / "a.cpp").write_text("int a;\n")
    assert revision(roots[1], names) == first
    (roots[1] / "a.cpp").rename(roots[1] / "d.cpp")
    assert revision(roots[1], ["b/c.hpp", "d.cpp"]) != first


def test_the_build_hashes_all_that_makes_code() -> None:
    """What is listed is what lies in these folders: nothing is left out when one is added."""
    text = (ROOT / "CMakeLists.txt").read_text()
    call = re.search(r"adjit_code_revision\(([^)]*)\)", text)
    assert call
    patterns = call[1].split()[1:]
    listed = {p for pattern in patterns for p in ROOT.glob(pattern.replace("/*", "/**/*"))}
    for folder in ("runtime", "autosched", "jit"):
        for path in (ROOT / folder).rglob("*"):
            if not path.is_file() or path.is_relative_to(ROOT / "jit" / "cache"):
                continue
            if path.suffix in (".py", ".md"):  # .py: prints numbers that a header holds
                continue
            assert path in listed, f"{path} makes code, but is not in the code revision"
