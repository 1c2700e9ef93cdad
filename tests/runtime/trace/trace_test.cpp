// tests/runtime/trace/trace_test.cpp -- traces: lifetimes and messages.
#include "runtime/trace/trace.hpp"
#include "runtime/process/json.hpp"

#include <gtest/gtest.h>

#include "tests/rooms.hpp"
#include "tests/runtime/trace/messages.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

TEST(Trace, IdsAreUnique) { EXPECT_NE(Trace("a").id(), Trace("a").id()); }

TEST(Trace, ResolvesItsOwnHandles) {
  Trace trace("f");
  const TensorId x = add_input(trace, "x", DType::Float32, {2});
  EXPECT_EQ(resolve(trace, handle_of(trace, x)), x);
}

TEST(Trace, RefusesAValueOfAnotherTrace) {
  Trace a("f"), b("g");
  b.set_source("user.py", 40);
  const TracedTensor x = handle_of(a, add_input(a, "x", DType::Float32, {2}));
  expect_words(message_of(ErrorCode::Invalid, [&] { resolve(b, x); }), {"user.py:40", "another"});
}

TEST(Trace, RefusesAValueUsedAfterItsTrace) {
  Trace trace("f");
  const TracedTensor x = handle_of(trace, add_input(trace, "x", DType::Float32, {2}));
  const TensorId outputs[] = {x.tensor};
  trace.finish(outputs);
  expect_words(message_of(ErrorCode::Invalid, [&] { resolve(trace, x); }), {"'f'", "ended"});
  message_of(ErrorCode::Invalid, [&] { trace.pool(); });
  message_of(ErrorCode::Invalid, [&] { add_input(trace, "y", DType::Float32, {}); });
}

TEST(Trace, KnowsZerosAsTheyAreWritten) {
  Trace trace("f");
  const auto with = [&](const char* name, std::initializer_list<TensorId> operands,
                        const char* attributes = "{}") {
    const std::vector<TensorId> list(operands);
    return find_operator(name).trace(trace, list, Json::parse(attributes))[0];
  };
  const TensorId x = add_input(trace, "x", DType::Float32, {2});
  const TensorId zeros = with("zeros_like", {x}), ones = with("ones_like", {x});
  EXPECT_TRUE(is_zero(trace, zeros));
  EXPECT_TRUE(is_zero(trace, with("broadcast_to", {zeros}, R"({"shape": [3, 2]})")));
  EXPECT_FALSE(is_zero(trace, ones));
  EXPECT_FALSE(is_zero(trace, x));
  EXPECT_FALSE(is_zero(trace, with("multiply", {zeros, x}))) << "NaN where x is infinite";
  std::vector<std::byte> bytes(8);
  EXPECT_TRUE(is_zero(trace, add_constant(trace, "c", DType::Float32, {2}, bytes)));
  bytes[3] = std::byte{1};
  EXPECT_FALSE(is_zero(trace, add_constant(trace, "c", DType::Float32, {2}, bytes)));
  EXPECT_FALSE(
      is_zero(trace, add_constant(trace, "c", DType::Int64, {1}, std::vector<std::byte>(8))))
      << "no number that has a cotangent";
}

TEST(Trace, FinishDropsWhatNobodyNeedsAndKeepsInputs) {
  Trace trace("f");
  const TensorId x = add_input(trace, "x", DType::Float32, {2});
  const TensorId unused = add_input(trace, "unused", DType::Float32, {2});
  const TensorId pair[] = {x, unused};
  find_operator("add").trace(trace, pair, {});
  const TensorId outputs[] = {x};
  const Graph graph = trace.finish(outputs);
  EXPECT_EQ(graph.inputs.size(), 2u);
  EXPECT_TRUE(graph.stages.empty());
}

}  // namespace
}  // namespace adjit::testing
