"""ADBench's Gaussian mixture objective, fitted to handwritten digits by SciPy's L-BFGS.

The posterior of a mixture of K Gaussians in D dimensions with a Wishart prior on the inverse
covariances. ADBench stores the factor of an inverse covariance as D logarithms of its diagonal,
then the entries below it column by column.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import adjit as aj
import common
import numpy as np
from scipy.optimize import minimize
from scipy.special import multigammaln
from sklearn.datasets import load_digits


def factors(icf: Any, d: int) -> Any:
    """Lower triangular factors from their packed form: (K, D (D + 1) / 2) -> (K, D, D)."""
    return aj.compute(
        (icf.shape[0], d, d),
        lambda k, i, j: aj.select(
            i == j,
            aj.exp(icf[k, i]),
            aj.select(j < i, icf[k, d + j * (2 * d - j - 1) // 2 + (i - j - 1)], 0),
        ),
    )


def component_terms(alphas: Any, means: Any, icf: Any, x: Any) -> Any:
    """What each component gives to the logarithm of each point's density: (N, K)."""
    (n, d), count = x.shape, means.shape[0]
    q = factors(icf, d)
    i, j = aj.reduce_axis(d), aj.reduce_axis(d)
    whitened = aj.compute(
        (n, count, d),
        lambda p, k, i: aj.sum(q[k, i, j] * (x[p, j] - means[k, j]), axis=j, where=j <= i),
    )
    distance = aj.compute((n, count), lambda p, k: aj.sum(whitened[p, k, i] ** 2, axis=i))
    return alphas + aj.sum(icf[:, :d], axis=1) - distance / 2


def objective(alphas: Any, means: Any, icf: Any, x: Any, gamma: float, m: int) -> Any:
    """ADBench's two terms: the log-likelihood, and minus the logarithm of the prior.

    ADBench's objective is their sum. (K,), (K, D), (K, D (D + 1) / 2), (N, D) -> two scalars.
    """
    (n, d), count = x.shape, means.shape[0]
    likelihood = aj.sum(aj.logsumexp(component_terms(alphas, means, icf, x), axis=1))
    likelihood = likelihood - n * (aj.logsumexp(alphas, axis=0) + d / 2 * np.log(2 * np.pi))
    freedom = d + m + 1
    normalizer = freedom * d * (np.log(gamma) - np.log(2) / 2) - multigammaln(freedom / 2, d)
    q = factors(icf, d)
    prior = gamma**2 / 2 * aj.sum(q * q) - m * aj.sum(icf[:, :d]) - count * normalizer
    return likelihood, prior


def nearest(alphas: Any, means: Any, icf: Any, x: Any) -> Any:
    """The component that most probably made each point: (N,)."""
    return aj.jit(lambda *p: aj.argmax(component_terms(*p), axis=1))(alphas, means, icf, x)


def digits(dimensions: int, count: int) -> tuple[Any, Any]:
    """Digits in their first principal components, scaled to variance 1: (N, D), (N,)."""
    images, labels = load_digits(return_X_y=True)
    images, labels = images[:count], labels[:count]
    centred = images - images.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    x = centred @ directions[:dimensions].T
    return x / x.std(axis=0), labels


def purity(assigned: Any, labels: Any) -> float:
    """The share of images whose digit is the most frequent one of their component."""
    most = [np.bincount(labels[assigned == k]).max() for k in np.unique(assigned)]
    return float(np.sum(most) / len(labels))


def main(
    dimensions: int = 10, components: int = 20, count: int = 1797, steps: int = 100,
    out: Path | None = None,
) -> dict[str, float]:  # fmt: skip
    x, labels = digits(dimensions, count)
    rng = np.random.default_rng(0)
    start = (
        np.zeros(components),
        x[rng.choice(count, components, replace=False)],
        np.zeros((components, dimensions * (dimensions + 1) // 2)),
    )
    ends = np.cumsum([part.size for part in start])[:-1]

    def unpack(vector: Any) -> list[Any]:
        parts = np.split(vector, ends)
        return [part.reshape(s.shape) for part, s in zip(parts, start, strict=True)]

    def loss(*parameters: Any) -> Any:
        likelihood, prior = objective(*parameters, gamma=1.0, m=0)
        return (prior - likelihood) / count

    value_and_grad = aj.jit(aj.value_and_grad(loss, argnums=(0, 1, 2)))

    def flat(vector: Any) -> tuple[float, Any]:
        value, gradients = value_and_grad(*unpack(vector), x)
        return float(value), np.concatenate([np.ravel(g) for g in gradients])

    vector = np.concatenate([np.ravel(part) for part in start])
    with common.Progress().task("fitting a mixture to digits", steps) as task:
        found = minimize(
            flat, vector, jac=True, method="L-BFGS-B", options={"maxiter": steps},
            callback=lambda v: task.advance(""),
        )  # fmt: skip
    return {
        "loss before": flat(vector)[0],
        "loss after": float(found.fun),
        "purity": purity(nearest(*unpack(found.x), x), labels),
    }


if __name__ == "__main__":
    common.run(main, __doc__)
