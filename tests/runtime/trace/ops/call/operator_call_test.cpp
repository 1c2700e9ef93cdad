// tests/runtime/trace/ops/call/operator_call_test.cpp -- operands and attributes of one call.
#include "runtime/trace/ops/call/operator_call.hpp"

#include <gtest/gtest.h>

#include "runtime/process/json.hpp"
#include "tests/runtime/trace/messages.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

TEST(OperatorCall, AttributesAreChecked) {
  const Array x = f32({2}, {1, 2});
  expect_words(message_of(ErrorCode::Invalid, [&] { run("sum", {x}, R"({"axes": 1})"); }),
               {"'axes'", "axis=None"});
  expect_words(message_of(ErrorCode::Invalid, [&] { run("sum", {x}, R"({"axis": 1})"); }),
               {"axis=1", "rank 1"});
  expect_words(message_of(ErrorCode::Invalid, [&] { run("sum", {x}, R"({"keepdims": 3})"); }),
               {"keepdims"});
  message_of(ErrorCode::Invalid, [&] { run("add", {x}); });
  message_of(ErrorCode::Invalid, [&] { run("exp", {x, x}); });
}

}  // namespace
}  // namespace adjit::testing
