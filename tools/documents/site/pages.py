"""Hooks of MkDocs: pages made of the sources, and links that lead out of docs/.

api/python.md has what `adjit` exports, by the module that defines it, from its docstrings
(operators are made when the package is loaded: operators.md); api/c.md is the C header.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "bindings" / "python" / "adjit"
HEADER = ROOT / "bindings" / "c" / "adjit.h"


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages that are in no file."""
    for name, text in (("api/python.md", python_page()), ("api/c.md", c_page())):
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """A link to a file outside docs/ becomes the file's path."""
    here = (ROOT / "docs" / page.file.src_uri).parent

    def shown(link: re.Match[str]) -> str:
        text, address = link[1], link[2]
        if re.match(r"https?:|#", address):
            return link[0]
        target = (here / address.partition("#")[0]).resolve()
        inside = target.is_relative_to(ROOT / "docs") and target.suffix not in (".txt", ".py")
        return link[0] if inside else f"{text} (`{target.relative_to(ROOT)}`)"

    return re.sub(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)", shown, markdown)


def python_page() -> str:
    """What adjit/__init__.py imports and lists in __all__."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    exported: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            listed = node.value.elts if isinstance(node.value, ast.List) else []
            exported = {item.value for item in listed if isinstance(item, ast.Constant)}
    lines = ["# Python", "", "Operators stand in [a page of their own](../operators.md).", ""]
    for node in tree.body:
        if not isinstance(node, ast.ImportFrom) or not node.module:
            continue
        source = PACKAGE / (node.module.replace(".", "/") + ".py")
        names = [a.name for a in node.names if a.name in exported]
        documented = [name for name in names if name in _definitions(source)]
        if not documented:
            continue
        docstring = ast.get_docstring(ast.parse(source.read_text())) or node.module
        lines += [f"## {docstring.splitlines()[0].rstrip('.')}", ""]
        lines += [f"::: adjit.{node.module}.{name}\n" for name in documented]
    return "\n".join(lines)


def _definitions(source: Path) -> set[str]:
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name for node in ast.parse(source.read_text()).body if isinstance(node, kinds)}


def c_page() -> str:
    """The C header; the C++ layer over it is described in the project's README."""
    return f"# C\n\nThe header `adjit/adjit.h`:\n\n```c\n{HEADER.read_text()}```\n"
