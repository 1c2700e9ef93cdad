"""The site of the documents (tools/documents/site): pages of the sources, lists, navigation."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType

import adjit as aj
import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "documents" / "site"))
    return importlib.import_module("pages")


def test_python_page_has_what_the_package_exports(pages: ModuleType) -> None:
    shown = set(re.findall(r"^::: adjit\.[\w.]*\.(\w+)$", pages.python_page(), re.MULTILINE))
    exported = {
        name
        for name in aj.__all__
        if inspect.isclass(getattr(aj, name)) or inspect.isfunction(getattr(aj, name))
    }
    operators = set(aj.operators.names())
    assert exported - operators <= shown
    assert shown <= set(aj.__all__)


def test_c_page_is_the_header(pages: ModuleType) -> None:
    assert (ROOT / "bindings" / "c" / "adjit.h").read_text() in pages.c_page()


def test_home_page_says_what_it_is_and_lists_the_documents(pages: ModuleType) -> None:
    home = pages.home_page((ROOT / "docs" / "README.md").read_text())
    assert home.startswith("# adjit\n")
    assert "](pictures/tv_deblur.png)" in home
    assert "\n## Documents\n" in home and "## Install" not in home


def test_links_of_a_document_of_the_root_are_as_from_docs(pages: ModuleType) -> None:
    text = pages.root_page("CONTRIBUTING.md")
    assert "](architecture.md)" in text
    assert "](walkthrough/README.md)" in text
    assert "](../runtime/diff/README.md)" in text


def test_items_of_lists_stand_four_columns_in(pages: ModuleType) -> None:
    text = "1. a\n\n   ```sh\n   b\n   ```\n   c\n2. d\n   e\n\nf\n- g\n  h\n"
    assert pages.indented(text) == (
        "1. a\n\n    ```sh\n    b\n    ```\n    c\n\n2. d\n    e\n\nf\n- g\n    h\n"
    )


def test_navigation_has_every_document() -> None:
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text()))
    documents = {
        page.relative_to(ROOT / "docs").as_posix()
        for page in (ROOT / "docs").rglob("*.md")
        if page.parent.name != "findings"
    }
    assert documents <= listed
    assert listed - documents == {"api/python.md", "api/c.md", "architecture.md", "contributing.md"}
