"""Which lines a change touches, and through which sources clang-tidy sees them: for tools/tidy."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path, PurePosixPath

#: First and last lines, counted from one.
Ranges = list[tuple[int, int]]
#: clang-tidy has nothing to say of these: empty lines, whole-line comments, includes of our own.
SILENT = re.compile(r'\s*(//.*|#include ".*\.h(pp)?")?\s*$')
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def git(root: Path, *arguments: str) -> str:
    """What git prints."""
    command = ["git", "-c", "core.quotePath=false", *arguments]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout


def is_source(path: str) -> bool:
    """C or C++."""
    return path.endswith((".cpp", ".hpp", ".c", ".h"))


def base_of(root: Path) -> str | None:
    """Where the branch left origin/main; the commit before, on main; None without either."""

    def commit(*arguments: str) -> str | None:
        answer = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=False
        )
        return answer.stdout.strip() or None

    fork = commit("merge-base", "HEAD", "origin/main")
    if fork is not None and fork != commit("rev-parse", "HEAD"):
        return fork
    return commit("rev-parse", "--verify", "--quiet", "HEAD^")


def added_lines(diff: str) -> dict[str, Ranges]:
    """The lines that a diff without context adds, by file. A move and a deletion add none."""
    added: dict[str, Ranges] = {}
    path = ""
    body = 0
    for line in diff.split("\n"):
        if body and line[:1] in "+-":
            body -= 1
        elif line.startswith("+++ "):
            path = line.removeprefix("+++ ").removeprefix("b/").rstrip("\t")
        elif hunk := re.match(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(hunk[2]), int(hunk[3] or 1)
            body = int(hunk[1] or 1) + count
            if count:
                added.setdefault(path, []).append((first, first + count - 1))
    return added


def without_silent(ranges: Ranges, lines: list[str]) -> Ranges:
    """The ranges without the lines that clang-tidy has nothing to say of."""
    kept: Ranges = []
    for first, last in ranges:
        for number in range(first, min(last, len(lines)) + 1):
            if SILENT.match(lines[number - 1]):
                continue
            if kept and kept[-1][1] == number - 1:
                kept[-1] = (kept[-1][0], number)
            else:
                kept.append((number, number))
    return kept


def changed_lines(root: Path, base: str) -> dict[str, Ranges]:
    """The lines of C and C++ files that differ from a commit; files git does not know, whole."""
    options = ("--unified=0", "--find-renames", "--no-color", "--no-ext-diff", "--diff-filter=d")
    changed = added_lines(git(root, "diff-index", "--patch", *options, base))
    unknown = git(root, "ls-files", "--others", "--exclude-standard").splitlines()
    kept = {}
    for path in filter(is_source, [*changed, *unknown]):
        lines = (root / path).read_text().splitlines()
        if ranges := without_silent(changed.get(path, [(1, len(lines))]), lines):
            kept[path] = ranges
    return kept


def includers(root: Path) -> dict[str, set[str]]:
    """The files that include each file, by the paths from the project's top or from their own."""
    by_file: dict[str, set[str]] = {}
    listed = git(root, "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    files = {path for path in listed if is_source(path) and (root / path).exists()}
    for path in files:
        beside = PurePosixPath(path).parent
        for included in INCLUDE.findall((root / path).read_text()):
            for target in (str(beside / included), included):
                if target in files:
                    by_file.setdefault(target, set()).add(path)
                    break
    return by_file


def source_of(
    header: str,
    including: Mapping[str, Collection[str]],
    compiled: Collection[str],
    checked: Collection[str],
) -> str | None:
    """The compiled source to check a header through; None where nothing compiled includes it.

    That of its name, else the nearest, and of those one that is checked anyway.
    """
    own = str(PurePosixPath(header).with_suffix(".cpp"))
    if own in compiled:
        return own
    seen = {header}
    level: Iterable[str] = [header]
    while level:
        level = sorted({by for path in level for by in including.get(path, ())} - seen)
        seen.update(level)
        if sources := [path for path in level if path in compiled]:
            return min(sources, key=lambda path: (path not in checked, path))
    return None


def line_filters(
    changed: Mapping[str, Ranges],
    including: Mapping[str, Collection[str]],
    compiled: Collection[str],
) -> dict[str, str]:
    """{source: its --line-filter}: its own changed lines, and those of headers seen through it."""
    seen_through: dict[str, dict[str, Ranges]] = {}
    for path, ranges in changed.items():
        if path in compiled:
            seen_through[path] = {path: ranges}
    for path, ranges in sorted(changed.items()):
        if path.endswith((".hpp", ".h")):
            source = source_of(path, including, compiled, seen_through.keys())
            if source is not None:
                seen_through.setdefault(source, {})[path] = ranges
    return {
        source: json.dumps(
            [
                {"name": f"/{path}", "lines": [list(range_) for range_ in ranges]}
                for path, ranges in files.items()
            ]
        )
        for source, files in seen_through.items()
    }
