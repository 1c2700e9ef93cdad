// tests/runtime/trace/splice_test.cpp -- whole graphs inside a trace: calls and scans.
#include <gtest/gtest.h>

#include "runtime/trace/splice.hpp"
#include "runtime/trace/trace.hpp"
#include "tests/runtime/trace/messages.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

// y = 2 x, as a graph of its own.
Graph doubled() {
  Trace trace("doubled");
  trace.set_source("inner.py", 3);
  const TensorId x = add_input(trace, "x", DType::Float64, {3});
  const TensorId inputs[] = {x, x};
  return trace.finish(find_operator("add").trace(trace, inputs, {}));
}

TEST(TraceSplice, ACallHasTheSourceLinesOfItsGraph) {
  const Graph inner = doubled();
  Trace trace("outer");
  trace.set_source("outer.py", 9);
  const TensorId x = add_input(trace, "x", DType::Float64, {3});
  const TensorId first[] = {x};
  const std::vector<TensorId> once = splice(trace, inner, first);
  const std::vector<TensorId> twice = splice(trace, inner, once);
  const Graph graph = trace.finish(twice);
  ASSERT_EQ(graph.stages.size(), 2u);
  EXPECT_EQ(graph.stages[1].lines.at(0).file, "inner.py");
  EXPECT_EQ(values(interpret(graph, {{f64({3}, {1, 2, 3})}})[0]), (std::vector<double>{4, 8, 12}));
}

TEST(TraceSplice, AnArgumentThatDoesNotFitIsNamed) {
  const Graph inner = doubled();
  Trace trace("outer");
  trace.set_source("outer.py", 9);
  const TensorId narrow[] = {add_input(trace, "x", DType::Float32, {3})};
  const TensorId longer[] = {add_input(trace, "y", DType::Float64, {4})};
  expect_words(message_of(ErrorCode::DType, [&] { splice(trace, inner, narrow); }),
               {"outer.py:9", "argument 0", "float64", "float32", "astype"});
  expect_words(message_of(ErrorCode::Shape, [&] { splice(trace, inner, longer); }),
               {"(3,)", "(4,)"});
  message_of(ErrorCode::Invalid, [&] { splice(trace, inner, {}); });
}

TEST(TraceSplice, AScanRunsItsBody) {
  // carry, x -> carry + x, carry * x
  auto body = std::make_shared<Graph>();
  {
    Trace inner("body");
    const TensorId both[] = {add_input(inner, "c", DType::Float64, {}),
                             add_input(inner, "x", DType::Float64, {})};
    const TensorId next = find_operator("add").trace(inner, both, {})[0];
    const TensorId out = find_operator("multiply").trace(inner, both, {})[0];
    const TensorId outputs[] = {next, out};
    *body = inner.finish(outputs);
  }
  Trace trace("f");
  const TensorId operands[] = {add_input(trace, "c", DType::Float64, {}),
                               add_input(trace, "xs", DType::Float64, {3})};
  Scan scan;
  scan.body = body;
  scan.trips = 3;
  scan.carries = scan.scanned = scan.stacked = 1;
  const std::vector<TensorId> results = add_scan(trace, scan, operands);
  const Graph graph = trace.finish(results);
  const std::vector<Array> out = interpret(graph, {{f64({}, {10}), f64({3}, {1, 2, 3})}});
  EXPECT_EQ(values(out[0]), (std::vector<double>{16}));
  EXPECT_EQ(values(out[1]), (std::vector<double>{10, 22, 39}));
}

}  // namespace
}  // namespace adjit::testing
