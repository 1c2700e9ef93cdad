"""Bad or unusual input: a clear error that names the user's line, or the right result."""

from __future__ import annotations

import ctypes
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import adjit as aj
import numpy as np
import pytest
from adjit._core import library
from adjit._trace import expr

A34 = np.arange(12.0).reshape(3, 4)


def here(offset: int = 0) -> str:
    """file:line of the caller's line, moved by offset."""
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return f"{Path(__file__).name}:{frame.f_back.f_lineno + offset}"


def test_wrong_shape_names_operation_line_and_shapes() -> None:
    with pytest.raises(aj.ShapeError, match=r"matmul.*\(3, 4\) \(5, 6\)") as caught:
        aj.matmul(A34, np.ones((5, 6)))
    assert Path(__file__).name in str(caught.value)
    with pytest.raises(aj.ShapeError):
        aj.jit(lambda x, y: x + y)(A34, np.ones(3))


def test_error_in_a_traced_function_names_its_line() -> None:
    lines = []

    def f(x: Any) -> Any:
        lines.append(here(1))
        return x @ x

    with pytest.raises(aj.ShapeError) as caught:
        aj.jit(f)(A34)
    assert lines[0] in str(caught.value)


def test_mixed_floats_raise() -> None:
    with pytest.raises(aj.DTypeError, match="float64 and float32"):
        aj.add(A34, A34.astype(np.float32))


def test_unsupported_dtype_raises() -> None:
    with pytest.raises(aj.DTypeError, match="complex128"):
        aj.exp(np.array([1 + 2j]))
    with pytest.raises(aj.DTypeError, match="str"):
        aj.jit(lambda x: x)("text")


def test_wrong_rank_raises() -> None:
    with pytest.raises(aj.ShapeError, match="rank 4"):
        aj.nn.conv2d(A34, A34)


def test_wrong_argument_count_and_attribute() -> None:
    with pytest.raises(TypeError):
        aj.exp(A34, A34, A34)
    with pytest.raises(TypeError, match=r"exp: .*its signature is exp\(x\)"):
        aj.exp(A34, base=2)
    with pytest.raises(aj.Error):
        aj.sum(A34, axis=2)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[7],
        lambda x: x[:, -5],
        lambda x: aj.compute((5,), lambda i: x[i, 0]),
        lambda x: aj.compute((3,), lambda i: x[i, 9]),
        lambda x: aj.compute((3,), lambda i: x[i - 1, 0]),
    ],
)
def test_constant_index_out_of_bounds(f: Any) -> None:
    with pytest.raises(aj.BoundsError, match=Path(__file__).name):
        aj.jit(f)(A34)


def test_guarded_reads_stay_in_bounds() -> None:
    got = aj.compute((3,), lambda i: aj.select(i >= 1, aj_read(A34, i - 1, 0), 0.0))
    np.testing.assert_array_equal(got, [0, 0, 4])


def aj_read(x: Any, *index: Any) -> Any:
    return expr.read(x, index)


def test_zero_size_dimensions_work() -> None:
    assert aj.matmul(np.ones((0, 4)), np.ones((4, 2))).shape == (0, 2)
    np.testing.assert_array_equal(aj.matmul(np.ones((3, 0)), np.ones((0, 2))), np.zeros((3, 2)))
    assert aj.grad(lambda x: aj.sum(x * x))(np.ones((0, 3))).shape == (0, 3)
    assert float(aj.sum(np.ones((0,)))) == 0
    with pytest.raises(aj.ShapeError, match="empty"):
        aj.max(np.ones((0,)))


