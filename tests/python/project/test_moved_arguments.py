"""No argument of a call reads what another argument of it has moved from.

Arguments are evaluated in the order that the compiler likes: g++ goes from right to left, clang
from left to right, and there `p = f(std::move(p), number_of(p))` reads an empty value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

#: Who reads a program without naming it: members of the class that has it, and a move's entry.
READERS = {
    "program_": r"\b(stage_of|stage|nest_of)\(",
    ".program": r"\bstage\(",
    "p": r"\be(\.\w+\(|\[)",
}


def opening(text: str, at: int) -> int | None:
    """Where the innermost bracket around a place opens; None: the statement begins before."""
    depth = 0
    for k in range(at - 1, -1, -1):
        if text[k] in ")}]":
            depth += 1
        elif text[k] in "({[":
            if depth == 0:
                return k
            depth -= 1
        elif text[k] == ";" and depth == 0:
            return None
    return None


def arguments(text: str, begin: int) -> list[str]:
    """What stands between commas from behind an opening bracket to its end."""
    found, depth, start = [], 0, begin + 1
    for k in range(begin + 1, len(text)):
        if text[k] in "({[":
            depth += 1
        elif text[k] in ")}]":
            if depth == 0:
                return [*found, text[start:k]]
            depth -= 1
        elif text[k] == "," and depth == 0:
            found.append(text[start:k])
            start = k + 1
    return found


def read_beside_move(text: str) -> Iterator[tuple[int, str]]:
    """(line, argument) for each argument that reads what one beside it has moved from."""
    text = re.sub(r'"(\\.|[^"\\\n])*"|//[^\n]*', "", text)
    for move in re.finditer(r"\bstd::move\(([\w.\->*\[\]]+)\)", text):
        name = move[1]
        reads = [rf"(?<![\w.>:]){re.escape(name)}(?![\w(])"]
        reads += [reader for end, reader in READERS.items() if name.endswith(end)]
        at: int | None = move.start()
        while (at := opening(text, at or 0)) is not None:
            others = arguments(text, at)
            if text[at] == "{":
                if any(";" in of for of in others):
                    break  # a block
                # From left to right: what stands before the move is read before it.
                others = others[next(k for k, of in enumerate(others) if move[0] in of) :]
            for argument in others:
                if move[0] not in argument and any(re.search(read, argument) for read in reads):
                    yield text.count("\n", 0, move.start()) + 1, argument.strip()


def test_no_argument_reads_what_another_has_moved() -> None:
    tops = ("runtime", "autosched", "jit", "bindings", "tools", "tests")
    files = [path for top in tops for path in sorted((ROOT / top).rglob("*.[ch]pp"))]
    assert len(files) > 900
    found = [
        f"{path.relative_to(ROOT)}:{line}: {argument}"
        for path in files
        for line, argument in read_beside_move(path.read_text())
    ]
    assert found == []


def test_such_arguments_are_seen() -> None:
    seen = [
        "p = f(std::move(p), stage_of(p));",
        "p = f(g(std::move(p)), {p.size()});",
        "program_ = pack(std::move(program_), stage_of(name));",
        "c.program = fuse(std::move(c.program), c.stage(s).rank - 2);",
        'p = split(std::move(p), e.stage("stage"));',
        'p = unroll(std::move(p), stage, e["factor"].number());',
        "const P p{std::move(q), q.size()};",
        "add(std::move(parts[k]), parts[k].size());",
        "take(std::move(*p), *p);",
    ]
    fine = [
        "p = f(std::move(p), stage);",
        "add(std::move(stage.domain), stage.bodies);",
        "const P p{q.size(), std::move(q)};",
        "run(std::move(p)); use(p);",
        "f(std::move(x), [&] { return 1; });",
        'f("x", std::move(x));',
    ]
    assert [len(list(read_beside_move(text))) for text in seen] == [1] * len(seen)
    assert [list(read_beside_move(text)) for text in fine] == [[]] * len(fine)
