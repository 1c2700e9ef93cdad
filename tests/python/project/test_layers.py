"""Python modules import what stands below them, at the top of the file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).resolve().parents[3] / "bindings" / "python" / "adjit"

#: From the lowest; what is in none of these folders stands on all of them.
LAYERS = ("_core", "_arrays", "_trace", "_run", "transforms")

#: (file, what it imports): why it is not at the top of the file.
BELOW_THE_TOP = {
    ("_core/dtypes.py", "ml_dtypes"): "optional: only bfloat16 in NumPy needs it",
    ("_trace/array_api.py", "ml_dtypes"): "optional: only bfloat16 in NumPy needs it",
    ("demo/deblur.py", "skimage"): "takes long: examples use the functions on other pictures",
    ("demo/digits.py", "sklearn"): "takes long: examples use the functions on other data",
    ("demo/progress.py", "rich"): "optional: there is plain text without it",
}


class Import(NamedTuple):
    """One import: ``name`` is a module's full name, ``where`` one of top, types, below."""

    name: str
    where: str
    line: int


def modules(package: Path) -> dict[str, Path]:
    """{full name: file} of a package."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def layer_of(name: str) -> int:
    """How many layers a module of the package stands on."""
    folder = name.split(".")[1] if "." in name else ""
    return LAYERS.index(folder) if folder in LAYERS else len(LAYERS)


def imports(name: str, path: Path, known: set[str]) -> Iterator[Import]:
    """Imports of a module, wherever they stand; ``known``: the package's modules."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node, where in placed(ast.parse(path.read_text()).body):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, where, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(above if node.level else ()), *filter(None, [node.module])])
            for alias in node.names:
                module = f"{base}.{alias.name}"
                yield Import(module if module in known else base, where, node.lineno)


def placed(body: list[ast.stmt]) -> Iterator[tuple[ast.AST, str]]:
    """All nodes of a file: in its head, in a head's ``if TYPE_CHECKING``, or below the top.

    The head ends with the first statement that is neither an import nor the docstring. An import
    that may fail (``try``) belongs to it.
    """
    head = True
    for k, statement in enumerate(body):
        imported = isinstance(statement, ast.Import | ast.ImportFrom | ast.Try)
        docstring = k == 0 and isinstance(statement, ast.Expr)
        typing = isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING"
        head = head and (imported or docstring or typing)
        where = "types" if typing and head else "top" if head else "below"
        yield from ((node, where) for node in ast.walk(statement))


def faults(package: Path, allowed: dict[tuple[str, str], str]) -> list[str]:
    """What breaks the rules, and which of the exceptions nothing needs."""
    known = modules(package)
    used = set()
    found = []
    arrows: dict[str, set[str]] = {name: set() for name in known}
    for name, path in known.items():
        file = path.relative_to(package).as_posix()
        for one in imports(name, path, set(known)):
            own = one.name in known
            if own and layer_of(one.name) > layer_of(name):
                found.append(f"{file}:{one.line} imports {one.name}, which stands above it")
            elif own and one.where == "top":
                arrows[name].add(one.name)
            exception = file, one.name.split(".")[0]
            if one.where == "below" and exception in allowed and not own:
                used.add(exception)
            elif one.where == "below":
                found.append(f"{file}:{one.line} imports {one.name} below the top of the file")
    found += [f"a circle: {' -> '.join(circle)}" for circle in circles(arrows)]
    return found + [f"{file} does not import {name}" for file, name in set(allowed) - used]


def circles(arrows: dict[str, set[str]]) -> Iterator[list[str]]:
    """One circle for each module that closes one, in depth-first order."""
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> Iterator[list[str]]:
        if name in path:
            yield [*path[path.index(name) :], name]
        elif name not in done:
            for other in sorted(arrows[name]):
                yield from visit(other, [*path, name])
            done.add(name)

    for name in arrows:
        yield from visit(name, [])


def test_imports_run_downwards() -> None:
    """No import of a higher layer, no circle, none below the top of a file but those listed."""
    assert len(modules(PACKAGE)) > 50
    assert all((PACKAGE / layer).is_dir() for layer in LAYERS)
    assert not faults(PACKAGE, BELOW_THE_TOP)


@pytest.mark.parametrize(
    ("file", "text", "fault"),
    [
        ("_core/a.py", "from .._trace import b\n", "_core/a.py:1 imports adjit._trace.b"),
        ("_core/a.py", "from adjit._trace.b import f\n", "_core/a.py:1 imports adjit._trace.b"),
        ("_core/a.py", "from .. import top\n", "_core/a.py:1 imports adjit.top"),
        (
            "_core/a.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .._trace import b\n",
            "_core/a.py:3 imports adjit._trace.b",
        ),
        ("_trace/c.py", "from . import b\n", "adjit._trace.b -> adjit._trace.c -> adjit._trace.b"),
        ("_trace/d.py", "def f():\n    from . import b\n", "_trace/d.py:2 imports adjit._trace.b"),
        ("_trace/d.py", "x = 1\nimport json\n", "_trace/d.py:2 imports json below the top"),
        ("top.py", "import json\n", "top.py does not import json"),
    ],
)
def test_each_rule(tmp_path: Path, file: str, text: str, fault: str) -> None:
    """A package of three modules with one fault."""
    package = tmp_path / "adjit"
    files = {
        "__init__.py": "", "_core/__init__.py": "", "_trace/__init__.py": "",
        "_core/a.py": "import sys\n", "_trace/b.py": "from .._core import a\nfrom . import c\n",
        "_trace/c.py": "", "top.py": "from ._trace.b import f\ndef g():\n    import json\n",
    }  # fmt: skip
    allowed = {("top.py", "json"): "takes long"}
    for name, content in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(content)
    assert not faults(package, allowed)
    (package / file).write_text(text)
    found = faults(package, allowed)
    assert len(found) == 1 and fault in found[0], found
