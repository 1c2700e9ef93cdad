"""The examples at a small size: numbers against torch, SciPy, NumPy and finite differences."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import adjit as aj
import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("skimage")
pytest.importorskip("sklearn")
F = torch.nn.functional

_EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports an example by its name."""
    monkeypatch.syspath_prepend(str(_EXAMPLES))
    return importlib.import_module


def torch_value_and_grad(f: Any, *arrays: Any) -> tuple[Any, list[Any]]:
    """f's value on leaves made of these arrays, and the gradient of every one."""
    leaves = [torch.tensor(a, requires_grad=True) for a in arrays]
    value = f(*leaves)
    return float(value.detach()), [g.numpy() for g in torch.autograd.grad(value, leaves)]


def assert_same(ours: Any, theirs: Any, rtol: float = 1e-9, atol: float = 1e-11) -> None:
    (value, gradients), (expected, expected_gradients) = ours, theirs
    np.testing.assert_allclose(value, expected, rtol=rtol)
    for ours_one, theirs_one in zip(gradients, expected_gradients, strict=True):
        np.testing.assert_allclose(ours_one, theirs_one, rtol=rtol, atol=atol)


def test_bilateral_slice(example: Any, rng: np.random.Generator) -> None:
    module = example("bilateral_slice")
    numbers = module.main(size=32, rows=3, levels=4, steps=60)
    assert numbers["PSNR after"] > numbers["PSNR before"] + 10

    rows, columns, levels, height, width = 3, 4, 5, 8, 9
    grid, mix = rng.standard_normal((rows, columns, levels, 3, 4)), rng.standard_normal(4)
    photo, wanted = rng.random((2, height, width, 3))

    def theirs(grid: Any, mix: Any) -> Any:
        depth = torch.sigmoid(torch.tensor(photo) @ mix[:3] + mix[3])
        # grid_sample's -1 .. 1 are the first and last cell; ours are reached behind the last pixel.
        y, x = (torch.arange(n, dtype=torch.float64) / n * 2 - 1 for n in (height, width))
        y, x = torch.meshgrid(y, x, indexing="ij")
        at = torch.stack([depth * 2 - 1, x, y], -1)[None, None]
        volume = grid.permute(3, 4, 0, 1, 2).reshape(1, 12, rows, columns, levels)
        sliced = F.grid_sample(volume, at, align_corners=True)[0, :, 0].reshape(3, 4, height, width)
        colour = torch.cat([torch.tensor(photo), torch.ones(height, width, 1)], -1)
        shown = torch.einsum("ckhw,hwk->hwc", sliced, colour)
        return ((shown - torch.tensor(wanted)) ** 2).mean()

    value, slopes = aj.value_and_grad(module.misfit)({"grid": grid, "mix": mix}, photo, wanted)
    assert_same((value, (slopes["grid"], slopes["mix"])), torch_value_and_grad(theirs, grid, mix))


def test_flow_warp(example: Any, rng: np.random.Generator) -> None:
    module = example("flow_warp")
    numbers = module.main(size=48, steps=60, pixels=1.0)
    assert numbers["end point error after"] < 0.6 * numbers["end point error before"]
    assert numbers["PSNR after"] > numbers["PSNR before"] + 6

    image, moved = rng.random((2, 11, 13))
    controls = rng.uniform(-3, 3, (2, 3, 4))

    def theirs(controls: Any) -> Any:
        flow = F.interpolate(controls[None], size=(11, 13), mode="bilinear")[0]
        y, x = torch.meshgrid(torch.arange(11.0), torch.arange(13.0), indexing="ij")
        at = torch.stack([(x + flow[1]) / 12 * 2 - 1, (y + flow[0]) / 10 * 2 - 1], -1)
        read = F.grid_sample(
            torch.tensor(image)[None, None], at[None], align_corners=True, padding_mode="border"
        )
        return ((read[0, 0] - torch.tensor(moved)) ** 2).mean()

    value, slope = aj.value_and_grad(module.misfit)(controls, image, moved)
    # Beyond the edge the flow has no slope in either: torch stops it, ours subtracts equal pixels.
    assert_same((value, [slope]), torch_value_and_grad(theirs, controls), rtol=1e-8)


