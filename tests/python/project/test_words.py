"""Words of our own are not used where the field has one (docs/glossary.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

#: What is written instead of each.
INSTEAD = {
    r"(first|second|third)\scaches?(?!\sdirector)": "L1, L2, L3",
    r"dear(er|est)?": "costly, slowest, largest",
    r"(named|summed)[_ ]?rows": "indexed rows, gather_reduce",
    r"shared pairs": "values of pairs (share_pairwise)",
}


PRIVATE = re.compile(rf"\b({'|'.join(INSTEAD)})\b", re.IGNORECASE)


def private_words(path: Path) -> Iterator[re.Match[str]]:
    """Of a file, also where a comment breaks the line between two words."""
    return PRIVATE.finditer(re.sub(r"\n\s*(//+|#) ", " ", path.read_text()))


def refusals(files: list[Path]) -> list[str]:
    """ "file: word" for each private word, and what is written instead."""
    found = []
    for path in files:
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in private_words(path)]
    return [*found, *(f"{word}: {term}" for word, term in INSTEAD.items())] if found else []


def test_sources_use_the_words_of_the_field() -> None:
    """In comments and messages of the rooms and of their tests."""
    tops = ("runtime", "autosched", "jit", "bindings", "tests", "tools")
    suffixes = (".c", ".cpp", ".def", ".h", ".hpp", ".py")
    files = [
        path
        for top in tops
        for path in sorted((ROOT / top).rglob("*"))
        if path.suffix in suffixes and path != Path(__file__)
    ]
    assert len(files) > 1200
    assert refusals(files) == []


def test_documents_use_the_words_of_the_field() -> None:
    """But for the names of files, which others link to, and a second directory of the cache."""
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert len(files) > 100
    kept = {path for path in files if "glossary" in path.name}
    assert refusals([path for path in files if path not in kept]) == []


def test_private_words_are_seen(tmp_path: Path) -> None:
    file = tmp_path / "a.cpp"
    file.write_text("// the second\n// cache\nstruct NamedRows;\n// a second cache directory\n")
    assert [match[0] for match in private_words(file)] == ["second cache", "NamedRows"]
