"""What the documents name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "runtime" / "diff" / "README.md",
    ROOT / "autosched" / "README.md",
    ROOT / "bindings" / "python" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
FOLDERS = "|".join(("autosched", "bindings", "cmake", "docs", "jit", "runtime", "tests", "tools"))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_that_are_named_exist(document: Path) -> None:
    """A path below one of the project's folders, with an ending."""
    named = re.findall(rf"`((?:{FOLDERS})/[\w/.-]*\.[a-z]+)`", document.read_text())
    missing = [path for path in named if not (ROOT / path).exists()]
    assert not missing


def test_types_of_the_glossary_are_declared_where_it_says() -> None:
    """`Type`, `file` in the last column: the file declares the type."""
    rows = re.findall(
        r"\| `(\w+)(?:::\w+)?`, `([\w/.]+)` \|", (ROOT / "docs" / "glossary.md").read_text()
    )
    assert len(rows) > 20
    missing = [
        f"{name} in {path}"
        for name, path in rows
        if not re.search(rf"\b(?:struct|class|enum class) {name}\b", (ROOT / path).read_text())
    ]
    assert not missing
