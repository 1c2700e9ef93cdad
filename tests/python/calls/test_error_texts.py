"""What bad input is answered with, word for word: tests/python/golden/errors.txt.

A message names the operation, the user's line, what was wrong and what to do. ADJIT_UPDATE_GOLDEN=1
writes the file anew; a reader then looks at each message that changed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import adjit as aj
import numpy as np
import pytest

GOLDEN = Path(__file__).parents[1] / "golden" / "errors.txt"


def f32(*shape: int) -> np.ndarray:
    """Ones of that shape."""
    return np.ones(shape, np.float32)


def f64(*shape: int) -> np.ndarray:
    """The same in float64."""
    return np.ones(shape, np.float64)


def i64(*values: int) -> np.ndarray:
    """These numbers."""
    return np.array(values, np.int64)


def outlived() -> object:
    """Uses a tensor in another trace than its own."""
    kept: list[aj.Tensor] = []

    def keep(x: aj.Tensor) -> aj.Tensor:
        kept.append(x)
        return x

    aj.jit(keep)(f32(3))
    return aj.jit(lambda y: y + kept[0])(f32(3))


CASES: list[tuple[str, Callable[[], object]]] = [
    ("matmul of shapes that do not fit", lambda: aj.matmul(f32(3, 4), f32(5, 6))),
    ("add of shapes that do not broadcast", lambda: aj.add(f32(3), f32(4))),
    ("two float types", lambda: aj.add(f32(3), f64(3))),
    ("reshape to another count", lambda: aj.reshape(f32(3, 4), (5, 2))),
    ("reshape with two -1", lambda: aj.reshape(f32(4), (-1, -1))),
    ("axis out of range", lambda: aj.sum(f32(3, 4), axis=5)),
    ("axis named twice", lambda: aj.sum(f32(3, 4), axis=(0, 0))),
    ("transpose that is no permutation", lambda: aj.permute_dims(f32(3, 4), (0, 0))),
    ("concat of other shapes", lambda: aj.concat([f32(2, 3), f32(2, 4)], axis=0)),
    ("stack of nothing", lambda: aj.stack([])),
    ("max of nothing", lambda: aj.max(f32(0))),
    ("sin of an integer", lambda: aj.sin(i64(1, 2))),
    ("take with a float index", lambda: aj.take(f32(3), f32(2))),
    ("take out of range", lambda: aj.take(f32(3), i64(5), axis=0)),
    ("index out of range", lambda: aj.jit(lambda x: x[7])(f32(3))),
    ("too many indices", lambda: aj.jit(lambda x: x[0, 0])(f32(3))),
    ("conv of channels that differ", lambda: aj.nn.conv2d(f32(1, 3, 8, 8), f32(4, 5, 3, 3))),
    ("conv of stride 0", lambda: aj.nn.conv2d(f32(1, 3, 8, 8), f32(4, 3, 3, 3), stride=0)),
    ("pool larger than the image", lambda: aj.nn.max_pool2d(f32(1, 3, 4, 4), 9)),
    ("einsum letter with two extents", lambda: aj.einsum("ij,jk->ik", f32(3, 4), f32(5, 6))),
    ("einsum with too few operands", lambda: aj.einsum("ij,jk->ik", f32(3, 4))),
    ("einsum letter of the result unknown", lambda: aj.einsum("ij->ik", f32(3, 4))),
    (
        "cross entropy of a class that does not exist",
        lambda: aj.nn.cross_entropy(f32(2, 3), i64(0, 3)),
    ),
    ("grad of a vector", lambda: aj.grad(lambda x: x * 2)(f32(3))),
    ("grad by an integer", lambda: aj.grad(lambda x: aj.sum(x))(i64(1, 2))),
    (
        "grad of a position that is not there",
        lambda: aj.grad(lambda x: aj.sum(x), argnums=3)(f32(3)),
    ),
    ("grad by a name that is not there", lambda: aj.grad(lambda x: aj.sum(x), argnums="a")(f32(3))),
    (
        "reverse mode through a while loop",
        lambda: aj.grad(
            lambda x: aj.while_loop(lambda c: aj.sum(c) < 10.0, lambda c: c * 2.0, x).sum()
        )(f32(3)),
    ),
    ("if of a traced value", lambda: aj.jit(lambda x: x if x > 0 else -x)(f32())),
    ("float of a traced value", lambda: aj.jit(lambda x: float(x))(f32())),
    ("a result that is no array", lambda: aj.jit(lambda x: "y")(f32(3))),
    ("a masked array", lambda: aj.sin(np.ma.masked_array(f32(3), [False, True, False]))),
    ("an object array", lambda: aj.sin(np.array([1, None], object))),
    ("a complex array", lambda: aj.sin(np.ones(3, complex))),
    ("a string", lambda: aj.sin("x")),
    ("out of another shape", lambda: aj.jit(lambda x: x * 2)(f32(3), out=f32(4))),
    ("vmap over extents that differ", lambda: aj.vmap(lambda a, b: a + b)(f32(3), f32(4))),
    (
        "scan whose carry changes its shape",
        lambda: aj.scan(lambda c, x: (aj.concat([c, c]), x), f32(3), f32(4, 3)),
    ),
    ("a tensor that its trace outlives", lambda: outlived()),
    ("text that does not parse", lambda: aj.define("def f(float(N) x) -> (y) { y(i) = x(i }")),
    (
        "text with two values of a symbol",
        lambda: aj.define("def f(float(N) x, float(N) z) -> (y) { y(i) = x(i) + z(i) }").f(
            f32(3), f32(4)
        ),
    ),
    (
        "text with an unknown name",
        lambda: aj.define("def f(float(N) x) -> (y) { y(i) = z(i) }").f(f32(3)),
    ),
    (
        "an index that is not proved in range",
        lambda: aj.define("def f(float(N) x) -> (y) { y(i) = x(i + 1) where i in 0:3 }").f(f32(3)),
    ),
    ("a schedule that is no JSON", lambda: aj.lower(lambda x: x * 2, f32(3)).with_schedule("[")),
    (
        "a schedule with an unknown move",
        lambda: aj.lower(lambda x: x * 2, f32(3)).with_schedule('[{"move":"tyle"}]'),
    ),
    (
        "a schedule for a stage that is not there",
        lambda: aj.lower(lambda x: x * 2, f32(3)).with_schedule(
            '[{"move":"unroll","stage":"q","axis":0,"factor":2}]'
        ),
    ),
    ("an unknown target", lambda: aj.jit(lambda x: x * 2, target="tpu")(f32(3))),
]


def message(case: Callable[[], object]) -> str:
    """The error's type and text, with the place of the user's line left open."""
    with pytest.raises(aj.Error) as caught:
        case()
    text = f"{type(caught.value).__name__}: {caught.value}"
    return re.sub(re.escape(__file__) + r":\d+", "user.py:LINE", text)


def texts() -> dict[str, str]:
    """The file's messages by the cases' names."""
    parts = re.split(r"^# (.*)\n", GOLDEN.read_text(), flags=re.M)
    return {name: text.rstrip("\n") for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def test_the_file_has_the_cases_in_their_order() -> None:
    if os.environ.get("ADJIT_UPDATE_GOLDEN"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text("\n".join(f"# {name}\n{message(case)}\n" for name, case in CASES))
    assert list(texts()) == [name for name, _ in CASES]


@pytest.mark.parametrize(("name", "case"), CASES, ids=[name for name, _ in CASES])
def test_bad_input_is_answered_as_recorded(name: str, case: Callable[[], object]) -> None:
    assert message(case) == texts()[name]
