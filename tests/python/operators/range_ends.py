"""Operators at the ends of the range: the points, what PyTorch gives there, and how it is compared.

An operator is called on special numbers (zeros, the least and the largest ones, infinities, NaN,
small integers and halves); value, first and second derivatives are compared with PyTorch's. float32
is compared with PyTorch's float64, so that what is asked for is the exact number, rounded.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import adjit as aj
import numpy as np
import torch
from adjit.operators import Row
from range_cases import CASES, Case

Array = Any
F = torch.nn.functional
torch.set_num_threads(1)


class Difference(NamedTuple):
    """One number that is not the reference's."""

    operator: str
    what: str  # "value", "first", "second"
    dtype: str
    point: dict[str, Any]  # x, y, z of an elementwise operator; s, place, operand of another
    ours: float
    theirs: float

    def __str__(self) -> str:
        point = ", ".join(
            f"{k} = {v:g}" if isinstance(v, float) else f"{k} = {v}" for k, v in self.point.items()
        )
        return (
            f"{self.operator} ({self.dtype}), {self.what} at {point}: "
            f"{self.ours:.9g}, the reference has {self.theirs:.9g}"
        )


# Positive points in float32, and what stands for them in float64, whose range is wider.
_POINTS = [
    (0.0, 0.0),
    (1.5e-45, 5e-324),  # subnormal: counts as zero
    (float(np.finfo(np.float32).tiny), float(np.finfo(np.float64).tiny)),
    (1e-25, 1e-200),  # its square is below the range
    (0.5, 0.5),
    (1.0, 1.0),
    (2.0, 2.0),
    (3.0, 3.0),
    (1e25, 1e200),  # its square is beyond the range
    (float(np.finfo(np.float32).max), float(np.finfo(np.float64).max)),
    (np.inf, np.inf),
]
_MORE = [(a, a) for a in (1e-5, 0.25, 1.5, 10.0, 20.5, 1e4, 1e10)]
_FEW = [_POINTS[k] for k in (0, 2, 4, 5, 8, 10)]


def specials(dtype: str, of: Sequence[tuple[float, float]] = _POINTS) -> list[float]:
    """The points of both signs, and NaN."""
    return [sign * pair[dtype == "float64"] for pair in of for sign in (1, -1)] + [np.nan]


def _grid(dtype: str, operands: int) -> list[Array]:
    """All combinations of special numbers, one array for each operand."""
    of = [*_POINTS, *_MORE] if operands == 1 else _POINTS if operands == 2 else _FEW
    rows = np.array(list(itertools.product(specials(dtype, of), repeat=operands)), dtype)
    return [np.ascontiguousarray(rows[:, k]) for k in range(operands)]


_ELEMENTWISE = (
    "(...) -> (...)",
    "(...), (...) -> broadcast",
    "(...), (...), (...) -> broadcast",
    "(...), (...) -> (), or (...) for reduction='none'",
)


def is_elementwise(row: Row) -> bool:
    """Whether the elements do not see each other, as the row's shapes say."""
    shapes = row.doc.partition("Shapes: ")[2].partition("\n")[0]
    return shapes in _ELEMENTWISE and row.name not in CASES


def case_of(row: Row) -> Case:
    """The operator's own case, or PyTorch's function of the same name."""
    if row.name in CASES:
        return CASES[row.name]
    ours: Any = aj
    for part in row.name.split("."):
        ours = getattr(ours, part)
    tail = row.name.rpartition(".")[2]
    modules = (F, torch) if row.name.startswith("nn.") else (torch, torch.special, F)
    theirs = next((getattr(m, tail) for m in modules if hasattr(m, tail)), None)
    assert theirs is not None, f"{row.name}: PyTorch has no such name; add it to range_cases.py"
    if "reduction" in row.attributes:
        ours = functools.partial(ours, reduction="none")
        theirs = functools.partial(theirs, reduction="none")
    return Case(ours, theirs, ((),) * len(row.tensors))


class Results(NamedTuple):
    value: Array
    first: list[Array]
    second: list[Array]


