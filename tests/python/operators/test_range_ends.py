"""All operators at the ends of the range: what is not PyTorch's number stands in docs/numerics.md.

The rows of the table there are the only differences allowed, and each of them must occur.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from adjit.operators import TABLE

pytest.importorskip("torch")

from range_cases import CASES, WITHOUT_FLOATS
from range_ends import Difference, differences

_DOCUMENT = Path(__file__).parents[3] / "docs" / "numerics.md"


class Allowed(NamedTuple):
    """A row of the document's table."""

    operators: frozenset[str]
    what: frozenset[str]
    where: str  # an expression of the point, `ours` and `theirs`

    def allows(self, found: Difference) -> bool:
        if found.operator not in self.operators or found.what not in self.what:
            return False
        names = {**found.point, "ours": found.ours, "theirs": found.theirs}
        functions = {"isnan": math.isnan, "isinf": math.isinf, "inf": math.inf, "abs": abs}
        floor = {"floor": lambda v: v if math.isinf(v) else math.floor(v)}
        return bool(eval(self.where, {"__builtins__": {}}, {**names, **functions, **floor}))


def _table() -> list[Allowed]:
    rows = []
    section = _DOCUMENT.read_text().partition("## Ends of the range")[2].partition("\n## ")[0]
    for line in section.splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 4:
            names = frozenset(re.findall(r"`([^`]+)`", cells[0]))
            rows.append(Allowed(names, frozenset(cells[1].split(", ")), cells[2].strip("`")))
    return rows


_ALLOWED = _table()
_SWEPT = [name for name in TABLE if name not in WITHOUT_FLOATS]


def test_the_document_names_operators_that_are_swept() -> None:
    assert len(_ALLOWED) > 10
    for row in _ALLOWED:
        assert row.operators <= set(_SWEPT), row
        assert row.what and row.what <= {"value", "first", "second"}, row
    assert set(CASES) | set(WITHOUT_FLOATS) <= set(TABLE)


@pytest.mark.parametrize("name", _SWEPT)
def test_differences_are_those_of_the_document(name: str) -> None:
    used: set[Allowed] = set()
    wrong: list[str] = []
    for found in differences(TABLE[name]):
        rows = [row for row in _ALLOWED if row.allows(found)]
        used.update(rows)
        if not rows:
            wrong.append(str(found))
    assert not wrong, f"{len(wrong)} numbers are not the reference's:\n" + "\n".join(wrong[:20])
    for row in _ALLOWED:
        assert row in used or name not in row.operators, f"no longer so, remove {name} from: {row}"
