"""What one row of the comparison is: a forward in every framework, its inputs, its least work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import optional

ml_dtypes = optional.module("ml_dtypes")

Function = Callable[..., Any]


#: Halide's schedulers that take seconds at most for most rows; Li2018 was made for gradients.
HALIDE_SCHEDULERS = ("Li2018", "Mullapudi2016", "Adams2019")
#: Of a convolution of channels, which Adams2019 searches for a minute, greedily too.
HALIDE_SCHEDULERS_OF_CHANNELS = ("Li2018", "Mullapudi2016")


@dataclass(frozen=True)
class Work:
    """The least that a step needs; the limit of a row follows from it (limits.py).

    ``flops`` counts a multiply-add as two. ``floats`` are the numbers that cross the memory bus at
    least once: inputs, cotangent, value and gradients that are arrays of some size. ``calls`` are
    evaluations of transcendental functions, by name. ``gathers`` are reads from and updates of
    positions that depend on data.
    """

    flops: float = 0
    floats: float = 0
    calls: dict[str, float] = field(default_factory=dict)
    gathers: float = 0

    def __add__(self, other: Work) -> Work:
        names = [*self.calls, *(name for name in other.calls if name not in self.calls)]
        return Work(
            self.flops + other.flops,
            self.floats + other.floats,
            {name: self.calls.get(name, 0) + other.calls.get(name, 0) for name in names},
            self.gathers + other.gathers,
        )

    def of_size(self, size: float) -> Work:
        """The same in numbers of ``size`` bytes; smaller ones than four compute no faster."""
        slower = max(1, size / 4)
        calls = {name: count * slower for name, count in self.calls.items()}
        return Work(self.flops * slower, self.floats * size / 4, calls, self.gathers)


@dataclass(frozen=True)
class Input:
    """An array that a row draws: ``kind`` is normal, uniform (0 .. 1) or index (0 .. below)."""

    shape: tuple[int, ...]
    kind: str = "normal"
    scale: float = 1.0
    below: int = 0

    def draw(self, rng: np.random.Generator, dtype: str = "float32") -> Any:
        """Of that dtype, or int64 for indices."""
        if self.kind == "index":
            return rng.integers(0, self.below, self.shape)
        draw = rng.random if self.kind == "uniform" else rng.standard_normal
        return (self.scale * np.asarray(draw(self.shape))).astype(numpy_dtype(dtype))


#: Largest difference to another framework's result, relative to that result's largest number. Half
#: types are compared with torch's float32 on the same numbers.
TOLERANCE = {"float64": 1e-9, "float32": 1e-3, "float16": 1e-2, "bfloat16": 4e-2}


def numpy_dtype(name: str) -> Any:
    """NumPy's own, or ml_dtypes' bfloat16."""
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def is_float(dtype: Any) -> bool:
    """Whether a NumPy, torch or JAX dtype, or a tensor's of adjit, is one of floats."""
    return str(dtype).split(".")[-1] in ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True)
class Workload:
    """The same forward in each framework, taking ``inputs`` in order and giving one array.

    The step that is timed gives ``out`` and the gradients of sum(out * cotangent) for every float
    input. ``work`` is the least that the gradients alone need, ``value`` what computing and storing
    ``out`` adds to it. ``jax``, ``drjit`` and ``halide`` are None where these cannot express the
    forward, or not well; the latter two take their module first. ``blas`` gives the gradients from
    (cotangent, inputs) by NumPy's matrix products, ``blas_value`` the value from the inputs.
    ``channels_last`` says that torch may also have its four-dimensional inputs in that layout.
    """

    name: str
    inputs: tuple[Input, ...]
    work: Work
    value: Work
    ours: Function
    torch: Function
    jax: Function | None = None
    blas: Function | None = None
    blas_value: Function | None = None
    drjit: Function | None = None
    halide: Function | None = None
    halide_schedulers: tuple[str, ...] = HALIDE_SCHEDULERS
    channels_last: bool = False
    dtype: str = "float32"

    def draw(self) -> list[Any]:
        """The inputs, the same in every process."""
        rng = np.random.default_rng(0)
        return [i.draw(rng, self.dtype) for i in self.inputs]

    def named(self, name: str) -> Workload:
        """The same row under another name."""
        return replace(self, name=name)

    def of(self, dtype: str) -> Workload:
        """The row in another float type, for the frameworks that have several."""
        size = numpy_dtype(dtype).itemsize
        return replace(
            self, name=f"{self.name}_{dtype}", dtype=dtype,
            work=self.work.of_size(size), value=self.value.of_size(size),
            blas=None, drjit=None, halide=None, channels_last=False,
        )  # fmt: skip

    def least(self, with_value: bool) -> Work:
        """What a step needs at least: gradients alone, or the value, too."""
        return self.work + self.value if with_value else self.work


def differentiated(inputs: list[Any]) -> list[int]:
    """Which inputs have gradients: the float ones."""
    return [k for k, x in enumerate(inputs) if is_float(x.dtype)]


def of_floats(f: Function, inputs: list[Any]) -> tuple[Function, list[Any]]:
    """``f`` as a function of its float inputs only, and these inputs."""
    where = [k for k, x in enumerate(inputs) if is_float(x.dtype)]

    def g(*floats: Any) -> Any:
        arguments = list(inputs)
        for k, x in zip(where, floats, strict=True):
            arguments[k] = x
        return f(*arguments)

    return g, [inputs[k] for k in where]
