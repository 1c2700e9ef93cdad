// tests/bindings/c/index_notation_test.cpp -- scalar expressions, reductions, compute and scatter.
#include "tests/bindings/c/support.hpp"

namespace adjit_test {
namespace {

// A trace with x (5, 7) and the axes i in 0:5, j in 0:7.
struct Notation {
  Trace t = trace("notation");
  adjit_tensor x = input(t, {5, 7});
  adjit_axis i = axis(5), j = axis(7);
  adjit_expr at_i = value(i), at_j = value(j);

  adjit_axis axis(int64_t extent) {
    adjit_axis made = ADJIT_NONE;
    EXPECT_EQ(adjit_axis_create(t.get(), 0, extent, nullptr, &made), ADJIT_OK);
    return made;
  }
  adjit_expr value(adjit_axis a) {
    adjit_expr made = ADJIT_NONE;
    EXPECT_EQ(adjit_expr_axis(t.get(), a, &made), ADJIT_OK);
    return made;
  }
  adjit_expr number(double v) {
    adjit_expr made = ADJIT_NONE;
    EXPECT_EQ(adjit_expr_float(t.get(), v, &made), ADJIT_OK);
    return made;
  }
  adjit_expr integer(int64_t v) {
    adjit_expr made = ADJIT_NONE;
    EXPECT_EQ(adjit_expr_int(t.get(), v, &made), ADJIT_OK);
    return made;
  }
  adjit_expr apply(const char* operation, std::vector<adjit_expr> operands) {
    adjit_expr made = ADJIT_NONE;
    EXPECT_EQ(adjit_expr_apply(t.get(), operation, static_cast<int32_t>(operands.size()),
                               operands.data(), &made),
              ADJIT_OK)
        << operation << ": " << adjit_last_error_message();
    return made;
  }
  adjit_expr read(std::vector<adjit_expr> index, const char* mode = nullptr) {
    adjit_expr made = ADJIT_NONE;
    EXPECT_EQ(
        adjit_expr_read(t.get(), x, static_cast<int32_t>(index.size()), index.data(), mode, &made),
        ADJIT_OK)
        << adjit_last_error_message();
    return made;
  }
  adjit_expr x_ij() { return read({at_i, at_j}); }
  adjit_expr reduce(const char* reducer, adjit_expr body, adjit_axis over,
                    adjit_expr where = ADJIT_NONE) {
    adjit_expr made = ADJIT_NONE;
    EXPECT_EQ(adjit_expr_reduce(t.get(), reducer, body, 1, &over, where, nullptr, &made), ADJIT_OK)
        << reducer << ": " << adjit_last_error_message();
    return made;
  }
  adjit_tensor compute(std::vector<adjit_axis> axes, adjit_expr body) {
    adjit_tensor made = ADJIT_NONE;
    EXPECT_EQ(adjit_trace_compute(t.get(), "y", static_cast<int32_t>(axes.size()), axes.data(), 1,
                                  &body, &made),
              ADJIT_OK)
        << adjit_last_error_message();
    return made;
  }
  // y over i, for x = 0, 1, 2, ...
  std::vector<float> run(adjit_tensor y) {
    const Computation f = finish(t, {y});
    const Context c = context();
    const Executable e = compiled(lowered(c, f));
    Floats in({5, 7}), out({5});
    const DLTensor* inputs[] = {&in.tensor};
    DLTensor* outputs[] = {&out.tensor};
    EXPECT_EQ(adjit_executable_run(e.get(), 1, inputs, 1, outputs), ADJIT_OK)
        << adjit_last_error_message();
    return out.data;
  }
};

TEST(IndexNotationApi, SumsOfProducts) {
  Notation n;
  const adjit_expr product = n.apply("*", {n.x_ij(), n.apply("add", {n.x_ij(), n.number(1)})});
  const std::vector<float> y = n.run(n.compute({n.i}, n.reduce("sum", product, n.j)));
  for (int i = 0; i < 5; ++i) {
    float expected = 0;
    for (int j = 0; j < 7; ++j)
      expected += static_cast<float>(7 * i + j) * static_cast<float>(7 * i + j + 1);
    EXPECT_EQ(y[static_cast<size_t>(i)], expected);
  }
}

TEST(IndexNotationApi, WhereLeavesOut) {
  Notation n;
  const adjit_expr below = n.apply("<", {n.at_j, n.at_i});
  const std::vector<float> y = n.run(n.compute({n.i}, n.reduce("sum", n.x_ij(), n.j, below)));
  EXPECT_EQ(y, (std::vector<float>{0, 7, 14 + 15, 21 + 22 + 23, 28 + 29 + 30 + 31}));
}

TEST(IndexNotationApi, EveryReducerOfNumbers) {
  for (const auto& [name, expected] : {std::pair{"sum", 7 * 14 + 21.0f},
                                       {"max", 20.0f},
                                       {"min", 14.0f},
                                       {"argmax", 6.0f},
                                       {"argmin", 0.0f}}) {
    Notation n;
    adjit_expr reduced = n.reduce(name, n.x_ij(), n.j), as_float = ADJIT_NONE;
    ADJIT_OK_OR_FAIL(adjit_expr_cast(n.t.get(), reduced, ADJIT_FLOAT32, &as_float));
    EXPECT_EQ(n.run(n.compute({n.i}, as_float))[2], expected) << name;
  }
}

TEST(IndexNotationApi, EveryName) {
  Notation n;
  const adjit_expr v = n.x_ij(), k = n.at_j, one = n.number(1), two = n.integer(2);
  adjit_expr yes = ADJIT_NONE;
  ADJIT_OK_OR_FAIL(adjit_expr_bool(n.t.get(), 1, &yes));
  for (const char* name :
       {"add", "sub", "mul", "div", "+",  "-", "*",  "/", "max", "min", "pow", "lt",
        "le",  "gt",  "ge",  "eq",  "ne", "<", "<=", ">", ">=",  "==",  "!="})
    n.apply(name, {v, one});
  for (const char* name : {"floordiv", "mod", "//", "%", "bitand", "bitor", "bitxor", "lshift",
                           "rshift", "&", "|", "^", "<<", ">>"})
    n.apply(name, {k, two});
  for (const char* name : {"neg", "-", "exp", "abs", "tanh", "sqrt", "floor"}) n.apply(name, {v});
  for (const char* name : {"not", "!"}) n.apply(name, {yes});
  for (const char* name : {"and", "or", "&&", "||"}) n.apply(name, {yes, yes});
  n.apply("invert", {k});
  n.apply("~", {k});
  n.apply("select", {yes, v, one});
  n.apply("fma", {v, v, v});
  adjit_dtype dtype = ADJIT_BOOL;
  ADJIT_OK_OR_FAIL(adjit_expr_dtype(n.t.get(), n.apply("gt", {v, one}), &dtype));
  EXPECT_EQ(dtype, ADJIT_BOOL);
  ADJIT_OK_OR_FAIL(adjit_expr_dtype(n.t.get(), n.apply("add", {v, two}), &dtype));
  EXPECT_EQ(dtype, ADJIT_FLOAT32) << "a literal takes the other operand's dtype";
}

TEST(IndexNotationApi, GreaterIsLessTurnedRound) {
  Notation n;
  const adjit_expr chosen =
      n.apply("select", {n.apply("gt", {n.at_j, n.integer(4)}), n.x_ij(), n.number(0)});
  EXPECT_EQ(n.run(n.compute({n.i}, n.reduce("sum", chosen, n.j)))[0], 5 + 6);
}

TEST(IndexNotationApi, CustomReducers) {
  Notation n;
  // The largest value and how many there were.
  adjit_expr arguments[4], combined[2], identity[2], bodies[2], results[2];
  for (int k = 0; k < 4; ++k)
    ADJIT_OK_OR_FAIL(
        adjit_expr_argument(n.t.get(), k, k % 2 ? ADJIT_INT64 : ADJIT_FLOAT32, &arguments[k]));
  combined[0] = n.apply("max", {arguments[0], arguments[2]});
  combined[1] = n.apply("add", {arguments[1], arguments[3]});
  identity[0] = n.number(-1e30);
  identity[1] = n.integer(0);
  bodies[0] = n.x_ij();
  ADJIT_OK_OR_FAIL(adjit_expr_cast(n.t.get(), n.integer(1), ADJIT_INT64, &bodies[1]));
  ADJIT_OK_OR_FAIL(adjit_expr_reduce_custom(n.t.get(), 2, bodies, combined, identity, 1, &n.j,
                                            ADJIT_NONE, results));
  adjit_expr count = ADJIT_NONE;
  ADJIT_OK_OR_FAIL(adjit_expr_cast(n.t.get(), results[1], ADJIT_FLOAT32, &count));
  const std::vector<float> y = n.run(n.compute({n.i}, n.apply("add", {results[0], count})));
  EXPECT_EQ(y[3], 27 + 7);
}

TEST(IndexNotationApi, ReadsByDataHaveAMode) {
  for (const auto& [mode, expected] : {std::pair{"clip", 6.0f}, {"wrap", 2.0f}, {"drop", 0.0f}}) {
    Notation n;
    const adjit_tensor where = input(n.t, {5}, ADJIT_INT64);
    adjit_expr at = ADJIT_NONE;
    ADJIT_OK_OR_FAIL(adjit_expr_read(n.t.get(), where, 1, &n.at_i, nullptr, &at));
    const adjit_tensor y = n.compute({n.i}, n.read({n.integer(0), at}, mode));
    const Computation f = finish(n.t, {y});
    const Context c = context();
    const Executable e = compiled(lowered(c, f));
    Floats in({5, 7}), out({5});
    int64_t data[] = {9, 0, 1, 2, 3}, shape[] = {5};
    DLTensor indices{data, {kDLCPU, 0}, 1, {kDLInt, 64, 1}, shape, nullptr, 0};
    const DLTensor* inputs[] = {&in.tensor, &indices};
    DLTensor* outputs[] = {&out.tensor};
    ADJIT_OK_OR_FAIL(adjit_executable_run(e.get(), 2, inputs, 1, outputs));
    EXPECT_EQ(out.data[0], expected) << mode;
    EXPECT_EQ(out.data[4], 3) << mode;
  }
}

TEST(IndexNotationApi, Scatters) {
  Notation n;
  adjit_tensor y = kUntouched;
  const int64_t shape[] = {3};
  const adjit_expr target = n.apply("mod", {n.at_i, n.integer(3)});
  const adjit_axis axes[] = {n.i, n.j};
  ADJIT_OK_OR_FAIL(adjit_trace_scatter(n.t.get(), "h", 1, shape, 2, axes, &target, n.x_ij(), "add",
                                       ADJIT_NONE, "drop", ADJIT_NONE, &y));
  EXPECT_NE(y, kUntouched);
  const Computation f = finish(n.t, {y});
  const char* text = nullptr;
  ADJIT_OK_OR_FAIL(adjit_computation_text(f.get(), &text));
  EXPECT_NE(std::string(text).find("scatter"), std::string::npos) << text;
}

TEST(IndexNotationApi, NullIsRefusedAndTouchesNothing) {
  Notation n;
  adjit_trace* t = n.t.get();
  adjit_expr e = kUntouched;
  adjit_axis a = kUntouched;
  adjit_tensor y = kUntouched;
  adjit_dtype dtype = ADJIT_BFLOAT16;
  const adjit_expr v = n.x_ij();
  const int64_t shape[] = {5};
  EXPECT_FAILURE(adjit_axis_create(nullptr, 0, 4, "i", &a), ADJIT_INVALID, "trace");
  EXPECT_FAILURE(adjit_axis_create(t, 0, 4, "i", nullptr), ADJIT_INVALID, "axis");
  EXPECT_FAILURE(adjit_expr_axis(nullptr, n.i, &e), ADJIT_INVALID, "trace");
  EXPECT_FAILURE(adjit_expr_axis(t, n.i, nullptr), ADJIT_INVALID, "expr");
  EXPECT_FAILURE(adjit_expr_int(nullptr, 1, &e), ADJIT_INVALID, "trace");
  EXPECT_FAILURE(adjit_expr_float(nullptr, 1, &e), ADJIT_INVALID, "trace");
  EXPECT_FAILURE(adjit_expr_bool(nullptr, 1, &e), ADJIT_INVALID, "trace");
  EXPECT_FAILURE(adjit_expr_read(nullptr, n.x, 1, &n.at_i, nullptr, &e), ADJIT_INVALID, "trace");
  EXPECT_FAILURE(adjit_expr_read(t, n.x, 2, nullptr, nullptr, &e), ADJIT_INVALID, "expressions");
  EXPECT_FAILURE(adjit_expr_apply(nullptr, "exp", 1, &v, &e), ADJIT_INVALID, "trace");
  EXPECT_FAILURE(adjit_expr_apply(t, nullptr, 1, &v, &e), ADJIT_INVALID, "operation");
  EXPECT_FAILURE(adjit_expr_apply(t, "exp", 1, nullptr, &e), ADJIT_INVALID, "expressions");
  EXPECT_FAILURE(adjit_expr_cast(nullptr, v, ADJIT_FLOAT64, &e), ADJIT_INVALID, "trace");
  EXPECT_FAILURE(adjit_expr_dtype(nullptr, v, &dtype), ADJIT_INVALID, "trace");
  EXPECT_FAILURE(adjit_expr_dtype(t, v, nullptr), ADJIT_INVALID, "dtype");
  EXPECT_FAILURE(adjit_expr_reduce(nullptr, "sum", v, 1, &n.j, ADJIT_NONE, nullptr, &e),
                 ADJIT_INVALID, "trace");
  EXPECT_FAILURE(adjit_expr_reduce(t, nullptr, v, 1, &n.j, ADJIT_NONE, nullptr, &e), ADJIT_INVALID,
                 "reducer");
  EXPECT_FAILURE(adjit_expr_reduce(t, "sum", v, 1, nullptr, ADJIT_NONE, nullptr, &e), ADJIT_INVALID,
                 "axes");
  EXPECT_FAILURE(adjit_expr_argument(nullptr, 0, ADJIT_FLOAT32, &e), ADJIT_INVALID, "trace");
  EXPECT_FAILURE(adjit_expr_reduce_custom(t, 1, &v, nullptr, &v, 1, &n.j, ADJIT_NONE, &e),
                 ADJIT_INVALID, "expressions");
  EXPECT_FAILURE(adjit_expr_reduce_custom(t, 1, &v, &v, &v, 1, &n.j, ADJIT_NONE, nullptr),
                 ADJIT_INVALID, "results");
  EXPECT_FAILURE(adjit_trace_compute(nullptr, "y", 1, &n.i, 1, &v, &y), ADJIT_INVALID, "trace");
  EXPECT_FAILURE(adjit_trace_compute(t, "y", 1, nullptr, 1, &v, &y), ADJIT_INVALID, "axes");
  EXPECT_FAILURE(adjit_trace_compute(t, "y", 1, &n.i, 1, nullptr, &y), ADJIT_INVALID,
                 "expressions");
  EXPECT_FAILURE(adjit_trace_compute(t, "y", 1, &n.i, 1, &v, nullptr), ADJIT_INVALID, "results");
  EXPECT_FAILURE(adjit_trace_scatter(t, "h", 1, nullptr, 1, &n.i, &n.at_i, v, nullptr, ADJIT_NONE,
                                     nullptr, ADJIT_NONE, &y),
                 ADJIT_INVALID, "shape");
  EXPECT_FAILURE(adjit_trace_scatter(t, "h", 1, shape, 1, &n.i, nullptr, v, nullptr, ADJIT_NONE,
                                     nullptr, ADJIT_NONE, &y),
                 ADJIT_INVALID, "expressions");
  EXPECT_FAILURE(adjit_trace_scatter(t, "h", 1, shape, 1, &n.i, &n.at_i, v, nullptr, ADJIT_NONE,
                                     nullptr, ADJIT_NONE, nullptr),
                 ADJIT_INVALID, "result");
  EXPECT_EQ(e, kUntouched);
  EXPECT_EQ(a, kUntouched);
  EXPECT_EQ(y, kUntouched);
  EXPECT_EQ(dtype, ADJIT_BFLOAT16);
}

TEST(IndexNotationApi, NonsenseIsRefused) {
  Notation n;
  adjit_trace* t = n.t.get();
  adjit_expr e = kUntouched;
  adjit_axis a = kUntouched;
  adjit_tensor y = kUntouched;
  const adjit_expr v = n.x_ij(), beyond = 10000;
  const adjit_expr two[] = {n.at_i, n.at_j};
  const adjit_axis no_axis = 999, twice[] = {n.i, n.i};
  const int64_t negative[] = {-5};
  EXPECT_FAILURE(adjit_axis_create(t, 4, 3, "i", &a), ADJIT_SHAPE, "negative");
  EXPECT_NE(adjit_expr_axis(t, no_axis, &e), ADJIT_OK);
  EXPECT_FAILURE(adjit_expr_read(t, 999, 2, two, nullptr, &e), ADJIT_INVALID, "999");
  EXPECT_FAILURE(adjit_expr_read(t, n.x, 1, two, nullptr, &e), ADJIT_SHAPE, "1 indices");
  EXPECT_FAILURE(adjit_expr_read(t, n.x, -2, two, nullptr, &e), ADJIT_INVALID, "-2");
  EXPECT_FAILURE(adjit_expr_read(t, n.x, 2, two, "mirror", &e), ADJIT_INVALID, "mirror");
  const adjit_expr with_float[] = {n.at_i, v};
  EXPECT_FAILURE(adjit_expr_read(t, n.x, 2, with_float, nullptr, &e), ADJIT_DTYPE, "float32");
  const adjit_expr far[] = {n.at_i, n.integer(7)};
  adjit_expr past = kUntouched;  // it may stand under a condition that never holds, but not so
  EXPECT_EQ(adjit_expr_read(t, n.x, 2, far, nullptr, &past), ADJIT_OK);
  EXPECT_FAILURE(adjit_trace_compute(t, "y", 1, &n.i, 1, &past, &y), ADJIT_BOUNDS, "7");
  const adjit_expr unknown[] = {n.at_i, beyond};
  EXPECT_FAILURE(adjit_expr_read(t, n.x, 2, unknown, nullptr, &e), ADJIT_INVALID, "");
  EXPECT_FAILURE(adjit_expr_apply(t, "frobnicate", 1, &v, &e), ADJIT_INVALID, "frobnicate");
  EXPECT_FAILURE(adjit_expr_apply(t, "cast", 1, &v, &e), ADJIT_INVALID, "cast");
  EXPECT_FAILURE(adjit_expr_apply(t, "read", 1, &v, &e), ADJIT_INVALID, "read");
  EXPECT_FAILURE(adjit_expr_apply(t, "add", 1, &v, &e), ADJIT_INVALID, "2 operands");
  EXPECT_FAILURE(adjit_expr_apply(t, "gt", 1, &v, &e), ADJIT_INVALID, "2 operands");
  EXPECT_FAILURE(adjit_expr_apply(t, "select", 2, two, &e), ADJIT_INVALID, "three");
  EXPECT_FAILURE(adjit_expr_apply(t, "exp", -1, &v, &e), ADJIT_INVALID, "-1");
  EXPECT_FAILURE(adjit_expr_apply(t, "exp", 1, &beyond, &e), ADJIT_INVALID, "");
  EXPECT_FAILURE(adjit_expr_cast(t, beyond, ADJIT_FLOAT64, &e), ADJIT_INVALID, "");
  EXPECT_FAILURE(adjit_expr_cast(t, v, static_cast<adjit_dtype>(11), &e), ADJIT_DTYPE, "11");
  EXPECT_FAILURE(adjit_expr_reduce(t, "average", v, 1, &n.j, ADJIT_NONE, nullptr, &e),
                 ADJIT_INVALID, "average");
  EXPECT_FAILURE(adjit_expr_reduce(t, "sum", v, 0, nullptr, ADJIT_NONE, nullptr, &e), ADJIT_INVALID,
                 "axis");
  EXPECT_FAILURE(adjit_expr_reduce(t, "sum", v, 1, &n.j, v, nullptr, &e), ADJIT_DTYPE, "bool");
  EXPECT_FAILURE(adjit_expr_reduce(t, "any", v, 1, &n.j, ADJIT_NONE, nullptr, &e), ADJIT_DTYPE,
                 "bool");
  EXPECT_FAILURE(adjit_expr_reduce(t, "max", v, 1, &n.j, ADJIT_NONE, "last", &e), ADJIT_INVALID,
                 "last");
  EXPECT_NE(adjit_expr_reduce(t, "sum", v, 1, &no_axis, ADJIT_NONE, nullptr, &e), ADJIT_OK);
  EXPECT_FAILURE(adjit_expr_argument(t, -1, ADJIT_FLOAT32, &e), ADJIT_INVALID, ">= 0");
  EXPECT_FAILURE(adjit_expr_reduce_custom(t, 0, nullptr, nullptr, nullptr, 1, &n.j, ADJIT_NONE, &e),
                 ADJIT_INVALID, "");
  EXPECT_FAILURE(adjit_expr_reduce_custom(t, 1, &v, &v, &v, 1, &n.j, ADJIT_NONE, &e), ADJIT_INVALID,
                 "constant");
  EXPECT_FAILURE(adjit_trace_compute(t, "y", 1, &n.i, 1, &v, &y), ADJIT_INVALID, "axis");
  EXPECT_NE(adjit_trace_compute(t, "y", 2, twice, 1, &n.at_i, &y), ADJIT_OK);
  EXPECT_NE(adjit_trace_compute(t, "y", 1, &no_axis, 1, &v, &y), ADJIT_OK);
  EXPECT_FAILURE(adjit_trace_scatter(t, "h", 1, negative, 1, &n.i, &n.at_i, n.at_i, "add",
                                     ADJIT_NONE, nullptr, ADJIT_NONE, &y),
                 ADJIT_SHAPE, "negative");
  const int64_t shape[] = {5};
  EXPECT_FAILURE(adjit_trace_scatter(t, "h", 1, shape, 1, &n.i, &n.at_i, n.at_i, "average",
                                     ADJIT_NONE, nullptr, ADJIT_NONE, &y),
                 ADJIT_INVALID, "average");
  EXPECT_NE(adjit_trace_scatter(t, "h", 1, shape, 1, &n.i, &n.at_i, n.at_i, "add", 999, nullptr,
                                ADJIT_NONE, &y),
            ADJIT_OK)
      << "no such initial tensor";
  EXPECT_EQ(e, kUntouched);
  EXPECT_EQ(y, kUntouched);
}

}  // namespace
}  // namespace adjit_test
