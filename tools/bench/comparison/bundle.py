"""ADBench's bundle adjustment: residuals of observations, and their sparse Jacobian.

The residuals u and v of an observation depend on its camera (11 numbers), its point (3) and its
weight (1), and on no other one's; the weight has a residual of its own. A pullback of one cotangent
gives a row of every observation's Jacobian at once; three of them give all that is not zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import adjit as aj
import numpy as np


def observed(camera: list[Any], point: list[Any], weight: Any, seen: list[Any]) -> tuple[Any, ...]:
    """Scalar expressions: three residuals of one observation.

    A camera is (rotation 3, centre 3, focal length, principal point 2, radial distortion 2).
    """
    x, y, z = _rotated(camera[:3], [point[k] - camera[3 + k] for k in range(3)])
    u, v = x / z, y / z
    square = u * u + v * v
    radial = 1 + camera[9] * square + camera[10] * square * square
    u = u * radial * camera[6] + camera[7]
    v = v * radial * camera[6] + camera[8]
    return weight * (u - seen[0]), weight * (v - seen[1]), 1 - weight * weight


def _rotated(r: list[Any], x: list[Any]) -> list[Any]:
    """x turned by the rotation vector r, which is not zero (Rodrigues)."""
    square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2]
    theta = aj.sqrt(square)
    cosine, sine = aj.cos(theta), aj.sin(theta) / theta
    along = (r[0] * x[0] + r[1] * x[1] + r[2] * x[2]) * (1 - cosine) / square
    across = [r[k - 2] * x[k - 1] - r[k - 1] * x[k - 2] for k in range(3)]
    return [x[k] * cosine + across[k] * sine + r[k] * along for k in range(3)]


def by_columns(cameras: Any, points: Any, weights: Any, seen: Any, at: Any) -> tuple[Any, ...]:
    """Residuals (P,) of 15 vectors (P,), one for each number of an observation; these vectors."""
    count = (seen.shape[0],)

    def column(array: Any, which: int, k: int) -> Any:
        return aj.compute(count, lambda o: array[at[o, which], k])

    def residuals(camera: Any, point: Any, weights: Any) -> Any:
        return aj.compute(
            count,
            lambda o: observed(
                [c[o] for c in camera], [p[o] for p in point], weights[o], [seen[o, 0], seen[o, 1]]
            ),
        )

    camera = [column(cameras, 0, k) for k in range(11)]
    return residuals, (camera, [column(points, 1, k) for k in range(3)], weights)


def by_rows(cameras: Any, points: Any, weights: Any, seen: Any, at: Any) -> tuple[Any, ...]:
    """The same of (P, 11), (P, 3) and (P,): blocks of the Jacobian as a solver wants them."""

    def residuals(camera: Any, point: Any, weights: Any) -> Any:
        def row(array: Any, o: Any) -> list[Any]:
            return [array[o, k] for k in range(array.shape[1])]

        return aj.compute(
            (seen.shape[0],),
            lambda o: observed(row(camera, o), row(point, o), weights[o], row(seen, o)),
        )

    rows = aj.take(cameras, at[:, 0], axis=0), aj.take(points, at[:, 1], axis=0)
    return residuals, (*rows, weights)


def value(layout: Callable[..., Any]) -> Callable[..., Any]:
    """The residuals."""

    def f(*arguments: Any) -> Any:
        residuals, variables = layout(*arguments)
        return residuals(*variables)

    return f


def both(layout: Callable[..., Any]) -> Callable[..., Any]:
    """The residuals; and of the Jacobian the rows of u, those of v, and the weights' own."""

    def f(*arguments: Any) -> Any:
        residuals, variables = layout(*arguments)
        found, pullback = aj.vjp(residuals, *variables)
        one, zero = aj.ones_like(found[0]), aj.zeros_like(found[0])
        by_u, by_v = pullback((one, zero, zero)), pullback((zero, one, zero))
        return found, (by_u, by_v, pullback((zero, zero, one))[2])

    return f


def scene(cameras: int, points: int, observations: int, dtype: str = "float32") -> list[Any]:
    """Cameras near (0, 0, -8), turned a little, points about the origin; who saw which at random.

    cameras (C, 11), points (N, 3), weights (P,), seen (P, 2), at (P, 2).
    """
    rng = np.random.default_rng(0)
    views = 0.1 * rng.standard_normal((cameras, 11))
    views[:, 5] -= 8
    views[:, 6] += 1
    floats = [
        views, rng.uniform(-1, 1, (points, 3)), rng.uniform(0.5, 1, observations),
        rng.uniform(-1, 1, (observations, 2)),
    ]  # fmt: skip
    at = np.stack([rng.integers(0, n, observations) for n in (cameras, points)], axis=1)
    return [*(x.astype(dtype) for x in floats), at]
