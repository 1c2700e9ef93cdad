"""The pages of docs/ that are made of tables of the library: moves.md, operators.md."""

from __future__ import annotations

import ctypes
import json
import subprocess
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_INTRODUCTION = """\
Operators of `adjit` (`aj.add`), of `adjit.nn` (`aj.nn.relu`) and so on, by family. Each takes
traced tensors or arrays; arguments behind `*` are no tensors: Python takes them by keyword, or
behind the tensors by position. Shapes are those of inputs and results; the last column says the
gradient of each tensor for a cotangent `g`, or why there is none. `tools/documents/update` makes
this page of the library's table (`runtime/trace/ops`), the one that Python, C and C++ find
operators in."""


def pages(build: Path) -> dict[str, str]:
    """Each page by its file in docs/."""
    return {"moves.md": moves_page(build), "operators.md": operators_page(build)}


def moves_page(build: Path) -> str:
    """docs/moves.md."""
    command = [build / "print_documents", "moves"]
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, check=True).stdout


def operators_page(build: Path) -> str:
    """docs/operators.md."""
    rows = operators(build)
    lines = ["# Operators", "", *textwrap.wrap(_INTRODUCTION, 100), ""]
    for family in dict.fromkeys(map(_family, rows)):
        lines += [f"## {family}", "", "| operator | shapes | gradient |", "|---|---|---|"]
        lines += [_line(row) for row in rows if _family(row) == family]
        lines.append("")
    return "\n".join(lines)


def operators(build: Path) -> list[dict[str, Any]]:
    """The library's table: adjit_operators()."""
    library = ctypes.CDLL(str(build / "libadjit.so"))
    library.adjit_operators.restype = ctypes.c_char_p
    rows: list[dict[str, Any]] = json.loads(library.adjit_operators())
    return rows


def _family(row: dict[str, Any]) -> str:
    return "adjit." + row["name"].rpartition(".")[0] if "." in row["name"] else "adjit"


def _line(row: dict[str, Any]) -> str:
    name = row["name"].rpartition(".")[2]
    return _cells((f"`{name}{row['signature']}`", row["shapes"], row["gradient"]))


def _cells(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
