"""Hooks of MkDocs: pages made of the sources and of the root's, links that lead out of docs/.

api/python.md has what `adjit` exports, by the module that defines it, from its docstrings
(operators are made when the package is loaded: operators.md); api/c.md is the C header.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))

import pages


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages that are not in docs/, and the style."""
    made = {"api/python.md": pages.python_page(), "api/c.md": pages.c_page()}
    made |= {page: pages.root_page(name) for name, page in pages.ROOT_PAGES.items()}
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    style = Path(__file__).with_name("site.css").read_text()
    files.append(File.generated(config, "site.css", content=style))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """A link to a file outside docs/ becomes the file's path."""
    if page.file.src_uri == "README.md":
        markdown = pages.home_page(markdown)
    here_in_docs = Path(page.file.src_uri).parent
    here = pages.ROOT / "docs" / here_in_docs

    def shown(link: re.Match[str]) -> str:
        text, address = link[1], link[2]
        if re.match(r"https?:|#", address):
            return link[0]
        target = (here / address.partition("#")[0]).resolve()
        if (name := target.relative_to(pages.ROOT).as_posix()) in pages.ROOT_PAGES:
            return f"[{text}]({os.path.relpath(pages.ROOT_PAGES[name], here_in_docs)})"
        inside = target.is_relative_to(pages.ROOT / "docs") and target.suffix not in (".txt", ".py")
        return link[0] if inside else f"{text} (`{target.relative_to(pages.ROOT)}`)"

    return pages.indented(re.sub(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)", shown, markdown))
