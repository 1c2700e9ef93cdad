"""ADBench's bundle adjustment: cameras and points from what the cameras saw.

A camera is (rotation 3, centre 3, focal length, principal point 2, radial distortion 2). The
Jacobian of an observation has entries for its own camera, point and weight only, so a pullback
of one cotangent gives one row of every observation at once. Gauss-Newton steps with
Levenberg's damping lower the error to that of the measurements.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import adjit as aj
import common
import numpy as np


def rotate(r: list[Any], x: list[Any]) -> list[Any]:
    """Rodrigues' formula on scalar expressions: x turned by the rotation vector r."""
    square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2]
    theta = aj.sqrt(aj.select(square > 0, square, 1.0))
    cosine = aj.select(square > 0, aj.cos(theta), 1.0)
    sine = aj.select(square > 0, aj.sin(theta) / theta, 1.0)
    along = r[0] * x[0] + r[1] * x[1] + r[2] * x[2]
    along = aj.select(square > 0, along * (1 - cosine) / (theta * theta), 0.0)
    across = [r[k - 2] * x[k - 1] - r[k - 1] * x[k - 2] for k in range(3)]
    return [x[k] * cosine + across[k] * sine + r[k] * along for k in range(3)]


def residuals(cameras: Any, points: Any, weights: Any, seen: Any) -> tuple[Any, Any, Any]:
    """Of one camera, point and weight an observation: (P, 11), (P, 3), (P,), (P, 2) -> 3 x (P,)."""

    def row(o: Any) -> tuple[Any, Any, Any]:
        moved = [points[o, k] - cameras[o, 3 + k] for k in range(3)]
        x, y, z = rotate([cameras[o, k] for k in range(3)], moved)
        u, v = x / z, y / z
        square = u * u + v * v
        radial = 1 + cameras[o, 9] * square + cameras[o, 10] * square * square
        u = u * radial * cameras[o, 6] + cameras[o, 7]
        v = v * radial * cameras[o, 6] + cameras[o, 8]
        w = weights[o]
        return w * (u - seen[o, 0]), w * (v - seen[o, 1]), 1 - w * w

    return aj.compute(seen.shape[0], row)  # type: ignore[no-any-return]


def error(cameras: Any, points: Any, weights: Any, seen: Any, at: Any) -> Any:
    """Half the sum of squared residuals; ``at`` is (P, 2): camera and point of each observation."""
    rows = aj.take(cameras, at[:, 0], axis=0), aj.take(points, at[:, 1], axis=0)
    u, v, own = residuals(*rows, weights, seen)
    return (aj.sum(u * u) + aj.sum(v * v) + aj.sum(own * own)) / 2


@aj.jit
def blocks(cameras: Any, points: Any, weights: Any, seen: Any, at: Any) -> Any:
    """Residuals (P, 2) and their Jacobian's blocks (P, 2, 11) and (P, 2, 3)."""
    rows = aj.take(cameras, at[:, 0], axis=0), aj.take(points, at[:, 1], axis=0)
    (u, v, _), pullback = aj.vjp(lambda c, p: residuals(c, p, weights, seen), *rows)
    one, zero = aj.ones_like(u), aj.zeros_like(u)
    by_u, by_v = pullback((one, zero, zero)), pullback((zero, one, zero))
    pairs = zip(by_u, by_v, strict=True)
    return aj.stack([u, v], axis=1), *(aj.stack(pair, axis=1) for pair in pairs)


def step(cameras: Any, points: Any, made: Any, at: Any, damping: float) -> tuple[Any, Any]:
    """A damped Gauss-Newton step from the normal equations."""
    residual, by_camera, by_point = (np.asarray(part) for part in made)
    first = cameras.size
    jacobian = np.zeros((*residual.shape, first + points.size))
    for o, (camera, point) in enumerate(at):
        jacobian[o, :, 11 * camera : 11 * camera + 11] = by_camera[o]
        jacobian[o, :, first + 3 * point : first + 3 * point + 3] = by_point[o]
    jacobian = jacobian.reshape(residual.size, -1)
    normal = jacobian.T @ jacobian
    normal += damping * np.diag(np.diag(normal) + 1e-9)
    change = np.linalg.solve(normal, -jacobian.T @ residual.ravel())
    return (
        cameras + change[:first].reshape(cameras.shape),
        points + change[first:].reshape(points.shape),
    )


def scene(cameras: int, points: int, noise: float) -> dict[str, Any]:
    """Cameras on an arc before a cloud of points, what they see, and a guess that is off."""
    rng = np.random.default_rng(0)
    turn = np.linspace(-0.5, 0.5, cameras)
    true = np.zeros((cameras, 11))
    true[:, 1] = -turn
    true[:, 3], true[:, 5] = -8 * np.sin(turn), -8 * np.cos(turn)
    true[:, 6], true[:, 9], true[:, 10] = 500, -0.1, 0.02
    cloud = rng.uniform(-2, 2, (points, 3))
    at = np.stack(np.meshgrid(np.arange(cameras), np.arange(points)), -1).reshape(-1, 2)
    weights, seen = np.ones(len(at)), np.zeros((len(at), 2))
    u, v, _ = aj.jit(residuals)(true[at[:, 0]], cloud[at[:, 1]], weights, seen)
    seen = np.stack([u, v], axis=1) + noise * rng.standard_normal(seen.shape)
    scale = np.array([0.02] * 3 + [0.1] * 3 + [5, 2, 2, 0.02, 0.01])
    guess = true + scale * rng.standard_normal(true.shape)
    return {
        "cameras": guess, "points": cloud + 0.1 * rng.standard_normal(cloud.shape),
        "weights": weights, "seen": seen, "at": at,
    }  # fmt: skip


def main(cameras: int = 6, points: int = 60, out: Path | None = None) -> dict[str, float]:
    noise, damping, s = 0.5, 1e-3, scene(cameras, points, 0.5)
    total = aj.jit(error)
    before = value = float(total(**s))
    with common.Progress().task("adjusting bundles", 20) as task:
        for _ in range(20):
            made = blocks(**s)
            moved = step(s["cameras"], s["points"], made, s["at"], damping)
            trial = s | dict(zip(("cameras", "points"), moved, strict=True))
            found = float(total(**trial))
            better = found < value
            damping *= 0.1 if better else 10
            if better:
                s, value = trial, found
            task.advance(f"error {value:.3f}")
    observed = 2 * len(s["at"])
    # A gauge of seven (place, turn, scale) stays free.
    free = observed - 11 * cameras - 3 * points + 7
    return {
        "pixels off before": float(np.sqrt(2 * before / observed)),
        "pixels off after": float(np.sqrt(2 * value / observed)),
        "pixels that noise leaves": noise * float(np.sqrt(free / observed)),
    }


if __name__ == "__main__":
    common.run(main, __doc__)
