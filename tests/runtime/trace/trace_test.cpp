// tests/runtime/trace/trace_test.cpp -- traces: lifetimes, messages, splicing, scans.
#include "runtime/trace/trace.hpp"
#include "runtime/process/json.hpp"

#include <gtest/gtest.h>

#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

template <typename Action>
std::string message_of(ErrorCode code, Action action) {
  try {
    action();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

void expect_words(const std::string& message, std::initializer_list<const char*> words) {
  for (const char* word : words)
    EXPECT_NE(message.find(word), std::string::npos)
        << "'" << word << "' is missing in: " << message;
}

// y = 2 x, as a graph of its own.
Graph doubled() {
  Trace trace("doubled");
  trace.set_source("inner.py", 3);
  const TensorId x = trace.input("x", DType::Float64, {3});
  const TensorId inputs[] = {x, x};
  return trace.finish(find_operator("add").trace(trace, inputs, {}));
}

TEST(Trace, IdsAreUnique) { EXPECT_NE(Trace("a").id(), Trace("a").id()); }

TEST(Trace, ResolvesItsOwnHandles) {
  Trace trace("f");
  const TensorId x = trace.input("x", DType::Float32, {2});
  EXPECT_EQ(trace.resolve(trace.handle(x)), x);
}

TEST(Trace, RefusesAValueOfAnotherTrace) {
  Trace a("f"), b("g");
  b.set_source("user.py", 40);
  const TracedTensor x = a.handle(a.input("x", DType::Float32, {2}));
  expect_words(message_of(ErrorCode::Invalid, [&] { b.resolve(x); }), {"user.py:40", "another"});
}

TEST(Trace, RefusesAValueUsedAfterItsTrace) {
  Trace trace("f");
  const TracedTensor x = trace.handle(trace.input("x", DType::Float32, {2}));
  const TensorId outputs[] = {x.tensor};
  trace.finish(outputs);
  expect_words(message_of(ErrorCode::Invalid, [&] { trace.resolve(x); }), {"'f'", "ended"});
  message_of(ErrorCode::Invalid, [&] { trace.pool(); });
  message_of(ErrorCode::Invalid, [&] { trace.input("y", DType::Float32, {}); });
}

TEST(Trace, KnowsZerosAsTheyAreWritten) {
  Trace trace("f");
  const auto with = [&](const char* name, std::initializer_list<TensorId> operands,
                        const char* attributes = "{}") {
    const std::vector<TensorId> list(operands);
    return find_operator(name).trace(trace, list, Json::parse(attributes))[0];
  };
  const TensorId x = trace.input("x", DType::Float32, {2});
  const TensorId zeros = with("zeros_like", {x}), ones = with("ones_like", {x});
  EXPECT_TRUE(trace.is_zero(zeros));
  EXPECT_TRUE(trace.is_zero(with("broadcast_to", {zeros}, R"({"shape": [3, 2]})")));
  EXPECT_FALSE(trace.is_zero(ones));
  EXPECT_FALSE(trace.is_zero(x));
  EXPECT_FALSE(trace.is_zero(with("multiply", {zeros, x}))) << "NaN where x is infinite";
  std::vector<std::byte> bytes(8);
  EXPECT_TRUE(trace.is_zero(trace.constant("c", DType::Float32, {2}, bytes)));
  bytes[3] = std::byte{1};
  EXPECT_FALSE(trace.is_zero(trace.constant("c", DType::Float32, {2}, bytes)));
  EXPECT_FALSE(trace.is_zero(trace.constant("c", DType::Int64, {1}, std::vector<std::byte>(8))))
      << "no number that has a cotangent";
}

TEST(Trace, FinishDropsWhatNobodyNeedsAndKeepsInputs) {
  Trace trace("f");
  const TensorId x = trace.input("x", DType::Float32, {2});
  const TensorId unused = trace.input("unused", DType::Float32, {2});
  const TensorId pair[] = {x, unused};
  find_operator("add").trace(trace, pair, {});
  const TensorId outputs[] = {x};
  const Graph graph = trace.finish(outputs);
  EXPECT_EQ(graph.inputs.size(), 2u);
  EXPECT_TRUE(graph.stages.empty());
}

TEST(Trace, CallSplicesWithItsOwnSourceLines) {
  const Graph inner = doubled();
  Trace trace("outer");
  trace.set_source("outer.py", 9);
  const TensorId x = trace.input("x", DType::Float64, {3});
  const TensorId first[] = {x};
  const std::vector<TensorId> once = trace.call(inner, first);
  const std::vector<TensorId> twice = trace.call(inner, once);
  const Graph graph = trace.finish(twice);
  ASSERT_EQ(graph.stages.size(), 2u);
  EXPECT_EQ(graph.stages[1].lines.at(0).file, "inner.py");
  EXPECT_EQ(values(interpret(graph, {{f64({3}, {1, 2, 3})}})[0]), (std::vector<double>{4, 8, 12}));
}

TEST(Trace, CallNamesTheArgumentThatDoesNotFit) {
  const Graph inner = doubled();
  Trace trace("outer");
  trace.set_source("outer.py", 9);
  const TensorId narrow[] = {trace.input("x", DType::Float32, {3})};
  const TensorId longer[] = {trace.input("y", DType::Float64, {4})};
  expect_words(message_of(ErrorCode::DType, [&] { trace.call(inner, narrow); }),
               {"outer.py:9", "argument 0", "float64", "float32", "astype"});
  expect_words(message_of(ErrorCode::Shape, [&] { trace.call(inner, longer); }), {"(3,)", "(4,)"});
  message_of(ErrorCode::Invalid, [&] { trace.call(inner, {}); });
}

TEST(Trace, ScanRunsItsBody) {
  // carry, x -> carry + x, carry * x
  auto body = std::make_shared<Graph>();
  {
    Trace inner("body");
    const TensorId both[] = {inner.input("c", DType::Float64, {}),
                             inner.input("x", DType::Float64, {})};
    const TensorId next = find_operator("add").trace(inner, both, {})[0];
    const TensorId out = find_operator("multiply").trace(inner, both, {})[0];
    const TensorId outputs[] = {next, out};
    *body = inner.finish(outputs);
  }
  Trace trace("f");
  const TensorId operands[] = {trace.input("c", DType::Float64, {}),
                               trace.input("xs", DType::Float64, {3})};
  Scan scan;
  scan.body = body;
  scan.trips = 3;
  scan.carries = scan.scanned = scan.stacked = 1;
  const std::vector<TensorId> results = trace.scan(scan, operands);
  const Graph graph = trace.finish(results);
  const std::vector<Array> out = interpret(graph, {{f64({}, {10}), f64({3}, {1, 2, 3})}});
  EXPECT_EQ(values(out[0]), (std::vector<double>{16}));
  EXPECT_EQ(values(out[1]), (std::vector<double>{10, 22, 39}));
}

TEST(Operator, UnknownNamesGetTheNearest) {
  expect_words(message_of(ErrorCode::Invalid, [] { find_operator("matmull"); }), {"matmul"});
  expect_words(message_of(ErrorCode::Invalid, [] { find_operator("conv2d"); }), {"nn.conv2d"});
}

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

TEST(Operator, AttributesAreChecked) {
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

TEST(Operator, AnEndedTraceIsNamedOnce) {
  Trace trace("f");
  trace.set_source("user.py", 40);
  const TensorId x = trace.input("x", DType::Float32, {2});
  const TensorId only[] = {x};
  trace.finish(only);
  EXPECT_EQ(message_of(ErrorCode::Invalid, [&] { find_operator("exp").trace(trace, only, {}); }),
            "user.py:40 (exp): the trace 'f' has ended; nothing can be added after its function "
            "returned");
}

TEST(Operator, WeakTensorsAdapt) {
  Trace trace("f");
  const TensorId x = trace.input("x", DType::Float16, {2});
  const TensorId rate = trace.input("rate", DType::Float64, {}, true);
  const TensorId both[] = {x, rate};
  const TensorId y = find_operator("multiply").trace(trace, both, {})[0];
  EXPECT_EQ(trace.dtype(y), DType::Float16);
  EXPECT_FALSE(trace.is_weak(y));
  const TensorId only[] = {rate};
  EXPECT_TRUE(trace.is_weak(find_operator("negative").trace(trace, only, {})[0]));
}

}  // namespace
}  // namespace adjit::testing
