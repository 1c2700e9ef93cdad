"""PyTorch's tensors on a GPU, where there is one: in place, in its streams, the same bits again."""

from __future__ import annotations

import os
from typing import Any

import adjit as aj
import pytest

torch = pytest.importorskip("torch")

# A process that has asked for GPUs must not fork: tools/gpu-check says that these may.
if not os.environ.get("ADJIT_GPU_TESTS") or not torch.cuda.is_available():
    pytest.skip("no GPU is to be used", allow_module_level=True)


def loss(x: Any, w: Any) -> Any:
    return aj.sum(aj.nn.softmax(aj.tanh(x @ w)) ** 2)


def reference(x: Any, w: Any) -> tuple[Any, ...]:
    """The value and both gradients."""
    x, w = (t.detach().clone().requires_grad_() for t in (x, w))
    value = (torch.softmax(torch.tanh(x @ w), -1) ** 2).sum()
    return (value.detach(), *torch.autograd.grad(value, (x, w)))


def normal(*shape: int, seed: int = 0, **options: Any) -> Any:
    generator = torch.Generator(device="cuda").manual_seed(seed)
    return torch.randn(*shape, device="cuda", generator=generator, **options)


@pytest.fixture(autouse=True)
def full_precision() -> None:
    torch.backends.cuda.matmul.allow_tf32 = False


def close(mine: Any, theirs: Any) -> None:
    assert isinstance(mine, torch.Tensor) and mine.device == theirs.device
    torch.testing.assert_close(mine, theirs, rtol=2e-4, atol=2e-5)


def test_values_and_gradients_are_tensors_of_the_gpu() -> None:
    x, w = normal(65, 33), normal(33, 17, seed=1)
    value, gradients = aj.jit(aj.value_and_grad(loss, (0, 1)))(x, w)
    for mine, theirs in zip((value, *gradients), reference(x, w), strict=True):
        close(mine, theirs)


def test_strides_dtypes_and_empty_tensors() -> None:
    f = aj.jit(lambda x: x * 2 + 1)
    x = normal(6, 8)
    for given in (x, x.T, x[::2, 1:], x[:0], x[0, 0], x.half(), x.bfloat16(), x.double(), x.int()):
        close(f(given), given * 2 + 1)


def test_two_runs_give_the_same_bits() -> None:
    step = aj.jit(aj.grad(loss, (0, 1)))
    x, w = normal(257, 129), normal(129, 65, seed=1)
    for one, other in zip(step(x, w), step(x, w), strict=True):
        assert torch.equal(one, other)


def test_calls_are_in_order_in_the_current_stream() -> None:
    f = aj.jit(lambda x: x * 3)
    x = torch.zeros(1 << 20, device="cuda")
    f(x)
    side = torch.cuda.Stream()
    for stream in (torch.cuda.current_stream(), side):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(50_000_000)
            x = torch.ones(1 << 20, device="cuda")
            y = f(x) + 1
        stream.synchronize()
        assert float(y.min()) == float(y.max()) == 4


def test_streams_side_by_side_do_not_share_a_workspace() -> None:
    f = aj.jit(lambda x: aj.sum(aj.exp(x - aj.max(x, axis=1, keepdims=True)), axis=1))
    inputs = [normal(300, 200, seed=k) for k in range(8)]
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream() for _ in inputs]
    found = []
    for x, stream in zip(inputs, streams, strict=True):
        with torch.cuda.stream(stream):
            found.append(f(x))
    torch.cuda.synchronize()
    for x, mine in zip(inputs, found, strict=True):
        close(mine, torch.exp(x - x.max(1, keepdim=True).values).sum(1))


def test_a_captured_call_is_replayed() -> None:
    f = aj.jit(lambda x: aj.tanh(x) * 2)
    x = normal(1000)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        f(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = f(x)
    x.copy_(normal(1000, seed=5))
    graph.replay()
    torch.cuda.synchronize()
    close(y, torch.tanh(x) * 2)


def test_an_index_out_of_range_is_told_later() -> None:
    compiled = aj.lower(
        lambda x, i: aj.take(x, i, axis=0), normal(5), torch.tensor([0, 1], device="cuda")
    ).compile()
    compiled(normal(5), torch.tensor([0, 7], device="cuda"))
    with pytest.raises(aj.BoundsError, match="7"):
        compiled.synchronize()


def test_scatters_of_equal_indices_give_the_same_bits() -> None:
    table, index = normal(50, 16), torch.randint(0, 3, (4096,), device="cuda")
    step = aj.jit(aj.grad(lambda t, i: aj.sum(aj.nn.embedding(i, t) ** 2)))
    one, other = step(table, index), step(table, index)
    assert torch.equal(one, other)
    counts = torch.bincount(index, minlength=50).unsqueeze(1)
    torch.testing.assert_close(one, 2 * table * counts, rtol=1e-3, atol=1e-3)
