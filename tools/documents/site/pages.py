"""Pages of the site that are made of the sources, and Markdown as MkDocs reads it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "bindings" / "python" / "adjit"
HEADER = ROOT / "bindings" / "c" / "adjit.h"


def indented(markdown: str) -> str:
    """Lists as Python-Markdown wants them.

    What belongs to an item stands four columns in; an item of paragraphs ends with an empty line.
    """
    lines: list[str] = []
    width, fenced, paragraphs = 0, False, False
    for line in markdown.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        marker = None if fenced else re.match(r"(?:-|\d+\.) ", line)
        if marker:
            if width and paragraphs and lines[-1]:
                lines.append("")
            width, paragraphs = len(marker[0]), False
        elif not line:
            paragraphs = True
        elif not line.startswith(" " * max(width, 1)):
            width = 0
        lines.append(" " * (4 - width) + line if width and line and not marker else line)
    return "\n".join(lines) + "\n"


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