def _pattern(shape: Sequence[int], dtype: Any, elementwise: bool) -> Array:
    """What results are weighted by before they are differentiated."""
    if elementwise:
        return np.ones(shape, dtype)
    return np.resize(np.array([1.0, -0.5, 2.0, 0.75, -1.5], dtype), shape)


def _weights_of_slopes(
    shapes: Sequence[Any], dtype: Any, elementwise: bool
) -> Iterator[list[Array]]:
    """Of elementwise operators every second partial derivative on its own, else one sum of all."""
    if not elementwise:
        yield [_pattern(s, dtype, False) for s in shapes]
        return
    for k in range(len(shapes)):
        yield [np.full(s, float(k == n), dtype) for n, s in enumerate(shapes)]


def compiled(case: Case, elementwise: bool) -> Callable[..., Results]:
    """Value, gradients and second derivatives by adjit, as one compiled function."""

    def run(*x: Any) -> Any:
        y, pullback = aj.vjp(case.ours, *x)
        if np.dtype(y.dtype).kind != "f":
            return y, [], []
        seed = _pattern(y.shape, y.dtype, elementwise)
        first = pullback(seed)
        _, again = aj.vjp(lambda *x: aj.vjp(case.ours, *x)[1](seed), *x)
        second: list[Any] = []
        for weights in _weights_of_slopes([g.shape for g in first], y.dtype, elementwise):
            second.extend(again(tuple(weights)))
        return y, list(first), second

    function = aj.jit(run)
    return lambda *x: Results(*function(*x))


def reference(case: Case, arrays: Sequence[Array], elementwise: bool) -> Results:
    """The same by PyTorch, in the dtype of the arrays."""
    x = [torch.tensor(a, requires_grad=True) for a in arrays]
    y = case.theirs(*x)
    if not y.dtype.is_floating_point:
        return Results(y.numpy(force=True), [], [])
    first = _gradients([y], x, [_pattern(y.shape, arrays[0].dtype, elementwise)])
    second: list[Any] = []
    for weights in _weights_of_slopes([g.shape for g in first], arrays[0].dtype, elementwise):
        second.extend(_gradients(first, x, weights))
    return Results(
        y.numpy(force=True),
        [g.numpy(force=True) for g in first],
        [g.numpy(force=True) for g in second],
    )


def _gradients(outputs: Sequence[Any], x: Sequence[Any], weights: Sequence[Array]) -> list[Any]:
    live = [(o, torch.tensor(w)) for o, w in zip(outputs, weights, strict=True) if o.requires_grad]
    found: Sequence[Any] = [None] * len(x)
    if live:
        found = torch.autograd.grad(
            [o for o, _ in live], x, [w for _, w in live], create_graph=True, allow_unused=True
        )
    return [torch.zeros_like(a) if g is None else g for a, g in zip(x, found, strict=True)]


def _flushed(x: Array) -> Array:
    """Subnormal numbers count as zeros of their sign."""
    return np.where(np.abs(x) < np.finfo(x.dtype).tiny, np.copysign(0, x), x).astype(x.dtype)


def _unequal(got: Array, wanted: Array, scale: float | None) -> Array:
    """Where a result is not the reference, rounded; sums err by the scale of their terms."""
    if got.dtype.kind != "f":
        return np.asarray(got != wanted)
    info = np.finfo(got.dtype)
    rounded = wanted.astype(got.dtype)
    relative = 2e-5 if got.dtype == np.float32 else 1e-11
    allowed = relative * np.abs(wanted) + 64 * info.eps * (scale or 0.0) + 8 * info.tiny
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    # Beyond a sixteenth of the largest number what is added or scaled on the way may overflow.
    huge = np.abs(wanted) > info.max / 16
    edge = np.isinf(got) & (got * wanted > 0) if scale is None else ~np.isfinite(got)
    return ~(same | (huge & edge) | (np.isfinite(got) & (np.abs(got - wanted) <= allowed)))


