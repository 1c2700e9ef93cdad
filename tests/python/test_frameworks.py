"""What goes in comes out: torch and JAX arrays, in place, with their strides."""

from __future__ import annotations

from typing import Any

import adjit as aj
import numpy as np
import pytest
from adjit import arrays


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


def test_torch_bfloat16_and_requires_grad() -> None:
    torch = pytest.importorskip("torch")
    x = torch.arange(4.0, requires_grad=True)
    torch.testing.assert_close(aj.square(x), torch.arange(4.0) ** 2)
    half = torch.arange(4.0, dtype=torch.bfloat16)
    doubled = aj.jit(lambda x: x * 2)(half)
    assert doubled.dtype == torch.bfloat16
    torch.testing.assert_close(doubled, half * 2)


def test_torch_subclasses_are_tensors() -> None:
    torch = pytest.importorskip("torch")
    mine = type("Mine", (torch.Tensor,), {"__module__": "mine"})
    x = torch.arange(4.0, requires_grad=True).as_subclass(mine)
    found = aj.square(x)
    assert type(found) is torch.Tensor
    torch.testing.assert_close(found, torch.arange(4.0) ** 2)


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
