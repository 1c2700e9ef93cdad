"""docs/walkthrough shows what the library prints (tools/documents/update writes it anew)."""

from __future__ import annotations

import importlib
import itertools
import os
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("ADJIT_LIBRARY", ROOT / "build" / "release" / "lib")).resolve().parent


def number_of(page: Path) -> float:
    """Of "9-gpu.md": 9; the README comes last."""
    number = page.name.partition("-")[0]
    return int(number) if number.isdigit() else float("inf")


PAGES = sorted((ROOT / "docs" / "walkthrough").glob("*.md"), key=number_of)


@pytest.fixture(scope="module")
def walkthrough() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools" / "documents"))
        return importlib.import_module("walkthrough")


@pytest.fixture(scope="module")
def blocks(walkthrough: ModuleType) -> dict[str, str]:
    if not (BUILD / "print_documents").exists():
        pytest.skip(f"{BUILD} has no print_documents")
    return walkthrough.blocks(BUILD)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_printed_blocks_are_what_the_library_prints(
    walkthrough: ModuleType, blocks: dict[str, str], page: Path
) -> None:
    text = page.read_text()
    printed = walkthrough.with_blocks(text, blocks)
    if os.environ.get("ADJIT_UPDATE_GOLDEN"):
        page.write_text(printed)
    else:
        assert text == printed, "run tools/documents/update"


def test_every_page_has_printed_blocks_and_leads_to_the_next() -> None:
    names = [page.name for page in PAGES]
    assert len(names) == 11
    for page, after in itertools.pairwise(PAGES[:-1]):
        text = page.read_text()
        assert "<!-- printed: " in text
        assert f"]({after.name})" in text


def test_every_block_is_printed_by_the_library() -> None:
    """A block that nothing prints would grow stale unseen."""
    for page in PAGES:
        text = page.read_text()
        fences = len(re.findall(r"^```\w*$", text, re.MULTILINE)) // 2
        printed = text.count("<!-- printed: ")
        assert fences == printed, f"{page.name}: {fences} blocks, {printed} of them printed"