def _scale(arrays: Sequence[Array], dtype: Any) -> float:
    finite = [np.abs(a[np.isfinite(a.astype(dtype))]).max(initial=0.0) for a in arrays]
    return float(max(finite, default=0.0))


def differences(row: Row) -> Iterator[Difference]:
    """All numbers of an operator that are not the reference's, in float32 and float64."""
    case, elementwise = case_of(row), is_elementwise(row)
    function = compiled(case, elementwise)
    places = _everywhere if elementwise else _placed
    with np.errstate(all="ignore"):
        for narrow, wide in zip(places(case, "float32"), places(case, "float64"), strict=True):
            found = [_compared(function, case, arrays, elementwise) for _, arrays in (narrow, wide)]
            for (point, _), results, other in zip(
                (narrow, wide), found, (None, found[0]), strict=True
            ):
                yield from _named(row.name, point, results, other)


Placed = tuple[dict[str, Any], list[Array]]


def _everywhere(case: Case, dtype: str) -> Iterator[Placed]:
    arrays = _grid(dtype, len(case.shapes))
    yield dict(zip("xyz", arrays, strict=False)), arrays


def _placed(case: Case, dtype: str) -> Iterator[Placed]:
    """Ordinary operands, one of which has a special number at one place, at two, or everywhere."""
    random = np.random.default_rng(0)
    base = [random.uniform(0.5, 2, shape).astype(dtype) for shape in case.shapes]
    for operand, s in itertools.product(range(len(base)), specials(dtype)):
        size = base[operand].size
        for place, at in (("one", [1]), ("two", [1, 2]), ("all", range(size))):
            if size > 2 or place == "all":
                arrays = [a.copy() for a in base]
                arrays[operand].flat[list(at)] = s
                yield {"s": s, "place": place, "operand": operand}, arrays


class Compared(NamedTuple):
    what: str
    got: Array
    wanted: Array
    wrong: Array


def _compared(
    function: Callable[..., Results], case: Case, arrays: list[Array], elementwise: bool
) -> list[Compared]:
    dtype = arrays[0].dtype
    zeroed = [_flushed(a) for a in arrays]
    got = function(*arrays)
    exact = reference(case, [a.astype(np.float64) for a in zeroed], elementwise)
    alike = reference(case, zeroed, elementwise) if dtype == np.float32 else exact
    compared = []
    for what, results, wanted, same in (
        ("value", [got.value], [exact.value], [alike.value]),
        ("first", got.first, exact.first, alike.first),
        ("second", got.second, exact.second, alike.second),
    ):
        scale = None if elementwise else _scale([np.asarray(w) for w in wanted], dtype)
        for triple in zip(results, wanted, same, strict=True):
            g, w, v = (np.asarray(r) for r in triple)
            wrong = _unequal(g, w, scale)
            # What leaves the range on the way in float32 is allowed where it does so in PyTorch,
            # but not in the value and first derivative of one formula.
            if what == "second" or not elementwise:
                wrong &= _unequal(g, v, scale)
            compared.append(Compared(what, g, w, wrong))
    return compared


def _kind(x: Array) -> Array:
    """NaN, infinite, zero or a number, with its sign."""
    if x.dtype.kind != "f":
        return x
    sign = np.where(np.isnan(x), 2, np.sign(x))
    return sign * np.where(np.isinf(x), 3, 1)


def _named(
    name: str, point: dict[str, Any], results: list[Compared], narrow: list[Compared] | None
) -> Iterator[Difference]:
    """What is wrong. In float64 the reference is not exact: a number of the kind that float32 has
    at the corresponding point, and has right, is right."""
    for k, (what, got, wanted, wrong) in enumerate(results):
        if narrow:
            wrong = wrong & (narrow[k].wrong | (_kind(got) != _kind(narrow[k].got)))
        for index in np.flatnonzero(wrong):
            at = {n: float(a[index]) if np.ndim(a) else a for n, a in point.items()}
            yield Difference(
                name, what, str(got.dtype), at, float(got.flat[index]), float(wanted.flat[index])
            )
