"""Messages name the user's line: the innermost frame outside the package, whatever folder of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import adjit as aj
import numpy as np
import pytest
from adjit._trace.user_line import user_line

PACKAGE = Path(aj.__file__).parent
X = np.arange(6.0).reshape(2, 3)
HERE = Path(__file__).name

# What each layer raises when it is asked from this file.
ASKED: dict[str, Callable[[Any], Any]] = {
    "tensor": lambda x: bool(x),
    "methods": lambda x: x[0 : x[0, 0]],
    "expressions": lambda x: aj.compute((2,), lambda i: aj.sum(x[i, 0])),
    "numpy": lambda x: np.arctan2.reduce(x),
    "notation": lambda x: aj.compute((2, 3), lambda i: x[i, 0]),
    "control": lambda x: aj.while_loop(lambda c: c > 0, lambda c: c - 1, x),
    "library": lambda x: aj.matmul(x, x),
}


@pytest.mark.parametrize("transformed", [aj.jit, lambda f: aj.vmap(aj.jit(f))])
@pytest.mark.parametrize("layer", ASKED)
def test_errors_name_this_file(layer: str, transformed: Callable[..., Any]) -> None:
    f = ASKED[layer]
    argument = X if transformed is aj.jit else X[None]
    with pytest.raises(aj.Error) as found:
        transformed(f)(argument)
    line = re.search(rf"{HERE}:(\d+)", str(found.value))
    assert line, found.value
    assert int(line.group(1)) == f.__code__.co_firstlineno


@pytest.mark.parametrize(
    ("file", "is_users"),
    [
        (PACKAGE / "_trace" / "trace.py", False),
        (PACKAGE / "transforms" / "jit.py", False),
        (PACKAGE / "nn.py", False),
        (PACKAGE / "demo" / "digits.py", True),
        (PACKAGE.parent / "adjit_models" / "layers.py", True),
        (PACKAGE.parent / "adjit.py", True),
    ],
)
def test_which_files_are_users(file: Path, is_users: bool) -> None:
    scope: dict[str, Any] = {}
    exec(compile("def call(f):\n    return f()\n", str(file), "exec"), scope)
    found = scope["call"](user_line)
    assert found == (str(file), 2) if is_users else found[0] == __file__
