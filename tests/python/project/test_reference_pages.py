"""docs/moves.md and docs/operators.md say what the library's tables say."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from types import ModuleType

import adjit as aj
import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("ADJIT_LIBRARY", ROOT / "build" / "release" / "lib")).resolve().parent


@pytest.fixture(scope="module")
def references() -> ModuleType:
    if not (BUILD / "print_documents").exists():
        pytest.skip(f"{BUILD} has no print_documents")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools" / "documents"))
        return importlib.import_module("references")


@pytest.mark.parametrize("page", ["moves.md", "operators.md"])
def test_page_is_what_the_tables_say(references: ModuleType, page: str) -> None:
    text = references.pages(BUILD)[page]
    if os.environ.get("ADJIT_UPDATE_GOLDEN"):
        (ROOT / "docs" / page).write_text(text)
    else:
        assert (ROOT / "docs" / page).read_text() == text, "run tools/documents/update"


def test_every_operator_is_there_under_the_name_that_users_call(references: ModuleType) -> None:
    page = references.operators_page(BUILD)
    for row in references.operators(BUILD):
        family, _, name = row["name"].rpartition(".")
        assert f"| `{name}(" in page, row["name"]
        assert hasattr(getattr(aj, family) if family else aj, name), row["name"]
