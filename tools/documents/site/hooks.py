"""Hooks of MkDocs: pages made of the sources, and links that lead out of docs/.

api/python.md has what `adjit` exports, by the module that defines it, from its docstrings
(operators are made when the package is loaded: operators.md); api/c.md is the C header.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))

import pages


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages that are in no file."""
    for name, text in (("api/python.md", pages.python_page()), ("api/c.md", pages.c_page())):
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """A link to a file outside docs/ becomes the file's path."""
    here = (pages.ROOT / "docs" / page.file.src_uri).parent

    def shown(link: re.Match[str]) -> str:
        text, address = link[1], link[2]
        if re.match(r"https?:|#", address):
            return link[0]
        target = (here / address.partition("#")[0]).resolve()
        inside = target.is_relative_to(pages.ROOT / "docs") and target.suffix not in (".txt", ".py")
        return link[0] if inside else f"{text} (`{target.relative_to(pages.ROOT)}`)"

    return pages.indented(re.sub(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)", shown, markdown))
