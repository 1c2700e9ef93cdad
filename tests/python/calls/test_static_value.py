"""Values in signatures: 1, 1.0 and True are equal in Python, but programs for them differ."""

import adjit as aj
import numpy as np
from adjit._core.static_value import StaticValue


def test_type_and_sign_tell_values_apart() -> None:
    values = [1, 1.0, True, 0.0, -0.0, (1,), (1.0,), "1", None]
    assert len({StaticValue(v) for v in values}) == len(values)
    assert StaticValue((1, "a")) == StaticValue((1, "a"))
    assert StaticValue(float("nan")) == StaticValue(float("nan"))


def test_operators_on_arrays_tell_scalars_apart() -> None:
    ones = np.ones(2)
    assert aj.divide(ones, 0.0)[0] == np.inf
    assert aj.divide(ones, -0.0)[0] == -np.inf
    integers = np.arange(3)
    assert aj.add(integers, 1).dtype == np.int64
    assert aj.add(integers, 1.0).dtype == np.float64


def test_static_arguments_are_told_apart() -> None:
    f = aj.jit(lambda x, k: x + 1 if k is True else x * k, static_argnums=1)
    x = np.arange(3)
    np.testing.assert_array_equal(f(x, 1), x)
    np.testing.assert_array_equal(f(x, True), x + 1)
    g = aj.jit(lambda x, shape: x * shape[0], static_argnames="shape")
    floats = np.ones(2)
    assert g(floats, shape=(0.0,))[0] == 0.0
    assert np.signbit(g(floats, shape=(-0.0,))[0])


def test_scalars_and_attributes_that_are_not_finite() -> None:
    x = np.array([1.0, 2.0])
    mask = np.array([True, False])
    for run in (lambda f: f(x), lambda f: aj.jit(f)(x)):
        np.testing.assert_array_equal(
            run(lambda v: aj.masked_fill(v, mask, -np.inf)), [-np.inf, 2.0]
        )
        np.testing.assert_array_equal(run(lambda v: aj.clip(v, -np.inf, 1.5)), [1.0, 1.5])
        np.testing.assert_array_equal(
            run(lambda v: aj.pad(v, 1, constant_values=np.inf)), [np.inf, 1.0, 2.0, np.inf]
        )
        assert np.isnan(run(lambda v: aj.pad(v, 1, constant_values=float("nan")))[0])