LAYOUTS = {
    "transposed": lambda a: a.T,
    "strided": lambda a: a[::2, ::3],
    "negative": lambda a: a[::-1, ::-1],
    "broadcast": lambda a: np.broadcast_to(a[0], (5, 4)),
    "fortran": np.asfortranarray,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_strides_zero_copy(layout: str) -> None:
    from adjit._arrays import arrays

    x = LAYOUTS[layout](A34)
    view = arrays.view(x)
    assert view.address == x.ctypes.data
    assert view.strides == tuple(s // 8 for s in x.strides)
    value, gradient = aj.value_and_grad(lambda x: aj.sum(x * x * x))(x)
    np.testing.assert_allclose(value, np.sum(x**3))
    np.testing.assert_allclose(gradient, 3 * x**2)


def test_odd_strides_and_byte_order_are_copied_on_every_call() -> None:
    packed = np.zeros(5, dtype=[("a", "i1"), ("b", "<f8")])
    packed["b"] = np.arange(5)
    swapped = np.arange(5).astype(">f8")
    f = aj.jit(lambda x: x * 2)
    for _ in range(3):
        np.testing.assert_array_equal(f(packed["b"]), np.arange(5) * 2.0)
        np.testing.assert_array_equal(f(swapped), np.arange(5) * 2.0)
        np.testing.assert_array_equal(f(np.arange(5.0)), np.arange(5) * 2.0)


def test_read_only_arrays_are_inputs() -> None:
    x = np.arange(4.0)
    x.flags.writeable = False
    np.testing.assert_allclose(aj.exp(x), np.exp(x))


def test_nan_and_infinity_propagate() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 1.0])
    np.testing.assert_allclose(aj.exp(x), np.exp(x))
    np.testing.assert_array_equal(aj.max(np.array([1.0, np.nan, 2.0])), np.nan)
    np.testing.assert_array_equal(aj.sum(np.array([1.0, np.inf])), np.inf)
    np.testing.assert_array_equal(aj.grad(lambda x: aj.sum(x * x))(x), 2 * x)
    np.testing.assert_array_equal(aj.nn.relu(x), [np.nan, np.inf, 0, 1])


def test_traced_value_after_its_trace() -> None:
    kept = []

    def f(x: Any) -> Any:
        kept.append(x)
        return x * 2

    jitted = aj.jit(f)
    jitted(A34)
    for use in (
        lambda: kept[0] + 1,
        lambda: aj.jit(lambda x: x + kept[0])(A34),
        lambda: jitted(kept[0]),
        lambda: aj.compute((3,), lambda i: kept[0][i, 0]),
    ):
        with pytest.raises(aj.Error, match="trace has\\s+ended|that trace has ended"):
            use()


def test_pullback_after_its_trace() -> None:
    kept = []

    def f(x: Any) -> Any:
        out, pullback = aj.vjp(aj.sin, x)
        kept.append(pullback)
        return out

    aj.jit(f)(A34)
    with pytest.raises(aj.Error, match="ended"):
        kept[0](A34)


def test_python_control_flow_names_the_line() -> None:
    lines = []

    def f(x: Any) -> Any:
        lines.append(here(1))
        if x[0, 0] > 0:
            return x
        return -x

    with pytest.raises(aj.Error, match="aj.where") as caught:
        aj.jit(f)(A34)
    assert lines[0] in str(caught.value)


@pytest.mark.parametrize("convert", [int, float, np.asarray, lambda x: range(3)[x], bool])
def test_values_of_traced_tensors_are_unknown(convert: Any) -> None:
    with pytest.raises(aj.Error, match="not known while"):
        aj.jit(lambda x: convert(x))(np.array(1))


def test_parse_error_has_line_column_and_caret() -> None:
    with pytest.raises(aj.ParseError) as caught:
        aj.define("def f(float(N) A) -> (B) {\n    B(i) = A(i) +* 2\n}\n")
    assert (caught.value.line, caught.value.column) == (2, 18)
    lines = str(caught.value).splitlines()
    assert lines[-2].strip() == "B(i) = A(i) +* 2"
    assert lines[-2][lines[-1].index("^")] == "*"
    assert isinstance(caught.value, SyntaxError)


