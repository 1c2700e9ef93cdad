"""A recursive filter, recovered from what it did to a scanline of a photograph.

y[t] = b0 x[t] + b1 x[t-1] + b2 x[t-2] - a1 y[t-1] - a2 y[t-2]: a scan in the text notation, whose
gradient runs backwards over the line. SciPy's BFGS finds b and a.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import adjit as aj
import common
import numpy as np
from scipy.optimize import minimize
from scipy.signal import butter, lfilter

# In transposed direct form: the state is two numbers a line, s and r.
biquad = aj.define("""
def biquad(double(T, N) x, double(3) b, double(2) a, double(N) zero) -> (y) {
  scan (s, r, y) = step[T](carry double(N) s0 = zero, carry double(N) r0 = zero,
                           over double(N) u = x, fixed double(3) B = b, fixed double(2) A = a)
      -> (s1, r1, out) {
    out(n) = B(0) * u(n) + s0(n)
    s1(n) = B(1) * u(n) - A(0) * out(n) + r0(n)
    r1(n) = B(2) * u(n) - A(1) * out(n)
  }
}
""").biquad


def misfit(b: Any, a: Any, x: Any, wanted: Any) -> Any:
    """The mean squared difference between filtered lines and the wanted ones."""
    return aj.mean(aj.square(biquad(x, b, a, aj.zeros_like(x[0])) - wanted))


def main(
    size: int = 256, lines: int = 16, noise: float = 1e-3, out: Path | None = None
) -> dict[str, float]:
    photo = common.photograph("coffee", size, np.float64).mean(axis=2)
    x = np.ascontiguousarray(photo[size // 2 - lines // 2 :][:lines].T)
    b, a = butter(2, 0.15)
    clean = lfilter(b, a, x, axis=0)
    wanted = clean + noise * np.random.default_rng(0).standard_normal(x.shape)
    value_and_grad = aj.jit(aj.value_and_grad(misfit, argnums=(0, 1)))

    def flat(vector: Any) -> tuple[float, Any]:
        value, gradients = value_and_grad(vector[:3], vector[3:], x, wanted)
        return float(value), np.concatenate(gradients)

    start = np.array([1.0, 0, 0, 0, 0])  # the filter that changes nothing
    with common.Progress().task("fitting a filter to scanlines", 200) as task:
        found = minimize(
            flat, start, jac=True, method="BFGS", options={"maxiter": 200, "gtol": 1e-9},
            callback=lambda v: task.advance(f"misfit {flat(v)[0]:.2e}"),
        )  # fmt: skip
    true = np.concatenate([b, a[1:]])
    shown = lfilter(found.x[:3], [1, *found.x[3:]], photo, axis=1)
    common.write(out, "iir_filter", photo, shown, lfilter(b, a, photo, axis=1))
    return {
        "misfit before": flat(start)[0],
        "misfit after": float(found.fun),
        "misfit of the noise": float(np.mean((clean - wanted) ** 2)),
        "largest error of a coefficient": float(np.max(np.abs(found.x - true))),
    }


if __name__ == "__main__":
    common.run(main, __doc__)
