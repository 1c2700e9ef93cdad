"""What the documents name exists."""

from __future__ import annotations

import functools
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "runtime" / "graph" / "README.md",
    ROOT / "runtime" / "diff" / "README.md",
    ROOT / "runtime" / "trace" / "ops" / "README.md",
    ROOT / "autosched" / "README.md",
    ROOT / "jit" / "emit" / "README.md",
    ROOT / "jit" / "cache" / "README.md",
    ROOT / "jit" / "engine" / "README.md",
    ROOT / "bindings" / "python" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
FOLDERS = "|".join(("autosched", "bindings", "cmake", "docs", "jit", "runtime", "tests", "tools"))


@functools.cache
def _files_in_git() -> list[str]:
    """Those of the project, and new ones: a file that git ignores is on this machine only."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_that_are_named_exist(document: Path) -> None:
    """A path below one of the project's folders, and is of the project: git has it."""
    named = re.findall(rf"`((?:{FOLDERS})/[\w/.-]*)`", document.read_text())
    missing = [path for path in named if not (ROOT / path).exists()]
    if (ROOT / ".git").exists():
        missing += [path for path in named if not any(f.startswith(path) for f in _files_in_git())]
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


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_prose_is_wrapped(document: Path) -> None:
    """At 100 columns, but for tables, printed blocks, and lines that one link fills."""
    outside = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.M | re.S)
    long = [line for line in outside.splitlines() if len(line) > 100]
    assert not [line for line in long if not re.match(r" *\|| {4}|\S*\]\(\S+$", line)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_merge_is_half_done(document: Path) -> None:
    """No line begins with what git marks the two sides of a conflict with."""
    assert not re.findall(r"^(?:<{7}|>{7}|={7}$)", document.read_text(), flags=re.M)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_files(document: Path) -> None:
    """Relative links, without what follows a number sign."""
    outside = re.sub(r"^```.*?^```|`[^`]*`", "", document.read_text(), flags=re.M | re.S)
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", outside)
    missing = [
        link
        for link in links
        if not re.match(r"https?:", link) and not (document.parent / link).exists()
    ]
    assert not missing


@pytest.mark.parametrize(
    "document",
    [d for d in DOCUMENTS if "performance" not in d.parts and d.name != "CONTRIBUTING.md"],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_times_stand_in_performance(document: Path) -> None:
    """And rates: they grow old where nobody looks for them."""
    outside = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.M | re.S)
    assert not re.findall(r"\b[\d.,]+ ?(?:ms|us|ns|GB/s|GFLOP/s)\b", outside)


def test_findings_are_listed_by_their_titles() -> None:
    """And a title is whole: what it opens it closes, and it fits a line."""
    folder = ROOT / "docs" / "performance" / "findings"
    index = (folder.parent / "README.md").read_text()
    listed = dict(re.findall(r"^\| \[(\d{4})\]\(findings/.*?\) \| (.*) \|$", index, re.M))
    titles = {}
    for path in folder.glob("*.md"):
        number, title = path.read_text().splitlines()[0].removeprefix("# ").split(" ", 1)
        assert path.name.startswith(number)
        titles[number] = title
    assert listed == titles
    broken = [t for t in titles.values() if t.count("(") != t.count(")") or t.count("`") % 2]
    assert not broken


def test_findings_that_thresholds_name_exist() -> None:
    rows = (ROOT / "autosched" / "machine" / "thresholds.def").read_text()
    named = re.findall(r"docs/performance/findings/(\d+)", rows)
    assert named
    folder = ROOT / "docs" / "performance" / "findings"
    assert not [number for number in named if not list(folder.glob(f"{number}-*.md"))]