@pytest.mark.parametrize("target", ["abacus", "cuda:x", "cuda:", "gpu"])
def test_other_targets_raise(target: str) -> None:
    with pytest.raises(aj.DeviceError, match=target):
        aj.jit(lambda x: x, target=target)
    with pytest.raises(aj.DeviceError):
        aj.lower(lambda x: x, A34, target=target)


def test_gradient_of_integers_raises() -> None:
    for f in (
        lambda x: aj.sum(x),
        lambda x: aj.sum(x * 1.0),
        lambda x: aj.sum(x.astype("float64")),
    ):
        with pytest.raises(aj.NotDifferentiableError, match="int64"):
            aj.grad(f)(np.arange(3))


def test_gradient_through_an_integer_is_zero() -> None:
    g = aj.grad(lambda x: aj.sum(x.astype("int32").astype("float64") * 2.0))(np.ones(3))
    np.testing.assert_array_equal(g, np.zeros(3))


def test_argnums_count_positional_arguments() -> None:
    with pytest.raises(aj.Error, match=r"grad\(f\): argnums names argument 0, .* by position"):

        def f(x: Any) -> Any:
            return aj.sum(x * x)

        aj.grad(f)(x=A34)


def test_gradient_of_a_tensor_raises() -> None:
    with pytest.raises(aj.Error, match="scalar"):
        aj.grad(lambda x: x)(A34)
    with pytest.raises(aj.Error, match="argnums"):
        aj.grad(lambda x: aj.sum(x), argnums=1)(A34)


def test_cotangent_of_wrong_shape_dtype_or_structure() -> None:
    _, pullback = aj.vjp(lambda x: (x * 2, x + 1), A34)
    with pytest.raises(aj.ShapeError, match=r"\(4, 3\)"):
        pullback((A34.T, A34))
    with pytest.raises(aj.ShapeError, match="structure"):
        pullback(A34)
    with pytest.raises(aj.DTypeError):
        pullback((A34.astype(np.float32), A34))


def test_errors_have_one_base() -> None:
    for name in "Shape DType Bounds NotDifferentiable Parse Schedule Compile Device Cache".split():
        assert issubclass(getattr(aj, name + "Error"), aj.Error)


def test_unwritable_cache_directory_works_from_memory(python: Any, tmp_path: Path) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("not a directory")
    done = python(
        "import numpy as np, adjit as aj\n"
        "for f in (aj.exp, aj.sin):\n"
        "    print(f(np.zeros(2)), aj.compilations[-1]['cache'])\n",
        ADJIT_CACHE=None,
        ADJIT_CACHE_DIR=str(occupied / "cache"),
    )
    assert done.stdout.splitlines() == ["[1. 1.] miss", "[0. 0.] miss"]
    assert len(done.stderr.strip().splitlines()) == 1
    assert "cache" in done.stderr


def test_gradient_of_a_permutation_by_a_foreign_call_is_refused() -> None:
    """Sorting by a function of the user's own: where its line is, and what to do instead."""
    m = aj.define(
        "def f(double(4) x) -> (y) {\n"
        "  call (double(4) v, int64(4) order) = sort(x)\n"
        "  y(i) = v(i) * x(order(i))\n"
        "}\n"
    )
    with pytest.raises(
        aj.NotDifferentiableError, match="'sort' has no derivative.*custom_vjp"
    ) as e:
        aj.grad(lambda x: aj.sum(m.f(x)))(np.arange(4.0))
    assert f"{Path(__file__).name}:" in str(e.value) and ":2" in str(e.value)
    # Forward mode says so, too.
    with pytest.raises(aj.NotDifferentiableError, match="stop_gradient"):
        aj.jvp(m.f, (np.arange(4.0),), (np.ones(4),))


@pytest.mark.parametrize("kind", [RecursionError, MemoryError, KeyboardInterrupt])
def test_what_a_conversion_raises_arrives_as_it_is(kind: type[BaseException]) -> None:
    class Raising:
        @property
        def _as_parameter_(self) -> Any:
            raise kind("while converting")

    with pytest.raises(kind, match="while converting"):
        library.call("adjit_trace_create", Raising(), None)
    with pytest.raises(ctypes.ArgumentError):
        library.call("adjit_trace_create", 3.5, None)


