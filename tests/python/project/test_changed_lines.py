"""tools/tidy checks the lines that a change touches, and no others."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[3] / "tools"
sys.path.insert(0, str(TOOLS))
from changed_lines import base_of, changed_lines, git, includers, line_filters  # noqa: E402

BEFORE = "int one();\n\nint two();\n// of three\nint three();\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository of one commit: a source, its header, and one that only this header includes."""
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "config", "user.email", "nobody@example.org")
    git(tmp_path, "config", "user.name", "nobody")
    folder = tmp_path / "runtime"
    folder.mkdir()
    (folder / "two.hpp").write_text('#pragma once\n#include "runtime/deep.hpp"\n')
    (folder / "deep.hpp").write_text("#pragma once\nint deep();\n")
    (folder / "two.cpp").write_text('#include "runtime/two.hpp"\n' + BEFORE)
    (folder / "also.cpp").write_text('#include "two.hpp"\nint also();\n')
    commit(tmp_path)
    return tmp_path


def commit(project: Path) -> None:
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", "a change")


def filters_of(project: Path) -> dict[str, list[dict[str, object]]]:
    """The line filters of what differs from the commit."""
    compiled = {"runtime/two.cpp", "runtime/also.cpp", "runtime/moved.cpp"}
    changed = changed_lines(project, "HEAD")
    found = line_filters(changed, includers(project), compiled)
    return {source: json.loads(text) for source, text in found.items()}


def test_no_change_checks_nothing(project: Path) -> None:
    assert filters_of(project) == {}


def test_changed_and_added_lines_are_checked(project: Path) -> None:
    source = project / "runtime" / "two.cpp"
    source.write_text(
        source.read_text().replace("two();", "second();") + "int four();\nint five();\n"
    )
    assert filters_of(project) == {
        "runtime/two.cpp": [{"name": "/runtime/two.cpp", "lines": [[4, 4], [7, 8]]}]
    }


def test_removed_lines_comments_and_includes_check_nothing(project: Path) -> None:
    source = project / "runtime" / "two.cpp"
    text = source.read_text().replace("int one();\n", "").replace("// of three", "// of 3")
    source.write_text('#include "runtime/deep.hpp"\n' + text)
    assert filters_of(project) == {}


def test_a_file_that_moves_checks_what_changed_in_it(project: Path) -> None:
    git(project, "mv", "runtime/two.cpp", "runtime/moved.cpp")
    assert filters_of(project) == {}
    with (project / "runtime" / "moved.cpp").open("a") as file:
        file.write("int four();\n")
    assert filters_of(project) == {
        "runtime/moved.cpp": [{"name": "/runtime/moved.cpp", "lines": [[7, 7]]}]
    }


def test_a_file_that_git_does_not_know_is_checked_whole(project: Path) -> None:
    (project / "runtime" / "moved.cpp").write_text(BEFORE)
    (project / "notes.txt").write_text("of no interest\n")
    lines = [[1, 1], [3, 3], [5, 5]]
    assert filters_of(project) == {
        "runtime/moved.cpp": [{"name": "/runtime/moved.cpp", "lines": lines}]
    }


def test_a_header_is_checked_through_the_source_of_its_name(project: Path) -> None:
    with (project / "runtime" / "two.hpp").open("a") as file:
        file.write("int four();\n")
    assert filters_of(project) == {
        "runtime/two.cpp": [{"name": "/runtime/two.hpp", "lines": [[3, 3]]}]
    }


def test_a_header_without_a_source_is_checked_through_one_that_is_checked_anyway(
    project: Path,
) -> None:
    (project / "runtime" / "deep.hpp").write_text("#pragma once\nint deeper();\n")
    deep = {"name": "/runtime/deep.hpp", "lines": [[2, 2]]}
    assert filters_of(project) == {"runtime/also.cpp": [deep]}
    with (project / "runtime" / "two.cpp").open("a") as file:
        file.write("int four();\n")
    own = {"name": "/runtime/two.cpp", "lines": [[7, 7]]}
    assert filters_of(project) == {"runtime/two.cpp": [own, deep]}


def test_the_base_is_where_the_branch_began_or_on_main_the_commit_before(project: Path) -> None:
    first = git(project, "rev-parse", "HEAD").strip()
    assert base_of(project) is None
    git(project, "update-ref", "refs/remotes/origin/main", first)
    for name in ("three.cpp", "four.cpp"):
        (project / name).write_text(BEFORE)
        commit(project)
    assert base_of(project) == first
    git(project, "update-ref", "refs/remotes/origin/main", "HEAD")
    assert base_of(project) == git(project, "rev-parse", "HEAD^").strip()


def test_clang_tidy_fails_for_a_changed_line_and_not_for_an_old_one(project: Path) -> None:
    source = project / "runtime" / "two.cpp"
    source.write_text("int* old = 0;\nint* other = nullptr;\n")
    commit(project)

    def finds() -> str:
        line_filter = json.dumps(filters_of(project)["runtime/two.cpp"])
        checks = ["--checks=-*,modernize-use-nullptr", "--warnings-as-errors=*"]
        command = ["clang-tidy-19", "--quiet", *checks, f"--line-filter={line_filter}", str(source)]
        answer = subprocess.run([*command, "--"], capture_output=True, text=True, check=False)
        assert (answer.returncode != 0) == bool(answer.stdout)
        return answer.stdout

    source.write_text("int* old = 0;\nint* another = nullptr;\n")
    assert finds() == ""
    source.write_text("int* old = 0;\nint* other = 0;\n")
    assert "two.cpp:2:" in finds()
    assert "two.cpp:1:" not in finds()
