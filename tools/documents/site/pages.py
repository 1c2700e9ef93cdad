"""Pages of the site that are made of the sources, and Markdown as MkDocs reads it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "bindings" / "python" / "adjit"
HEADER = ROOT / "bindings" / "c" / "adjit.h"
# Documents of the root that are pages of the site, too.
ROOT_PAGES = {"ARCHITECTURE.md": "architecture.md", "CONTRIBUTING.md": "contributing.md"}


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


def root_page(name: str) -> str:
    """A document of the project's root, with links as they are from docs/."""

    def from_docs(link: re.Match[str]) -> str:
        address = link[1]
        if re.match(r"https?:|#", address):
            return link[0]
        if address in ROOT_PAGES:
            return f"]({ROOT_PAGES[address]})"
        return (
            f"]({address.removeprefix('docs/')})"
            if address.startswith("docs/")
            else (f"](../{address})")
        )

    return re.sub(r"\]\(([^)\s]+)\)", from_docs, (ROOT / name).read_text())


def home_page(documents: str) -> str:
    """The README up to its installation, then the list of documents (docs/README.md)."""
    introduction = root_page("README.md").partition("## Install")[0]
    return introduction + documents.replace("# Documents", "## Documents", 1)


def python_page() -> str:
    """What adjit/__init__.py imports and lists in __all__."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    exported: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            listed = node.value.elts if isinstance(node.value, ast.List) else []
            exported = {item.value for item in listed if isinstance(item, ast.Constant)}
    lines = ["# Python", "", "Operators stand in [a page of their own](../operators.md).", ""]
    # What a reader looks for first: transformations; errors last.
    imports = [n for n in tree.body if isinstance(n, ast.ImportFrom)]
    imports.sort(key=lambda n: (n.module == "_core.errors", not str(n.module).startswith("trans")))
    for node in imports:
        if not node.module:
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
