"""Words of our own are not used where the field has one (docs/glossary.md)."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: What is written instead of each.
INSTEAD = {
    r"(first|second|third)\scaches?": "L1, L2, L3",
    r"dear(er|est)?": "costly, slowest, largest",
    r"(named|summed) rows": "indexed rows, gather_reduce",
    r"shared pairs": "values of pairs (share_pairwise)",
}


def test_sources_use_the_words_of_the_field() -> None:
    """In comments and messages of the rooms and of their tests."""
    private = re.compile(rf"\b({'|'.join(INSTEAD)})\b", re.IGNORECASE)
    tops = ("runtime", "autosched", "jit", "bindings", "tests")
    files = [path for top in tops for path in sorted((ROOT / top).rglob("*.[chd][pe][pf]"))]
    assert len(files) > 900
    found = []
    for path in files:
        text = re.sub(r"\n\s*//+ ", " ", path.read_text())
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in private.finditer(text)]
    assert not found, "\n".join([*found, *(f"{word}: {term}" for word, term in INSTEAD.items())])
