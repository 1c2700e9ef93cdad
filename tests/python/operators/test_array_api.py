"""Names of the array API standard beside the operators."""

from __future__ import annotations

from typing import Any

import adjit as aj
import numpy as np
import pytest

F32 = np.array([1.0, -2.0, 4.0, 8.5], np.float32)


def test_constants() -> None:
    assert (aj.e, aj.pi, aj.inf, aj.newaxis) == (np.e, np.pi, np.inf, None) and aj.nan != aj.nan
    assert aj.jit(lambda x: x[aj.newaxis])(F32).shape == (1, 4)


def test_dtypes() -> None:
    assert aj.finfo("float32").eps == np.finfo(np.float32).eps and aj.iinfo(np.int8).max == 127
    assert aj.finfo(F32).bits == 32 and float(aj.finfo("bfloat16").eps) == 2**-7
    assert aj.isdtype(np.float16, "real floating") and not aj.isdtype("int8", "real floating")
    assert aj.isdtype("uint8", ("bool", "integral")) and aj.isdtype(np.float64, "float64")


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ((np.int8, np.uint8), "int16"),
        ((F32, np.int64), "float32"),
        ((F32, 0.5), "float32"),
        ((np.int32, 0.5), "float64"),
        ((np.float16, True, 3), "float16"),
        ((np.float64(1), 1), "float64"),
        (("bool",), "bool"),
    ],
)
def test_result_type(given: Any, wanted: str) -> None:
    assert aj.result_type(*given) == np.dtype(wanted)


def test_casts_by_promotion() -> None:
    assert aj.can_cast("int8", "int32") and aj.can_cast("int64", "float16")
    assert not aj.can_cast("float32", "float64") and not aj.can_cast(F32, "int8")
    with pytest.raises(aj.DTypeError):
        aj.result_type("float32", "float64")


def test_from_dlpack() -> None:
    torch = pytest.importorskip("torch")
    t = torch.arange(6.0).reshape(2, 3).T
    found = aj.from_dlpack(t)
    assert isinstance(found, np.ndarray) and np.shares_memory(found, t.numpy())
    np.testing.assert_array_equal(found, t.numpy())
    assert not np.shares_memory(aj.from_dlpack(t, copy=True), t.numpy())


def test_signbit_and_diff() -> None:
    x = np.array([0.0, -0.0, 3.0, -np.inf])
    np.testing.assert_array_equal(aj.signbit(x), np.signbit(x))
    y = F32.reshape(2, 2)
    for n in (0, 1, 2):
        for axis in (0, 1, -1):
            np.testing.assert_array_equal(aj.diff(y, axis=axis, n=n), np.diff(y, axis=axis, n=n))
    found = aj.diff(F32, prepend=np.zeros(1, np.float32), append=F32[:1])
    np.testing.assert_array_equal(found, np.diff(F32, prepend=0, append=F32[:1]))
    np.testing.assert_array_equal(aj.grad(lambda x: aj.sum(aj.diff(x)))(F32), [-1, 0, 0, 1])


def test_linear_algebra_has_its_names_in_both_places() -> None:
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(aj.linalg.matmul(x, x.T), x @ x.T)
    np.testing.assert_array_equal(aj.linalg.outer(x[0], x[1]), np.outer(x[0], x[1]))
    np.testing.assert_array_equal(aj.linalg.matrix_transpose(x), x.T)
    np.testing.assert_array_equal(aj.linalg.vecdot(x, x), np.sum(x * x, axis=1))
    assert float(aj.linalg.trace(x @ x.T)) == np.trace(x @ x.T)
    assert aj.linalg.diagonal(x).shape == (2,) and aj.linalg.tensordot(x, x.T, axes=1).shape == (
        2,
        2,
    )
