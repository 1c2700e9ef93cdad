"""What goes in comes out: torch and JAX arrays, in place, with their strides."""

from __future__ import annotations

from typing import Any

import adjit as aj
import numpy as np
import pytest
from adjit._arrays import arrays


def f(x: Any, y: Any) -> Any:
    return aj.sum(aj.sin(x) * y), x + y


def test_torch_in_torch_out() -> None:
    torch = pytest.importorskip("torch")
    x, y = torch.arange(12.0).reshape(3, 4), torch.ones(3, 4)
    total, both = aj.jit(f)(x, y)
    assert isinstance(total, torch.Tensor) and isinstance(both, torch.Tensor)
    torch.testing.assert_close(total, torch.sum(torch.sin(x)))
    gradient = aj.grad(lambda x, y: f(x, y)[0])(x, y)
    torch.testing.assert_close(gradient, torch.cos(x))
    out, pullback = aj.vjp(lambda x: x * x, x)
    assert isinstance(out, torch.Tensor)
    torch.testing.assert_close(pullback(y)[0], 2 * x)


def test_torch_inputs_are_not_copied() -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(24.0).reshape(4, 6)
    for view in (x, x.T, x[1::2, ::3], x[0].expand(3, 6), x[2:, 1]):
        seen = arrays.view(view)
        assert seen.address == view.data_ptr()
        assert seen.strides == view.stride() and seen.shape == tuple(view.shape)
        torch.testing.assert_close(aj.exp(view / 10), torch.exp(view / 10))


def test_torch_bfloat16() -> None:
    torch = pytest.importorskip("torch")
    half = torch.arange(4.0, dtype=torch.bfloat16)
    doubled = aj.jit(lambda x: x * 2)(half)
    assert doubled.dtype == torch.bfloat16
    torch.testing.assert_close(doubled, half * 2)


def test_torch_subclasses_are_tensors() -> None:
    torch = pytest.importorskip("torch")
    mine = type("Mine", (torch.Tensor,), {"__module__": "mine"})
    x = torch.arange(4.0).as_subclass(mine)
    found = aj.square(x)
    assert type(found) is torch.Tensor
    torch.testing.assert_close(found, torch.arange(4.0) ** 2)


def test_tensors_that_autograd_follows_are_refused() -> None:
    torch = pytest.importorskip("torch")
    w = torch.arange(4.0, requires_grad=True)
    square = aj.jit(lambda x: x * x)
    for call in (
        lambda: aj.square(w), lambda: square(w), lambda: square(w * 1), lambda: aj.vjp(square, w),
        lambda: aj.grad(lambda x: aj.sum(x * x))(w), aj.jit(lambda: aj.exp(w)),
    ):  # fmt: skip
        with pytest.raises(aj.Error, match=r"\.detach\(\)"):
            call()
    nested = aj.jit(lambda p: p["w"][0] * 2)
    with pytest.raises(aj.Error, match=r"p\['w'\]\[0\] of argument 0.*\.detach\(\)"):
        nested({"w": [w]})
    wanted = torch.arange(4.0) ** 2
    for _ in range(3):  # the fast way, too
        torch.testing.assert_close(square(w.detach()), wanted)
        with torch.no_grad():
            torch.testing.assert_close(square(w), wanted)
        with torch.inference_mode():
            torch.testing.assert_close(square(w), wanted)
        with pytest.raises(aj.Error, match=r"\.detach\(\)"):
            square(w)


class Metres(np.ndarray):
    """An array with a unit."""

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Any:
        return NotImplemented


