"""The lines of functions and the methods of classes, in C++ as clang-format leaves it.

No compiler: preprocessor lines, comments and quoted text are blanked, then braces are matched and
each block is told by what stands before it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple


class Sized(NamedTuple):
    """A function and its lines, or a class and the methods that it declares."""

    name: str
    size: int


class Sizes(NamedTuple):
    """Of one file. A lambda belongs to the function that it is in."""

    functions: list[Sized]
    classes: list[Sized]


def cpp_sizes(source: str) -> Sizes:
    """Constructors, operators, and what is deleted or defaulted are methods, too."""
    sizes = Sizes([], [])
    code = _blanked(source)
    _read(code, 0, len(code), sizes)
    return sizes


def _blanked(source: str) -> str:
    """Without directives, comments and quoted text; every line stays in its place."""
    blank = re.compile(
        r'(?P<quoted>R"(?P<tag>\w*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"'
        r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+')"
        r"|//[^\n]*|/\*.*?\*/|^[ \t]*#(?:\\\n|[^\n])*",
        re.DOTALL | re.MULTILINE,
    )
    return blank.sub(lambda m: ("0" if m["quoted"] else "") + "\n" * m[0].count("\n"), source)


def _read(code: str, begin: int, end: int, sizes: Sizes) -> int:
    """The declarations of a namespace or of a class; how many of them are functions."""
    functions = 0
    for start, mark, close in _declarations(code, begin, end):
        head = code[start:mark]
        if code[mark] == ";":
            functions += _is_function(head)
        elif _opens_namespace(head):
            _read(code, mark + 1, close, sizes)
        elif _opens_class(head):
            sizes.classes.append(Sized(_name(head), _read(code, mark + 1, close, sizes)))
        elif _is_function(head):
            functions += 1
            first = start + len(head) - len(head.lstrip())
            sizes.functions.append(Sized(_name(head), code.count("\n", first, close) + 1))
    return functions


def _declarations(code: str, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(start, its semicolon or brace, the closing brace) of each.

    Braces that initialise something are a part of what stands before them.
    """
    start = position = begin
    marks = re.compile(r"[;{]")
    while match := marks.search(code, position, end):
        mark = match.start()
        close = _closing(code, mark) if code[mark] == "{" else mark
        position = close + 1
        head = code[start:mark]
        opens = _opens_namespace(head) or _opens_class(head)
        if code[mark] == ";" or opens or (_is_function(head) and not _goes_on(code, head, close)):
            yield start, mark, close
            start = position


def _closing(code: str, opening: int) -> int:
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, opening):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    raise ValueError(f"never closed: {code[opening : opening + 80]}")


def _goes_on(code: str, head: str, close: int) -> bool:
    """Whether braces behind a function's head are a default argument or a member's initialiser."""
    return head.count("(") > head.count(")") or code[close + 1 :].lstrip()[:1] in (",", "{")


def _without(opening: str, head: str, brackets: str) -> str:
    """Without what a pattern opens, up to the bracket that closes it."""
    while match := re.search(opening, head):
        depth, inside, k = 1, 0, match.end()
        while depth > 0 and k < len(head):
            if brackets == "<>":  # comparisons stand in parentheses
                inside += (head[k] == "(") - (head[k] == ")")
            if inside == 0:
                depth += (head[k] == brackets[0]) - (head[k] == brackets[1] and head[k - 1] != "-")
            k += 1
        head = head[: match.start()] + head[k:]
    return head


@functools.cache
def _plain(head: str) -> str:
    """Without attributes, access labels, arguments of templates and initial values in braces."""
    head = re.sub(r"\[\[.*?\]\]|\b(?:public|private|protected):", "", head)
    head = _without(r"\b(?:__attribute__|alignas|decltype|requires)\s*\(", head, "()")
    head = _without(r"\btemplate\s*<", head, "<>")
    head = re.sub(r"operator\s*(?:<=>|<<=?|>>=?|<=?|>=?|->\*?)", "operator", head)
    head = head.replace("->", "")
    while (shorter := re.sub(r"<[^<>;{}]*>|\{[^{}]*\}", "", head)) != head:
        head = shorter
    return head.strip()


def _opens_namespace(head: str) -> bool:
    plain = _plain(head)
    return bool(re.search(r"\bnamespace\b|\bextern 0$", plain)) and "(" not in plain


def _opens_class(head: str) -> bool:
    plain = _plain(head)
    if re.search(r"[(=]|\benum\b", plain):
        return False
    return bool(re.search(r"\b(?:class|struct|union)\b", plain))


def _is_function(head: str) -> bool:
    """Whether this stands before the body or the semicolon of a function."""
    plain = _plain(head)
    if re.match(r"(?:using|typedef|friend|static_assert|enum)\b", plain):
        return False
    before, parenthesis, after = plain.partition("(")
    if not parenthesis or after.lstrip().startswith("*"):  # a pointer to a function
        return False
    return "=" not in re.sub(r"operator\s*\S+$", "", before)


def _name(head: str) -> str:
    plain = _plain(head)
    if _opens_class(head):
        # The last word before the bases: macros of visibility stand between.
        found = re.search(
            r"\b(?:class|struct|union)\b[\w:\s]*?([\w:]*\w)\s*(?:final\s*)?(?::|$)", plain
        )
    else:
        found = re.search(r"([\w:~]+|operator\W*)\s*\(", plain)
    return found[1] if found else "unnamed"