def test_gaussian_mixture(example: Any, rng: np.random.Generator) -> None:
    module = example("gaussian_mixture")
    numbers = module.main(dimensions=3, components=4, count=100, steps=15)
    assert numbers["loss after"] < numbers["loss before"] - 0.5

    # ADBench's own test: data/gmm/test.txt and the values of its test suite.
    alphas = np.array([-0.649014, 1.181166, -0.758453])
    means = np.array([[0.092339, 0.186260], [0.345561, 0.396767], [0.538817, 0.419195]])
    icf = np.array(
        [[0.586443, -0.851887, 0.800321], [-1.509405, 0.875874, -0.242790],
         [0.166813, -1.965419, -1.270071]]
    )  # fmt: skip
    x = np.array([[1.175171, 2.029160]])

    def published(*parameters: Any) -> Any:
        likelihood, prior = module.objective(*parameters, gamma=1.0, m=0)
        return likelihood + prior

    value, gradients = aj.value_and_grad(published, argnums=(0, 1, 2))(alphas, means, icf, x)
    np.testing.assert_allclose(value, 8.07380408004975791, rtol=1e-12)
    np.testing.assert_allclose(gradients[0], [0.108662855508652, -0.741270039523898,
                                              0.632607184015246], rtol=1e-10)  # fmt: skip
    np.testing.assert_allclose(gradients[2][2], [1.71892309775004937, 0.860091090790866875,
                                                 -0.994640930466322848], rtol=1e-10)  # fmt: skip

    d, k, n = 4, 3, 7
    inputs = (rng.standard_normal(k), rng.standard_normal((k, d)),
              0.3 * rng.standard_normal((k, d * (d + 1) // 2)))  # fmt: skip
    x = rng.standard_normal((n, d))

    def theirs(alphas: Any, means: Any, icf: Any) -> Any:
        columns, below = np.triu_indices(d, 1)
        factor = torch.zeros(k, d, d, dtype=torch.float64)
        factor = factor.index_put((torch.arange(k)[:, None], torch.tensor(below),
                                   torch.tensor(columns)), icf[:, d:])  # fmt: skip
        factor = factor + torch.diag_embed(torch.exp(icf[:, :d]))
        centred = torch.tensor(x)[:, None] - means
        distance = (torch.einsum("kij,nkj->nki", factor, centred) ** 2).sum(-1)
        terms = alphas + icf[:, :d].sum(1) - distance / 2
        likelihood = torch.logsumexp(terms, 1).sum() - n * torch.logsumexp(alphas, 0)
        freedom, gamma, m = d + 3, 0.7, 2
        constant = freedom * d * (np.log(gamma) - np.log(2) / 2)
        constant -= float(torch.mvlgamma(torch.tensor(freedom / 2, dtype=torch.float64), d))
        prior = gamma**2 / 2 * (factor**2).sum() - m * icf[:, :d].sum() - k * constant
        return likelihood - n * d / 2 * np.log(2 * np.pi) + prior

    def ours(*parameters: Any) -> Any:
        return sum(module.objective(*parameters, gamma=0.7, m=2))

    found = aj.value_and_grad(ours, argnums=(0, 1, 2))(*inputs, x)
    assert_same(found, torch_value_and_grad(theirs, *inputs))


def test_bundle_adjustment(example: Any) -> None:
    module = example("bundle_adjustment")
    numbers = module.main(cameras=3, points=14)
    assert numbers["pixels off before"] > 5
    assert numbers["pixels off after"] < 1.2 * numbers["pixels that noise leaves"]

    # ADBench's own test: data/ba/test.txt (ten times the same observation) and its suite's values.
    camera = np.array([1.797201, 0.590697, -0.635786, 90.859550, 29.361415, 28.777534, 211.628116,
                       -0.284531, -14.762924, 0.058931, 0.069976])  # fmt: skip
    s = {
        "cameras": np.tile(camera, (2, 1)),
        "points": np.tile([4.173048, 5.586898, 1.403869], (10, 1)),
        "weights": np.full(10, 0.417022),
        "seen": np.tile([-525.672849, 161.811929], (10, 1)),
        "at": np.stack([np.arange(10) % 2, np.arange(10)], axis=1),
    }
    errors, by_camera, by_point = module.blocks(**s)
    expected = np.tile([-2.69048849235189402e-01, 2.59944792677901881e-01], (10, 1))
    np.testing.assert_allclose(errors, expected, rtol=1e-9)
    expected_rows = [
        [2.28877202208246757e02, 6.34574811495545418e02, -7.82222866259340549e02,
         2.42892615607159668e00, -1.17828079628011313e01, 2.54169312487743460e00,
         -1.03657084958518086e00, 4.17022e-01, 0.0, -3.50739521096005205e02,
         -9.12107773668008576e02],
        [-1.20542435994996879e02, -3.85673240766460424e02, 9.75476291403326456e01,
         -1.78372108529576567e00, 4.15466799433126077e00, 2.04025718029898906e00,
         3.49176397433145880e-01, 0.0, 4.17022e-01, 1.18149147704414503e02,
         3.07250108960343255e02],
    ]  # fmt: skip
    np.testing.assert_allclose(by_camera[3], expected_rows, rtol=1e-8)
    np.testing.assert_allclose(by_point[7], -np.array(expected_rows)[:, 3:6], rtol=1e-8)

    # The gradient of the error scatters to cameras and points what the blocks say row by row.
    s = module.scene(3, 6, 0.5)
    errors, by_camera, by_point = module.blocks(**s)
    gradients = aj.grad(module.error, argnums=(0, 1))(*s.values())
    for k, rows in enumerate((by_camera, by_point)):
        expected = np.zeros_like(gradients[k])
        np.add.at(expected, s["at"][:, k], np.einsum("pr,prc->pc", errors, rows))
        np.testing.assert_allclose(gradients[k], expected, rtol=1e-9, atol=1e-9)


def test_rotation_by_nothing_has_a_gradient(example: Any, rng: np.random.Generator) -> None:
    module = example("bundle_adjustment")
    x, v = rng.standard_normal((2, 3))

    def turned(r: Any) -> Any:
        parts = aj.compute(1, lambda i: tuple(module.rotate(
            [r[k] for k in range(3)], [aj.at(x, k) for k in range(3)]
        )))  # fmt: skip
        return sum(v[k] * parts[k][0] for k in range(3))

    np.testing.assert_allclose(aj.grad(turned)(np.zeros(3)), np.cross(x, v), rtol=1e-12)


def test_lstm(example: Any, rng: np.random.Generator) -> None:
    module = example("lstm")
    numbers = module.main(characters=40, layers=1, steps=10)
    assert numbers["loss after"] < numbers["loss before"]
    np.testing.assert_allclose(numbers["derived slope"], numbers["measured slope"], rtol=1e-6)

    layers, bits = 2, 3
    main, extra = rng.random((2 * layers, 4 * bits)), rng.random((3, bits))
    state, text = rng.random((2 * layers, bits)), rng.integers(0, 2, (9, bits)).astype(float)

    def theirs(main: Any, extra: Any) -> Any:
        hidden, total = [torch.tensor(part) for part in state], 0.0
        for now, following in zip(torch.tensor(text[:-1]), torch.tensor(text[1:]), strict=True):
            x = now * extra[0]
            for k in range(layers):
                h, c = hidden[2 * k], hidden[2 * k + 1]
                gates = torch.cat([x, h, x, h]) * main[2 * k] + main[2 * k + 1]
                forget, enter, leave, change = gates.reshape(4, bits)
                c = c * torch.sigmoid(forget) + torch.sigmoid(enter) * torch.tanh(change)
                x = torch.sigmoid(leave) * torch.tanh(c)
                hidden[2 * k], hidden[2 * k + 1] = x, c
            predicted = x * extra[1] + extra[2]
            log_sum = torch.log(torch.exp(predicted).sum() + 2)
            total = total - (following * (predicted - log_sum)).sum()
        return total / text[1:].size

    found = aj.value_and_grad(module.objective, argnums=(0, 1))(main, extra, state, text)
    assert_same(found, torch_value_and_grad(theirs, main, extra))


def test_local_response_norm(example: Any, rng: np.random.Generator) -> None:
    module = example("local_response_norm")
    numbers = module.main(size=32)
    assert numbers["spread of edges after"] < 0.8 * numbers["spread of edges before"]
    np.testing.assert_allclose(numbers["derived change"], numbers["measured change"], rtol=2e-3)

    x, v = rng.standard_normal((2, 2, 7, 3, 4)).astype(np.float32)

    def theirs(x: Any) -> Any:
        return F.local_response_norm(x, module.SIZE, module.ALPHA, module.BETA, module.BIAS)

    leaf = torch.tensor(x, requires_grad=True)
    out = theirs(leaf)
    np.testing.assert_allclose(module.normalize(x), out.detach(), rtol=1e-4, atol=1e-6)
    out.backward(torch.tensor(v))
    np.testing.assert_allclose(aj.jit(module.pull)(x, v), leaf.grad, rtol=1e-3, atol=1e-5)
    operator = aj.nn.local_response_norm(x, module.SIZE, module.ALPHA, module.BETA, module.BIAS)
    np.testing.assert_allclose(module.normalize(x), operator, rtol=1e-4, atol=1e-6)


def test_iir_filter(example: Any, rng: np.random.Generator) -> None:
    module = example("iir_filter")
    numbers = module.main(size=64, lines=4)
    assert numbers["misfit after"] < 1.1 * numbers["misfit of the noise"]
    assert numbers["largest error of a coefficient"] < 0.05

    from scipy.signal import lfilter

    x, wanted = rng.standard_normal((2, 12, 3))
    b, a = np.array([0.3, 0.5, -0.2]), np.array([-0.4, 0.25])
    y = module.biquad(x, b, a, np.zeros(3))
    np.testing.assert_allclose(y, lfilter(b, [1, *a], x, axis=0), rtol=1e-10)

    def theirs(b: Any, a: Any) -> Any:
        lines = torch.nn.functional.pad(torch.tensor(x), (0, 0, 2, 0))
        y = [torch.zeros(3).double()] * 2
        for t in range(2, len(lines)):
            now = b[0] * lines[t] + b[1] * lines[t - 1] + b[2] * lines[t - 2]
            y.append(now - a[0] * y[-1] - a[1] * y[-2])
        return ((torch.stack(y[2:]) - torch.tensor(wanted)) ** 2).mean()

    found = aj.value_and_grad(module.misfit, argnums=(0, 1))(b, a, x, wanted)
    assert_same(found, torch_value_and_grad(theirs, b, a))


def test_histogram_matching(example: Any, rng: np.random.Generator) -> None:
    module = example("histogram_matching")
    numbers = module.main(size=48, bins=32, knots=16)
    assert numbers["distance after"] < 0.15 * numbers["distance before"]

    bins = 9
    image = rng.uniform(-0.2, 1.2, (6, 7))
    image[0, :3] = 0.0, 1.0, 0.5
    wanted = rng.random(bins)

    def votes(image: Any) -> Any:
        level = image.clip(0, 1).flatten() * (bins - 1)
        low = level.detach().floor().clamp(max=bins - 2)
        counts = torch.zeros(bins, dtype=torch.float64)
        counts = counts.index_add(0, low.long(), 1 - (level - low))
        return counts.index_add(0, low.long() + 1, level - low) / image.numel()

    ours = aj.jit(lambda x: module.histogram(x, bins))(image)
    np.testing.assert_allclose(ours, votes(torch.tensor(image)), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(np.sum(ours), 1, rtol=1e-12)

    def theirs(steps: Any) -> Any:
        rises = torch.cat([torch.zeros(1), torch.exp(steps[1:]) / (len(steps) - 1)])
        curve = steps[0] + rises.cumsum(0)
        place = torch.tensor(image).clip(0, 1) * (len(steps) - 1)
        low = place.floor().clamp(max=len(steps) - 2).long()
        shown = curve[low] + (place - low) * (curve[low + 1] - curve[low])
        return ((votes(shown) - torch.tensor(wanted)).cumsum(0) ** 2).sum()

    steps = 0.3 * rng.standard_normal(6)
    value, slope = aj.value_and_grad(module.misfit)(steps, image, wanted)
    assert_same((value, [slope]), torch_value_and_grad(theirs, steps))


def test_attention(example: Any, rng: np.random.Generator) -> None:
    module = example("attention")
    numbers = module.main(width=16, epochs=2)
    assert numbers["loss after"] < 0.6 * numbers["loss before"]
    assert numbers["accuracy"] > 0.6

    q, k, v, cotangent = rng.standard_normal((4, 2, 3, 5, 4)).astype(np.float32)
    leaves = [torch.tensor(a, requires_grad=True) for a in (q, k, v)]
    out = F.scaled_dot_product_attention(*leaves)
    out.backward(torch.tensor(cotangent))
    ours, pullback = aj.vjp(module.attend, q, k, v)
    np.testing.assert_allclose(ours, out.detach(), rtol=1e-4, atol=1e-5)
    for gradient, leaf in zip(pullback(cotangent), leaves, strict=True):
        np.testing.assert_allclose(gradient, leaf.grad, rtol=1e-3, atol=1e-5)


def test_tv_deblur(example: Any, rng: np.random.Generator) -> None:
    module = example("tv_deblur")
    numbers = module.main(size=24, steps=3, inner=20)
    assert numbers["energy after"] < 0.2 * numbers["energy before"]
    assert numbers["PSNR after"] > numbers["PSNR before"] + 1

    image, observed, u, v = rng.random((4, 12, 13))
    rest = observed, module.deblur.kernel().astype(float), 0.1
    times, slope = aj.jit(module.product), aj.jit(aj.grad(module.energy))
    np.testing.assert_allclose(
        np.vdot(u, times(image, v, *rest)), np.vdot(v, times(image, u, *rest)), rtol=1e-10
    )
    step = 1e-5
    change = slope(image + step * v, *rest) - slope(image - step * v, *rest)
    np.testing.assert_allclose(times(image, v, *rest), change / (2 * step), rtol=1e-5, atol=1e-6)


def test_second_derivatives(example: Any, rng: np.random.Generator) -> None:
    mixture, lstm = example("gaussian_mixture"), example("lstm")
    warping, slicing = example("flow_warp"), example("bilateral_slice")
    histogram, filtering = example("histogram_matching"), example("iir_filter")
    normal, uniform = rng.standard_normal, rng.random

    def posterior(*arguments: Any) -> Any:
        return sum(mixture.objective(*arguments, gamma=1.0, m=0))

    aj.check_grads(posterior, (normal(2), normal((2, 2)), 0.3 * normal((2, 3)), normal((4, 2))))
    aj.check_grads(lstm.objective, (uniform((4, 12)), uniform((3, 3)), uniform((4, 3)),
                                    uniform((5, 3))))  # fmt: skip
    aj.check_grads(warping.misfit, (normal((2, 3, 3)), uniform((7, 8)), uniform((7, 8))))
    aj.check_grads(
        lambda grid, mix, photo, wanted: slicing.misfit({"grid": grid, "mix": mix}, photo, wanted),
        (normal((2, 3, 4, 3, 4)), normal(4), uniform((4, 5, 3)), uniform((4, 5, 3))),
    )
    aj.check_grads(histogram.misfit, (0.3 * normal(5), uniform((3, 4)), uniform(7)))
    b, a, x = np.array([0.3, 0.5, -0.2]), np.array([-0.4, 0.25]), normal((6, 2))
    aj.check_grads(filtering.misfit, (b, a, x, normal((6, 2))))