def test_the_end_of_the_stack_is_a_recursion_error_wherever_it_is_met() -> None:
    program = """
import sys
import adjit as aj
import numpy as np
x = np.ones(3)
def f(x):
    k = aj.reduce_axis(3)
    return aj.sin(x) + aj.compute((3,), lambda i: aj.sum(x[i] * x[k], axis=k))
def depth():
    frame, count = sys._getframe(), 0
    while frame:
        frame, count = frame.f_back, count + 1
    return count
aj.jit(f)(x)
met = 0
for room in range(4, 90):
    g = aj.jit(lambda x: f(x) * (room + 2.0))
    sys.setrecursionlimit(depth() + room)
    try:
        g(x)
    except RecursionError:
        met += 1
    finally:
        sys.setrecursionlimit(1000)
np.testing.assert_allclose(aj.jit(f)(x), np.sin(1) + 3)
print(met)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10


# Each in a child process: what is wrong ends it, or takes all its time or memory.
@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("aj.nn.pixel_shuffle(np.ones((1, 4, 1, 4), np.float32), 2**32)", "ShapeError"),
        ("aj.nn.adaptive_avg_pool1d(np.ones((2, 8), np.float32), 2**31)", "MemoryError"),
        ("aj.nn.adaptive_avg_pool2d(np.ones((2, 8, 8), np.float32), 2**40)", "ShapeError"),
        ("aj.full((3,), np.ones((4, 4), np.float32))", "ShapeError"),
        ("aj.full_like(np.ones(3), np.ones((4, 3)))", "ShapeError"),
        (
            "aj.nn.conv_transpose2d(np.ones((1, 1, 4, 4)), np.ones((1, 1, 2, 2)), "
            "stride=2**63 - 1)",
            "ShapeError",
        ),
        ("aj.sum(aj.broadcast_to(np.ones((1,), np.float32), (2**62 + 1,)))", "ShapeError"),
        ("aj.tile(np.ones(3), 2**62)", "ShapeError"),
        ("aj.zeros((2**31, 2**31))", "ShapeError"),
        ("aj.zeros((0, 2**40, 2**40))", "ShapeError"),
        (
            "aj.jit(lambda x: aj.unstack(aj.broadcast_to(x, (2**40,))))(np.ones(1))",
            "ShapeError",
        ),
        ("aj.pad(np.ones(3), 2**62, mode='reflect')", "ShapeError"),
        ("aj.arange(0, 1e300)", "ShapeError"),
        ("aj.compute((2**40, 2**40), lambda i, j: i + j)", "ShapeError"),
    ],
)
def test_sizes_that_cannot_be_are_errors(call: str, error: str) -> None:
    program = f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
import adjit as aj
import numpy as np
try:
    {call}
except (aj.Error, MemoryError) as e:
    print(type(e).__name__, e)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(error), done.stdout
    if error == "ShapeError":
        assert "<string>:8" in done.stdout


def test_attributes_nested_deeply_are_refused(python: Any) -> None:
    """By the C interface, which takes them as JSON."""
    python("""
import ctypes
from adjit._core.library import Handle, call, ids
trace = Handle("trace", lambda out: call("adjit_trace_create", b"f", out))
x, y, count = ids([0]), ids([0]), ctypes.c_int32(1)
shape = (ctypes.c_int64 * 1)(3)
call("adjit_trace_input", trace.value, b"x", 9, 1, shape, 0, x)
for text in ("[" * 80000, "[" * 80000 + "]" * 80000, '{"axis": ' + "[" * 80000 + "]" * 80000 + "}"):
    try:
        call("adjit_trace_operator", trace.value, b"sum", 1, x, text.encode(), count, y)
        raise SystemExit("accepted")
    except Exception as e:
        assert "nested deeper than 64 levels" in str(e), e
""")