MASKED = np.ma.array([1.0, 2.0, 100.0], mask=[False, False, True])
REFUSED = {
    "masked": (MASKED, "masked array"),
    "matrix": (np.asmatrix(np.ones((2, 2))), "matrix"),
    "unit": (np.ones(3).view(Metres), "Metres"),
    "structured": (np.zeros(3, [("a", float), ("b", float)]), "dtype"),
    "objects": (np.array([1.0, None]), "object"),
    "text": (np.array(["1"]), "dtype <U1"),
    "dates": (np.array(["2020-01-01"], "datetime64[D]"), "datetime64"),
    "long double": (np.ones(3, np.longdouble), "longdouble|float128"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_arrays_that_would_lose_something_are_refused(name: str) -> None:
    array, named = REFUSED[name]
    usual = aj.jit(lambda x: aj.sum(x) * 2)
    for _ in range(3):
        usual(np.ones(np.shape(array)))
    calls = [
        lambda: aj.sum(array),
        lambda: usual(array),
        lambda: aj.jit(lambda p: aj.sum(p["x"]))({"x": array}),
        lambda: aj.jit(lambda: aj.sum(array))(),
        lambda: aj.grad(lambda x: aj.sum(x))(array),
        lambda: aj.vjp(lambda x: x, array),
        lambda: aj.compute(1, lambda i: aj.at(array, *[i] * np.ndim(array))),
        lambda: aj.asarray(array),
    ]
    for call in calls:
        with pytest.raises(aj.DTypeError, match=named):
            call()
    out = np.ma.array(np.zeros(3), mask=[True, False, False])
    with pytest.raises(aj.DTypeError, match="out.*masked array"):
        aj.jit(lambda x: x * 2)(np.ones(3), out=out)


def test_other_kinds_of_arrays_are_refused_by_name() -> None:
    for module, make in (
        ("pandas", lambda m: m.Series([1.0, 2.0], index=["a", "b"])),
        ("xarray", lambda m: m.DataArray([1.0, 2.0])),
        ("scipy.sparse", lambda m: m.csr_matrix(np.eye(3))),
    ):
        found = pytest.importorskip(module) if module == "scipy.sparse" else None
        if found is None:
            try:
                found = __import__(module)
            except ImportError:
                continue
        value = make(found)
        for call in (aj.sum, aj.jit(lambda x: aj.sum(x))):
            with pytest.raises(aj.DTypeError, match=type(value).__name__):
                call(value)


def test_jax_tracers_are_refused() -> None:
    jax = pytest.importorskip("jax")
    with pytest.raises(aj.DTypeError, match="tracer"):
        jax.jit(lambda x: aj.exp(x))(jax.numpy.ones(3))


def test_torch_bad_tensors_raise() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(aj.DTypeError, match="sparse"):
        aj.exp(torch.eye(3).to_sparse())
    with pytest.raises(aj.DTypeError, match="complex"):
        aj.exp(torch.zeros(3, dtype=torch.complex64))


def test_jax_in_jax_out() -> None:
    jax = pytest.importorskip("jax")
    x, y = jax.numpy.arange(12.0).reshape(3, 4), jax.numpy.ones((3, 4))
    total, both = aj.jit(f)(x, y)
    assert isinstance(total, jax.Array) and isinstance(both, jax.Array)
    np.testing.assert_allclose(both, x + y)
    np.testing.assert_allclose(aj.grad(lambda x, y: f(x, y)[0])(x, y), np.cos(x), rtol=1e-5)
    assert arrays.view(x).address == np.asarray(x).ctypes.data


def test_numpy_layout_of_results_is_row_major() -> None:
    x = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    out = aj.jit(lambda x: x + 1)(x)
    assert isinstance(out, np.ndarray) and out.flags.c_contiguous
    assert aj.jit(lambda x: x.astype("int8"))(x).dtype == np.int8


def test_residuals_of_64_bits_survive_jax_in_32(python: Any) -> None:
    pytest.importorskip("jax")
    done = python(
        "import adjit as aj, jax.numpy as jnp\n"
        "f = lambda x: aj.max(aj.cumsum(x * x, axis=0)) * aj.take(x, aj.argmax(x))\n"
        "y, pullback = aj.vjp(f, jnp.arange(3.0))\n"
        "print(type(y).__module__[:3], *pullback(1.0)[0])",
        JAX_ENABLE_X64="0",
    )
    assert done.stdout.split() == ["jax", "0.0", "4.0", "13.0"]
