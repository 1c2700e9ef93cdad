"""One spelling for what adjit, PyTorch and JAX call differently: forwards of all three at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import adjit as aj
import numpy as np

from .. import optional

jax = optional.module("jax")
jnp = optional.module("jax.numpy")
torch = optional.module("torch")
lax = optional.module("jax.lax")
functional = optional.module("torch.nn.functional")


class Library:
    """The functions of one library, as NumPy would call them; others than those here are its own.

    ``x + y``, ``x @ y`` and indexing are the arrays' own. Convolutions and pools take channels
    first.
    """

    def __init__(self, own: Any) -> None:
        self.own = own

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)

    def constant(self, value: Any) -> Any:
        """A NumPy array as one of the library's."""
        return value

    def relu(self, x: Any) -> Any:
        return self.own.nn.relu(x)

    def sigmoid(self, x: Any) -> Any:
        return self.own.nn.sigmoid(x)

    def softmax(self, x: Any, axis: int = -1) -> Any:
        return self.own.nn.softmax(x, axis)

    def log_softmax(self, x: Any, axis: int = -1) -> Any:
        return self.own.nn.log_softmax(x, axis)

    def gelu(self, x: Any) -> Any:
        return 0.5 * x * (1 + self.erf(x * 0.5**0.5))

    def permute(self, x: Any, order: Sequence[int]) -> Any:
        return self.own.permute_dims(x, order)

    def layer_norm(self, x: Any, scale: Any, shift: Any) -> Any:
        """Over the last axis."""
        return self.standardized(x, -1) * scale + shift

    def batch_norm(self, x: Any, scale: Any, shift: Any) -> Any:
        """Of images, in training."""
        shape = (1, -1, 1, 1)
        y = self.standardized(x, (0, 2, 3))
        return y * self.reshape(scale, shape) + self.reshape(shift, shape)

    def standardized(self, x: Any, axis: Any) -> Any:
        """Less its mean, over its standard deviation along axes."""
        centred = x - self.mean(x, axis=axis, keepdims=True)
        variance = self.mean(centred * centred, axis=axis, keepdims=True)
        return centred / self.sqrt(variance + 1e-5)

    def fused_attention(self, q: Any, k: Any, v: Any) -> Any:
        """Over heads of any number in front; the library's own kernel, if it has one."""
        scores = (q @ self.permute(k, (0, 1, 3, 2))) * q.shape[-1] ** -0.5
        return self.softmax(scores) @ v

    def conv(
        self, x: Any, w: Any, stride: int = 1, padding: Any = 0, dilation: int = 1, groups: int = 1
    ) -> Any:
        """In as many dimensions as the weights have; ``padding``: one number, or one for each."""
        raise NotImplementedError


class _Adjit(Library):
    def conv(
        self, x: Any, w: Any, stride: int = 1, padding: Any = 0, dilation: int = 1, groups: int = 1
    ) -> Any:
        of_rank = getattr(aj.nn, f"conv{len(w.shape) - 2}d")
        return of_rank(x, w, stride=stride, padding=padding, dilation=dilation, groups=groups)

    def max_pool2d(self, x: Any, size: int) -> Any:
        return aj.nn.max_pool2d(x, size)

    def cumsum(self, x: Any, axis: int) -> Any:
        return aj.cumulative_sum(x, axis=axis)

    def cumprod(self, x: Any, axis: int) -> Any:
        return aj.cumulative_prod(x, axis=axis)

    def reflected(self, x: Any) -> Any:
        return aj.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="reflect")


class _Torch(Library):
    constant = staticmethod(torch.from_numpy)
    relu = staticmethod(functional.relu)
    sigmoid = staticmethod(torch.sigmoid)
    gelu = staticmethod(functional.gelu)
    max_pool2d = staticmethod(functional.max_pool2d)
    fused_attention = staticmethod(functional.scaled_dot_product_attention)

    def softmax(self, x: Any, axis: int = -1) -> Any:
        return functional.softmax(x, axis)

    def log_softmax(self, x: Any, axis: int = -1) -> Any:
        return functional.log_softmax(x, axis)

    def permute(self, x: Any, order: Sequence[int]) -> Any:
        return x.permute(*order)

    def layer_norm(self, x: Any, scale: Any, shift: Any) -> Any:
        return functional.layer_norm(x, x.shape[-1:], scale, shift)

    def batch_norm(self, x: Any, scale: Any, shift: Any) -> Any:
        return functional.batch_norm(x, None, None, scale, shift, training=True)

    def conv(
        self, x: Any, w: Any, stride: int = 1, padding: Any = 0, dilation: int = 1, groups: int = 1
    ) -> Any:
        of_rank = getattr(functional, f"conv{w.ndim - 2}d")
        return of_rank(x, w, stride=stride, padding=padding, dilation=dilation, groups=groups)

    def max(self, x: Any, axis: Any) -> Any:
        return torch.amax(x, axis)

    def logsumexp(self, x: Any, axis: int) -> Any:
        return torch.logsumexp(x, axis)

    def take(self, x: Any, indices: Any, axis: int) -> Any:
        assert axis == 0
        return x[indices]

    def take_along_axis(self, x: Any, indices: Any, axis: int) -> Any:
        return torch.gather(x, axis, indices)

    def flip(self, x: Any, axis: int) -> Any:
        return torch.flip(x, (axis,))

    def concat(self, arrays: Sequence[Any], axis: int) -> Any:
        return torch.cat(list(arrays), axis)

    def reflected(self, x: Any) -> Any:
        return functional.pad(x, (1, 1, 1, 1), mode="reflect")


class _Jax(Library):
    def relu(self, x: Any) -> Any:
        return jax.nn.relu(x)

    def sigmoid(self, x: Any) -> Any:
        return jax.nn.sigmoid(x)

    def softmax(self, x: Any, axis: int = -1) -> Any:
        return jax.nn.softmax(x, axis)

    def log_softmax(self, x: Any, axis: int = -1) -> Any:
        return jax.nn.log_softmax(x, axis)

    def gelu(self, x: Any) -> Any:
        return jax.nn.gelu(x, approximate=False)

    def conv(
        self, x: Any, w: Any, stride: int = 1, padding: Any = 0, dilation: int = 1, groups: int = 1
    ) -> Any:
        rank = w.ndim - 2
        around = [(p, p) for p in np.broadcast_to(padding, rank).tolist()]
        return lax.conv_general_dilated(
            x, w, (stride,) * rank, around, rhs_dilation=(dilation,) * rank,
            feature_group_count=groups,
        )  # fmt: skip

    def max_pool2d(self, x: Any, size: int) -> Any:
        window = (1, 1, size, size)
        return lax.reduce_window(x, -jnp.inf, lax.max, window, window, "VALID")

    def logsumexp(self, x: Any, axis: int) -> Any:
        return jax.nn.logsumexp(x, axis)

    def erf(self, x: Any) -> Any:
        return lax.erf(x)

    def concat(self, arrays: Sequence[Any], axis: int) -> Any:
        return jnp.concatenate(arrays, axis)

    def reflected(self, x: Any) -> Any:
        return jnp.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="reflect")


ADJIT, TORCH, JAX = _Adjit(aj), _Torch(torch), _Jax(jnp)


def in_each(forward: Callable[..., Any]) -> tuple[Any, Any, Any]:
    """A forward that takes a Library first, as one of adjit, of torch and of JAX."""

    def of(library: Library) -> Callable[..., Any]:
        return lambda *inputs: forward(library, *inputs)

    return of(ADJIT), of(TORCH), of(JAX)
