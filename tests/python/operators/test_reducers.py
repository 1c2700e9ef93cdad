"""Reducers and their derivatives against JAX: custom ones, products with zeros, compositions."""

from typing import Any

import adjit as aj
import jax
import jax.numpy as jnp
import numpy as np
import pytest

jax.config.update("jax_enable_x64", True)

X = np.random.default_rng(5).uniform(-1.5, 1.5, (3, 7))


def softmax_parts(x: Any) -> Any:
    """Largest element and sum of exp(x - largest), in one pass."""
    online = aj.reducer(
        lambda a, b: (
            aj.maximum(a[0], b[0]),
            a[1] * aj.exp(a[0] - aj.maximum(a[0], b[0]))
            + b[1] * aj.exp(b[0] - aj.maximum(a[0], b[0])),
        ),
        (-np.inf, 0.0),
    )
    k, one = aj.reduce_axis(x.shape[1]), aj.ones_like(x)
    return aj.compute((x.shape[0],), lambda i: online((x[i, k], one[i, k]), axis=k))


def logsumexp(x: Any) -> Any:
    largest, total = softmax_parts(x)
    return aj.sum(aj.log(total) + largest)


def variance(x: Any) -> Any:
    """Welford's count, mean and sum of squares."""

    def combine(a: Any, b: Any) -> Any:
        n, delta = a[0] + b[0], b[1] - a[1]
        return n, a[1] + delta * b[0] / n, a[2] + b[2] + delta * delta * a[0] * b[0] / n

    welford = aj.reducer(combine, (0.0, 0.0, 0.0))
    k, one, zero = aj.reduce_axis(x.shape[1]), aj.ones_like(x), aj.zeros_like(x)
    _, _, squares = aj.compute(
        (x.shape[0],), lambda i: welford((one[i, k], x[i, k], zero[i, k]), axis=k)
    )
    return aj.sum(aj.sin(squares))


def test_online_softmax_is_logsumexp() -> None:
    wanted = jax.grad(lambda x: jnp.sum(jax.nn.logsumexp(x, axis=1)))(X)
    np.testing.assert_allclose(aj.grad(logsumexp)(X), wanted, rtol=1e-10)


def test_online_softmax_twice() -> None:
    wanted = jax.grad(
        lambda x: jnp.sum(jax.grad(lambda y: jnp.sum(jnp.sin(jax.nn.logsumexp(y, axis=1))))(x) ** 2)
    )(X)

    def loss(x: Any) -> Any:
        largest, total = softmax_parts(x)
        return aj.sum(aj.sin(aj.log(total) + largest))

    got = aj.grad(lambda x: aj.sum(aj.grad(loss)(x) ** 2))(X)
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)


def test_welford() -> None:
    wanted = jax.grad(lambda x: jnp.sum(jnp.sin(jnp.var(x, axis=1) * x.shape[1])))(X)
    np.testing.assert_allclose(aj.grad(variance)(X), wanted, rtol=1e-10)


def test_one_pass_over_part_of_the_axis() -> None:
    largest = aj.reducer(lambda a, b: a * b, 1.0)

    def loss(x: Any) -> Any:
        k = aj.reduce_axis(x.shape[1])
        return aj.sum(aj.compute((3,), lambda i: largest(x[i, k], axis=k, where=k <= i + 2)))

    def wanted(x: Any) -> Any:
        return sum(jnp.prod(x[i, : i + 3]) for i in range(3))

    np.testing.assert_allclose(aj.grad(loss)(X), jax.grad(wanted)(X), rtol=1e-10)


def test_matrix_products_keep_their_order() -> None:
    def combine(a: Any, b: Any) -> Any:
        return (
            a[0] * b[0] + a[1] * b[2],
            a[0] * b[1] + a[1] * b[3],
            a[2] * b[0] + a[3] * b[2],
            a[2] * b[1] + a[3] * b[3],
        )

    chain = aj.reducer(combine, (1.0, 0.0, 0.0, 1.0))
    matrices = np.random.default_rng(6).normal(size=(9, 2, 2))

    def loss(m: Any) -> Any:
        k = aj.reduce_axis(9)
        parts = aj.compute(
            (), lambda: chain((m[k, 0, 0], m[k, 0, 1], m[k, 1, 0], m[k, 1, 1]), axis=k)
        )
        return parts[0] + 2.0 * parts[1] + 3.0 * parts[2] + 4.0 * parts[3]

    def wanted(m: Any) -> Any:
        product = jnp.linalg.multi_dot(list(m))
        return jnp.sum(product * jnp.array([[1.0, 2.0], [3.0, 4.0]]))

    np.testing.assert_allclose(aj.grad(loss)(matrices), jax.grad(wanted)(matrices), rtol=1e-9)


def test_what_is_not_associative_is_refused() -> None:
    minus = aj.reducer(lambda a, b: a - b, 0.0)

    def loss(x: Any) -> Any:
        k = aj.reduce_axis(7)
        return aj.sum(aj.compute((3,), lambda i: minus(x[i, k], axis=k)))

    with pytest.raises(
        aj.NotDifferentiableError, match=r"test_reducers\.py.*not associative.*scan"
    ):
        aj.grad(loss)(X)


@pytest.mark.parametrize("zeros", [[], [2], [1, 4], [0, 2, 3], list(range(5))])
def test_products_with_zeros(zeros: list[int]) -> None:
    x = np.array([1.5, -2.0, 0.5, 3.0, -1.25])
    x[zeros] = 0.0
    np.testing.assert_allclose(aj.grad(aj.prod)(x), jax.grad(jnp.prod)(x), rtol=1e-12)
    hessian = aj.jacobian(aj.grad(aj.prod))(x)
    np.testing.assert_allclose(hessian, jax.hessian(jnp.prod)(x), rtol=1e-12, atol=1e-12)


def test_any_and_all_stop_derivatives() -> None:
    def loss(x: Any) -> Any:
        return aj.sum(aj.where(aj.any(x > 1.0, axis=1, keepdims=True), x * x, x))

    def wanted(x: Any) -> Any:
        return jnp.sum(jnp.where(jnp.any(x > 1.0, axis=1, keepdims=True), x * x, x))

    np.testing.assert_allclose(aj.grad(loss)(X), jax.grad(wanted)(X))


def test_value_of_argmax_pair() -> None:
    def loss(x: Any) -> Any:
        return aj.sum(aj.take_along_axis(x, aj.argmax(x, axis=1, keepdims=True), axis=1) ** 3)

    np.testing.assert_allclose(
        aj.grad(loss)(X), jax.grad(lambda x: jnp.sum(jnp.max(x, axis=1) ** 3))(X)
    )
