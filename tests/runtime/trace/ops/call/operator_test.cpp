// tests/runtime/trace/ops/call/operator_test.cpp -- an operator traced: its errors, what is weak.
#include "runtime/trace/ops/call/operator.hpp"

#include <gtest/gtest.h>

#include "runtime/process/json.hpp"
#include "tests/runtime/trace/messages.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

TEST(Operator, ErrorsNameOperatorAndLine) {
  expect_words(message_of(ErrorCode::Shape,
                          [] {
                            run("matmul", {f32({2, 3}, std::vector<double>(6)),
                                           f32({2, 3}, std::vector<double>(6))});
                          }),
               {"test.py:7", "matmul", "(2, 3)", "transpose"});
  expect_words(
      message_of(ErrorCode::DType, [] { run("add", {f32({2}, {1, 2}), f64({2}, {1, 2})}); }),
      {"test.py:7", "add", "float32", "float64", "astype"});
  expect_words(
      message_of(ErrorCode::Shape, [] { run("add", {f32({2}, {1, 2}), f32({3}, {1, 2, 3})}); }),
      {"(2,)", "(3,)", "broadcast"});
}

TEST(Operator, AnEndedTraceIsNamedOnce) {
  Trace trace("f");
  trace.set_source("user.py", 40);
  const TensorId x = add_input(trace, "x", DType::Float32, {2});
  const TensorId only[] = {x};
  trace.finish(only);
  EXPECT_EQ(message_of(ErrorCode::Invalid, [&] { find_operator("exp").trace(trace, only, {}); }),
            "user.py:40 (exp): the trace 'f' has ended; nothing can be added after its function "
            "returned");
}

TEST(Operator, WeakTensorsAdapt) {
  Trace trace("f");
  const TensorId x = add_input(trace, "x", DType::Float16, {2});
  const TensorId rate = add_input(trace, "rate", DType::Float64, {}, true);
  const TensorId both[] = {x, rate};
  const TensorId y = find_operator("multiply").trace(trace, both, {})[0];
  EXPECT_EQ(dtype_of(trace, y), DType::Float16);
  EXPECT_FALSE(trace.is_weak(y));
  const TensorId only[] = {rate};
  EXPECT_TRUE(trace.is_weak(find_operator("negative").trace(trace, only, {})[0]));
}

}  // namespace
}  // namespace adjit::testing
