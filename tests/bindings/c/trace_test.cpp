// tests/bindings/c/trace_test.cpp -- traces through the C interface: what they take and refuse.
#include <cmath>

#include "tests/bindings/c/support.hpp"

namespace adjit_test {
namespace {

TEST(TraceApi, BuildsAComputation) {
  const Trace t = trace("square");
  ADJIT_OK_OR_FAIL(adjit_trace_set_source(t.get(), "model.py", 12, "multiply"));
  const adjit_tensor x = input(t, {3, 4});
  const adjit_tensor y = apply(t, "multiply", {x, x});
  adjit_dtype dtype = ADJIT_BOOL;
  int32_t rank = -1, weak = -1;
  const int64_t* shape = nullptr;
  ADJIT_OK_OR_FAIL(adjit_trace_tensor_info(t.get(), y, &dtype, &rank, &shape));
  EXPECT_EQ(dtype, ADJIT_FLOAT32);
  ASSERT_EQ(rank, 2);
  EXPECT_EQ(shape[1], 4);
  ADJIT_OK_OR_FAIL(adjit_trace_tensor_is_weak(t.get(), y, &weak));
  EXPECT_EQ(weak, 0);
  ADJIT_OK_OR_FAIL(adjit_trace_tensor_set_weak(t.get(), y));
  ADJIT_OK_OR_FAIL(adjit_trace_tensor_is_weak(t.get(), y, &weak));
  EXPECT_EQ(weak, 1);
  EXPECT_FAILURE(adjit_trace_tensor_set_weak(nullptr, y), ADJIT_INVALID, "trace");
  EXPECT_FAILURE(adjit_trace_tensor_set_weak(t.get(), 99), ADJIT_INVALID, "99");
  // Shapes stay where they are while tensors are added.
  adjit_tensor more = y;
  for (int k = 0; k < 100; ++k) more = apply(t, "add", {more, x});
  EXPECT_EQ(shape[0], 3);
  const Computation f = finish(t, {y});
  const char* json = nullptr;
  ADJIT_OK_OR_FAIL(adjit_computation_stages(f.get(), &json));
  EXPECT_NE(std::string(json).find("model.py:12"), std::string::npos) << json;
}

TEST(TraceApi, ScalarsAreWeak) {
  const Trace t = trace();
  adjit_tensor rate = ADJIT_NONE;
  ADJIT_OK_OR_FAIL(adjit_trace_input(t.get(), nullptr, ADJIT_FLOAT32, 0, nullptr, 1, &rate));
  int32_t weak = 0;
  ADJIT_OK_OR_FAIL(adjit_trace_tensor_is_weak(t.get(), rate, &weak));
  EXPECT_EQ(weak, 1);
  const adjit_tensor x = input(t, {4}, ADJIT_FLOAT64);
  adjit_dtype dtype = ADJIT_BOOL;
  int32_t rank = 0;
  const int64_t* shape = nullptr;
  const adjit_tensor scaled = apply(t, "multiply", {x, rate});
  ADJIT_OK_OR_FAIL(adjit_trace_tensor_info(t.get(), scaled, &dtype, &rank, &shape));
  EXPECT_EQ(dtype, ADJIT_FLOAT64) << "a weak float takes the other's dtype";
}

TEST(TraceApi, TensorsBecomeWeak) {
  const Trace t = trace();
  const adjit_tensor x = input(t, {});
  int32_t weak = 77;
  EXPECT_FAILURE(adjit_trace_tensor_set_weak(nullptr, x), ADJIT_INVALID, "trace");
  EXPECT_FAILURE(adjit_trace_tensor_set_weak(t.get(), 1000), ADJIT_INVALID, "1000");
  ADJIT_OK_OR_FAIL(adjit_trace_tensor_is_weak(t.get(), x, &weak));
  EXPECT_EQ(weak, 0);
  ADJIT_OK_OR_FAIL(adjit_trace_tensor_set_weak(t.get(), x));
  ADJIT_OK_OR_FAIL(adjit_trace_tensor_is_weak(t.get(), x, &weak));
  EXPECT_EQ(weak, 1);
}

TEST(TraceApi, ConstantsCopyArraysOfAnyStrides) {
  const Context c = context();
  for (const auto& [first, strides] :
       {std::pair{size_t{0}, std::vector<int64_t>{3, 1}}, {5, {-3, -1}}, {0, {1, 2}}}) {
    const Trace t = trace();
    adjit_tensor constant = ADJIT_NONE;
    {
      Floats data({2, 3});
      data.view(first, strides);
      ADJIT_OK_OR_FAIL(adjit_trace_constant(t.get(), "c", &data.tensor, &constant));
      std::fill(data.data.begin(), data.data.end(), -1.0f);  // it has been copied
    }
    const Computation f = finish(t, {apply(t, "negative", {constant})});
    const Executable e = compiled(lowered(c, f));
    Floats out({2, 3});
    DLTensor* outputs[] = {&out.tensor};
    ADJIT_OK_OR_FAIL(adjit_executable_run(e.get(), 0, nullptr, 1, outputs));
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t j = 0; j < 3; ++j)
        EXPECT_EQ(
            out.data[static_cast<size_t>(3 * i + j)],
            -static_cast<float>(static_cast<int64_t>(first) + i * strides[0] + j * strides[1]));
  }
}

TEST(TraceApi, OperatorsMayHaveSeveralResults) {
  const Trace t = trace();
  const adjit_tensor x = input(t, {6, 4});
  adjit_tensor parts[3] = {kUntouched, kUntouched, kUntouched};
  int32_t count = 2;
  EXPECT_FAILURE(adjit_trace_operator(t.get(), "split", 1, &x,
                                      "{\"sections_or_indices\": 3, \"axis\": 0}", &count, parts),
                 ADJIT_INVALID, "3 results");
  EXPECT_EQ(count, 2);
  EXPECT_EQ(parts[0], kUntouched);
  count = 3;
  ADJIT_OK_OR_FAIL(adjit_trace_operator(
      t.get(), "split", 1, &x, "{\"sections_or_indices\": 3, \"axis\": 0}", &count, parts));
  EXPECT_EQ(count, 3);
  int32_t rank = 0;
  adjit_dtype dtype = ADJIT_BOOL;
  const int64_t* shape = nullptr;
  ADJIT_OK_OR_FAIL(adjit_trace_tensor_info(t.get(), parts[2], &dtype, &rank, &shape));
  EXPECT_EQ(shape[0], 2);
}

TEST(TraceApi, CallsRunAComputationInside) {
  const Computation inner = square();
  const Trace t = trace("outer");
  const adjit_tensor x = input(t, {3, 4});
  adjit_tensor y = kUntouched;
  EXPECT_FAILURE(adjit_trace_call(t.get(), inner.get(), 1, &x, 2, &y), ADJIT_INVALID, "1 output");
  EXPECT_FAILURE(adjit_trace_call(t.get(), inner.get(), 0, nullptr, 1, &y), ADJIT_INVALID, "");
  const adjit_tensor wrong = apply(t, "zeros", {}, "{\"shape\": [3, 5]}");
  EXPECT_FAILURE(adjit_trace_call(t.get(), inner.get(), 1, &wrong, 1, &y), ADJIT_SHAPE, "5");
  EXPECT_FAILURE(adjit_trace_call(t.get(), nullptr, 1, &x, 1, &y), ADJIT_INVALID, "computation");
  EXPECT_FAILURE(adjit_trace_call(t.get(), inner.get(), 1, &x, 1, nullptr), ADJIT_INVALID,
                 "results");
  EXPECT_EQ(y, kUntouched);
  ADJIT_OK_OR_FAIL(adjit_trace_call(t.get(), inner.get(), 1, &x, 1, &y));
  ADJIT_OK_OR_FAIL(adjit_trace_call(t.get(), inner.get(), 1, &y, 1, &y));
  const Computation f = finish(t, {y});
  const Context c = context();
  const Executable e = compiled(lowered(c, f));
  Floats in({3, 4}, 1), out({3, 4});
  const DLTensor* inputs[] = {&in.tensor};
  DLTensor* outputs[] = {&out.tensor};
  ADJIT_OK_OR_FAIL(adjit_executable_run(e.get(), 1, inputs, 1, outputs));
  const float once = 2 * 2 + 2;
  EXPECT_EQ(out.data[1], once * once + once);
}

TEST(TraceApi, NullIsRefusedAndTouchesNothing) {
  const Trace t = trace();
  const adjit_tensor x = input(t, {4});
  const int64_t shape[] = {4};
  adjit_tensor tensor = kUntouched;
  adjit_dtype dtype = ADJIT_BFLOAT16;
  int32_t rank = 77, weak = 77, count = 1;
  const int64_t* extents = untouched<const int64_t>();
  adjit_computation* f = untouched<adjit_computation>();
  Floats data({4});

  EXPECT_FAILURE(adjit_trace_create("f", nullptr), ADJIT_INVALID, "trace");
  EXPECT_FAILURE(adjit_trace_set_source(nullptr, "f.py", 1, "+"), ADJIT_INVALID, "trace");
  EXPECT_FAILURE(adjit_trace_input(nullptr, "x", ADJIT_FLOAT32, 1, shape, 0, &tensor),
                 ADJIT_INVALID, "trace");
  EXPECT_FAILURE(adjit_trace_input(t.get(), "x", ADJIT_FLOAT32, 1, nullptr, 0, &tensor),
                 ADJIT_INVALID, "shape");
  EXPECT_FAILURE(adjit_trace_input(t.get(), "x", ADJIT_FLOAT32, 1, shape, 0, nullptr),
                 ADJIT_INVALID, "tensor");
  EXPECT_FAILURE(adjit_trace_constant(nullptr, "c", &data.tensor, &tensor), ADJIT_INVALID, "trace");
  EXPECT_FAILURE(adjit_trace_constant(t.get(), "c", nullptr, &tensor), ADJIT_INVALID, "data");
  EXPECT_FAILURE(adjit_trace_constant(t.get(), "c", &data.tensor, nullptr), ADJIT_INVALID,
                 "tensor");
  EXPECT_FAILURE(adjit_trace_tensor_info(nullptr, x, &dtype, &rank, &extents), ADJIT_INVALID,
                 "trace");
  EXPECT_FAILURE(adjit_trace_tensor_info(t.get(), x, nullptr, &rank, &extents), ADJIT_INVALID,
                 "dtype");
  EXPECT_FAILURE(adjit_trace_tensor_info(t.get(), x, &dtype, nullptr, &extents), ADJIT_INVALID,
                 "rank");
  EXPECT_FAILURE(adjit_trace_tensor_info(t.get(), x, &dtype, &rank, nullptr), ADJIT_INVALID,
                 "shape");
  EXPECT_FAILURE(adjit_trace_tensor_is_weak(nullptr, x, &weak), ADJIT_INVALID, "trace");
  EXPECT_FAILURE(adjit_trace_tensor_is_weak(t.get(), x, nullptr), ADJIT_INVALID, "weak");
  EXPECT_FAILURE(adjit_trace_operator(nullptr, "exp", 1, &x, nullptr, &count, &tensor),
                 ADJIT_INVALID, "trace");
  EXPECT_FAILURE(adjit_trace_operator(t.get(), nullptr, 1, &x, nullptr, &count, &tensor),
                 ADJIT_INVALID, "name");
  EXPECT_FAILURE(adjit_trace_operator(t.get(), "exp", 1, nullptr, nullptr, &count, &tensor),
                 ADJIT_INVALID, "inputs");
  EXPECT_FAILURE(adjit_trace_operator(t.get(), "exp", 1, &x, nullptr, nullptr, &tensor),
                 ADJIT_INVALID, "count");
  EXPECT_FAILURE(adjit_trace_operator(t.get(), "exp", 1, &x, nullptr, &count, nullptr),
                 ADJIT_INVALID, "results");
  EXPECT_FAILURE(adjit_trace_finish(nullptr, 1, &x, &f), ADJIT_INVALID, "trace");
  EXPECT_FAILURE(adjit_trace_finish(t.get(), 1, nullptr, &f), ADJIT_INVALID, "outputs");
  EXPECT_FAILURE(adjit_trace_finish(t.get(), 1, &x, nullptr), ADJIT_INVALID, "computation");

  EXPECT_EQ(tensor, kUntouched);
  EXPECT_EQ(dtype, ADJIT_BFLOAT16);
  EXPECT_EQ(rank, 77);
  EXPECT_EQ(weak, 77);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(extents, untouched<const int64_t>());
  EXPECT_EQ(f, untouched<adjit_computation>());
  adjit_trace_destroy(nullptr);
  finish(t, {x});  // nothing of all that has harmed it
}

TEST(TraceApi, NonsenseIsRefused) {
  const Trace t = trace();
  const adjit_tensor x = input(t, {4});
  const int64_t negative[] = {4, -2}, huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  adjit_tensor tensor = kUntouched;
  int32_t count = 1;
  const auto dtype = [](int number) { return static_cast<adjit_dtype>(number); };
  EXPECT_FAILURE(adjit_trace_input(t.get(), "x", ADJIT_FLOAT32, 2, negative, 0, &tensor),
                 ADJIT_SHAPE, "negative");
  EXPECT_FAILURE(adjit_trace_input(t.get(), "x", ADJIT_FLOAT32, -1, negative, 0, &tensor),
                 ADJIT_INVALID, "-1");
  EXPECT_FAILURE(adjit_trace_input(t.get(), "x", dtype(10), 1, huge, 0, &tensor), ADJIT_DTYPE,
                 "10");
  EXPECT_FAILURE(adjit_trace_input(t.get(), "x", ADJIT_FLOAT32, 2, huge, 0, &tensor), ADJIT_SHAPE,
                 "more bytes than 64 bits");
  const adjit_tensor no_such = 1000;
  EXPECT_FAILURE(adjit_trace_operator(t.get(), "exp", 1, &no_such, nullptr, &count, &tensor),
                 ADJIT_INVALID, "1000");
  EXPECT_FAILURE(adjit_trace_operator(t.get(), "exp", -3, &x, nullptr, &count, &tensor),
                 ADJIT_INVALID, "-3");
  EXPECT_FAILURE(adjit_trace_operator(t.get(), "exponential", 1, &x, nullptr, &count, &tensor),
                 ADJIT_INVALID, "exponential");
  EXPECT_FAILURE(adjit_trace_operator(t.get(), "exp", 1, &x, "{\"axis\":", &count, &tensor),
                 ADJIT_INVALID, "{\"axis\":");
  EXPECT_FAILURE(adjit_trace_operator(t.get(), "exp", 1, &x, "[1]", &count, &tensor), ADJIT_INVALID,
                 "object");
  EXPECT_FAILURE(adjit_trace_operator(t.get(), "sum", 1, &x, "{\"axes\": 0}", &count, &tensor),
                 ADJIT_INVALID, "axes");
  EXPECT_FAILURE(adjit_trace_operator(t.get(), "sum", 1, &x, "{\"axis\": 3}", &count, &tensor),
                 ADJIT_INVALID, "axis");
  EXPECT_FAILURE(adjit_trace_operator(t.get(), "sum", 1, &x, "{\"axis\": \"a\"}", &count, &tensor),
                 ADJIT_INVALID, "axis");
  const adjit_tensor both[] = {x, input(t, {5})};
  EXPECT_FAILURE(adjit_trace_operator(t.get(), "add", 2, both, nullptr, &count, &tensor),
                 ADJIT_SHAPE, "5");
  count = -1;
  EXPECT_FAILURE(adjit_trace_operator(t.get(), "exp", 1, &x, nullptr, &count, &tensor),
                 ADJIT_INVALID, "-1");
  EXPECT_EQ(count, -1);
  EXPECT_EQ(tensor, kUntouched);
}

TEST(TraceApi, MessagesNameTheUsersLine) {
  const Trace t = trace();
  const adjit_tensor both[] = {input(t, {4}), input(t, {5})};
  ADJIT_OK_OR_FAIL(adjit_trace_set_source(t.get(), "train.py", 41, "+"));
  adjit_tensor tensor = kUntouched;
  int32_t count = 1;
  EXPECT_FAILURE(adjit_trace_operator(t.get(), "add", 2, both, nullptr, &count, &tensor),
                 ADJIT_SHAPE, "train.py:41");
  ADJIT_OK_OR_FAIL(adjit_trace_set_source(t.get(), nullptr, 0, nullptr));
  ASSERT_EQ(adjit_trace_operator(t.get(), "add", 2, both, nullptr, &count, &tensor), ADJIT_SHAPE);
  EXPECT_EQ(std::string(adjit_last_error_message()).find("train.py"), std::string::npos);
}

// Every function of a finished trace refuses and says why; destroying it is all that is left.
TEST(TraceApi, AFinishedTraceIsFinished) {
  const Trace t = trace();
  const adjit_tensor x = input(t, {4});
  adjit_axis axis = 0;
  adjit_expr i = 0, value = 0;
  ADJIT_OK_OR_FAIL(adjit_axis_create(t.get(), 0, 4, "i", &axis));
  ADJIT_OK_OR_FAIL(adjit_expr_axis(t.get(), axis, &i));
  ADJIT_OK_OR_FAIL(adjit_expr_read(t.get(), x, 1, &i, nullptr, &value));
  const Computation f = finish(t, {apply(t, "exp", {x})});

  const int64_t shape[] = {4};
  adjit_tensor tensor = kUntouched;
  adjit_computation* again = untouched<adjit_computation>();
  adjit_dtype dtype = ADJIT_BOOL;
  int32_t rank = 0, weak = 0, count = 1;
  const int64_t* extents = nullptr;
  adjit_expr e = kUntouched;
  const adjit_expr operands[] = {value, value};
  Floats data({4});
  EXPECT_FAILURE(adjit_trace_input(t.get(), "x", ADJIT_FLOAT32, 1, shape, 0, &tensor),
                 ADJIT_INVALID, "ended");
  EXPECT_FAILURE(adjit_trace_constant(t.get(), "c", &data.tensor, &tensor), ADJIT_INVALID, "ended");
  EXPECT_FAILURE(adjit_trace_tensor_info(t.get(), x, &dtype, &rank, &extents), ADJIT_INVALID, "");
  EXPECT_FAILURE(adjit_trace_tensor_is_weak(t.get(), x, &weak), ADJIT_INVALID, "");
  EXPECT_FAILURE(adjit_trace_operator(t.get(), "exp", 1, &x, nullptr, &count, &tensor),
                 ADJIT_INVALID, "");
  EXPECT_FAILURE(
      adjit_trace_operator(t.get(), "zeros", 0, nullptr, "{\"shape\": [2]}", &count, &tensor),
      ADJIT_INVALID, "ended");
  EXPECT_FAILURE(adjit_trace_call(t.get(), f.get(), 1, &x, 1, &tensor), ADJIT_INVALID, "");
  EXPECT_FAILURE(adjit_trace_finish(t.get(), 0, nullptr, &again), ADJIT_INVALID, "ended");
  EXPECT_FAILURE(adjit_axis_create(t.get(), 0, 4, "j", &axis), ADJIT_INVALID, "ended");
  EXPECT_FAILURE(adjit_expr_axis(t.get(), axis, &e), ADJIT_INVALID, "ended");
  EXPECT_FAILURE(adjit_expr_int(t.get(), 3, &e), ADJIT_INVALID, "ended");
  EXPECT_FAILURE(adjit_expr_apply(t.get(), "add", 2, operands, &e), ADJIT_INVALID, "ended");
  EXPECT_FAILURE(adjit_expr_cast(t.get(), value, ADJIT_FLOAT64, &e), ADJIT_INVALID, "ended");
  EXPECT_FAILURE(adjit_expr_dtype(t.get(), value, &dtype), ADJIT_INVALID, "ended");
  EXPECT_FAILURE(adjit_expr_read(t.get(), x, 1, &i, nullptr, &e), ADJIT_INVALID, "ended");
  EXPECT_FAILURE(adjit_trace_compute(t.get(), "y", 1, &axis, 1, &value, &tensor), ADJIT_INVALID,
                 "ended");
  EXPECT_EQ(tensor, kUntouched);
  EXPECT_EQ(e, kUntouched);
  EXPECT_EQ(again, untouched<adjit_computation>());
}

TEST(TraceApi, AComputationOutlivesItsTrace) {
  Computation f;
  {
    const Trace t = trace();
    f = finish(t, {apply(t, "exp", {input(t, {4})})});
  }
  const char* text = nullptr;
  ADJIT_OK_OR_FAIL(adjit_computation_text(f.get(), &text));
  EXPECT_NE(std::string(text).find("exp"), std::string::npos);
}

TEST(TraceApi, ListsItsOperators) {
  const std::string list = adjit_operators();
  EXPECT_EQ(adjit_operators(), adjit_operators()) << "static storage";
  for (const char* name : {"\"matmul\"", "\"nn.conv2d\"", "\"signature\"", "\"gradient\""})
    EXPECT_NE(list.find(name), std::string::npos) << name;
}

}  // namespace
}  // namespace adjit_test
