"""Numerical checks of derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._arrays import arrays
from ._core import pytree
from ._core.errors import Error
from .transforms.jit import jit
from .transforms.jvp import jvp
from .transforms.vjp import vjp

_STEP = 1e-5  # of the central differences: their error is about 1e-10


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = ("fwd", "rev"),
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Compares derivatives of ``f`` at float64 ``args`` with central differences.

    Along a random direction v: mode "fwd" tests jvp(f, args, v) against
    (f(x + h v) - f(x - h v)) / 2h element by element, mode "rev" <pullback(cotangent), v> against
    that contracted with a random cotangent. For ``order`` n > 1 the derivatives that each mode
    gives are tested the same way, by all modes, to order n - 1. Raises AssertionError naming mode,
    order and both numbers. ``rtol`` and ``atol`` default to 1e-6.
    """
    unknown = [m for m in modes if m not in ("fwd", "rev")]
    if unknown or not modes:
        raise Error(f'check_grads: modes must be of "fwd" and "rev", not {tuple(modes)!r}')
    if order < 1:
        raise Error(f"check_grads: order must be at least 1, not {order}")
    leaves, structure = pytree.flatten(tuple(args))
    for leaf in leaves:
        if np.asarray(leaf).dtype != np.float64:
            raise Error("check_grads needs float64 arguments")

    def flat(*given: Any) -> list[Any]:
        return pytree.flatten(f(*pytree.unflatten(structure, given)))[0]

    check = _Check(
        tuple(modes), 1e-6 if rtol is None else rtol, 1e-6 if atol is None else atol,
        np.random.default_rng(0),
    )  # fmt: skip
    check(flat, [np.asarray(x) for x in leaves], order, "")


class _Check:
    def __init__(self, modes: tuple[str, ...], rtol: float, atol: float, rng: Any) -> None:
        self.modes = modes
        self.rtol = rtol
        self.atol = atol
        self.rng = rng

    def __call__(self, f: Callable[..., list[Any]], args: list[Any], order: int, path: str) -> None:
        """``path``: the modes that made f, such as "rev, "."""
        directions = [self.rng.standard_normal(np.shape(a)) for a in args]
        slopes = _differences(f, args, directions)
        if "fwd" in self.modes:
            self._forward(f, args, directions, slopes, order, path + "fwd")
        if "rev" in self.modes:
            self._reverse(f, args, directions, slopes, order, path + "rev")

    def _forward(
        self, f: Any, args: list[Any], directions: list[Any], slopes: list[Any], order: int,
        path: str,
    ) -> None:  # fmt: skip
        _, tangents = jvp(f, args, directions)
        for tangent, slope in zip(tangents, slopes, strict=True):
            if tangent is not None:
                self._compare(np.asarray(tangent), slope, path)
        if order > 1:

            def pushed(*given: Any) -> list[Any]:
                return [t for t in jvp(f, given, directions)[1] if t is not None]

            self(pushed, args, order - 1, path + ", ")

    def _reverse(
        self, f: Any, args: list[Any], directions: list[Any], slopes: list[Any], order: int,
        path: str,
    ) -> None:  # fmt: skip
        _, pullback = vjp(f, *args)
        seeds = [np.asarray(self.rng.standard_normal(np.shape(s))) for s in slopes]
        found = pullback(seeds)
        analytic = sum(
            float(np.sum(np.asarray(g) * v)) for g, v in zip(found, directions, strict=True)
        )
        numeric = sum(float(np.sum(s * d)) for s, d in zip(seeds, slopes, strict=True))
        self._compare(np.asarray(analytic), np.asarray(numeric), path)
        if order > 1:

            def gradients(*given: Any) -> list[Any]:
                _, pull = vjp(f, *given)
                return list(pull([arrays_like(s) for s in seeds]))

            self(gradients, args, order - 1, path + ", ")

    def _compare(self, analytic: Any, numeric: Any, path: str) -> None:
        scale = max(float(np.max(np.abs(numeric), initial=1.0)), 1.0)
        error = np.abs(analytic - numeric)
        if np.all(error <= self.atol + self.rtol * scale):
            return
        worst = np.unravel_index(np.argmax(error), error.shape)
        raise AssertionError(
            f"derivative {float(analytic[worst])!r} differs from central difference "
            f"{float(numeric[worst])!r} (relative error {float(error[worst]) / scale:.3g}; "
            f"derived by {path}, element {tuple(int(i) for i in worst)})"
        )


def arrays_like(value: Any) -> Any:
    """A constant cotangent."""
    return value if arrays.is_array(value) else np.asarray(value)


def _differences(f: Callable[..., list[Any]], args: list[Any], directions: list[Any]) -> list[Any]:
    """Slopes of all results along the directions; they are not rounded to integers."""
    compiled = jit(lambda *a: f(*a))
    ahead = compiled(*[a + _STEP * v for a, v in zip(args, directions, strict=True)])
    behind = compiled(*[a - _STEP * v for a, v in zip(args, directions, strict=True)])
    return [
        (np.asarray(p, np.float64) - np.asarray(m, np.float64)) / (2 * _STEP)
        for p, m in zip(ahead, behind, strict=True)
    ]
