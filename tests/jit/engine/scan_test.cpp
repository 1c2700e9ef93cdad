// tests/jit/engine/scan_test.cpp -- scans in compiled code against the interpreter: directions,
// lengths, nesting, layouts, derivatives, checks inside steps.
#include <gtest/gtest.h>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/jit/engine/run_compiled.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

void expect_same(Engine& engine, const Graph& graph, uint64_t seed = 1) {
  SCOPED_TRACE(print(graph));
  ASSERT_NO_THROW(verify(graph));
  const std::vector<Array> inputs = small_inputs(graph, seed);
  std::vector<Array> compiled;
  ASSERT_NO_THROW(compiled = run_compiled(engine, request_of(graph), inputs));
  EXPECT_EQ(first_difference(graph, inputs, compiled), "")
      << print(schedule_of(engine.compiler(), request_of(graph)));
  EXPECT_EQ(first_difference(graph, inputs, run_compiled(engine, request_of(graph), inputs)), "");
}

std::string recurrent(int64_t trips, bool reverse, int64_t batch = 3, int64_t width = 20) {
  const std::string t = std::to_string(trips), b = std::to_string(batch), w = std::to_string(width);
  return "def rnn(double(" + b + ", " + w + ") h0, double(" + t + ", " + b + ", 5) x, double(" + w +
         ", " + w + ") u, double(5, " + w + ") v) -> (h, ys, z) {\n" + "  scan (h, ys) = step[" +
         t + (reverse ? ", reverse" : "") + "](carry double(" + b + ", " + w +
         ") c = h0, over double(" + b + ", 5) s = x, fixed double(" + w + ", " + w +
         ") uu = u, fixed double(5, " + w + ") vv = v) -> (n, y) {\n" +
         "    p(i, j) +=! c(i, k) * uu(k, j)\n"
         "    q(i, j) +=! s(i, k) * vv(k, j)\n"
         "    n(i, j) = tanh(p(i, j) + q(i, j))\n"
         "    y(i) +=! n(i, j) * c(i, j)\n"
         "  }\n"
         "  z(i) +=! ys(t, i) * h(i, j)\n"
         "}";
}

TEST(CompiledScans, LengthsAndDirections) {
  Engine engine(memory_only(2));
  for (int64_t trips : {0, 1, 2, 3, 7, 50})
    for (bool reverse : {false, true}) expect_same(engine, parse_graph(recurrent(trips, reverse)));
}

TEST(CompiledScans, LargeStepsRunInTasks) {
  Engine engine(memory_only(2));
  expect_same(engine, parse_graph(recurrent(3, false, 64, 200)));
}

TEST(CompiledScans, Derivatives) {
  Engine engine(memory_only(2));
  for (int64_t trips : {1, 2, 9})
    for (bool reverse : {false, true}) {
      const Graph forward = parse_graph(recurrent(trips, reverse, 2, 6));
      const Graph first = vjp(forward, {.wrt = {0, 1, 2, 3}, .outputs = {0, 2}});
      expect_same(engine, first);
      expect_same(engine, vjp(first, {.wrt = {0, 2}, .outputs = {0, 2}}));
    }
}

TEST(CompiledScans, CarriesThatStayOrSwap) {
  Engine engine(memory_only(1));
  for (int64_t trips : {1, 2, 3, 4})
    expect_same(engine, parse_graph("def f(float(4) a0, float(4) b0, int64 n0) -> (a, b, n, ys) {\n"
                                    "  scan (a, b, n, ys) = step[" +
                                    std::to_string(trips) +
                                    "](carry float(4) a = a0, carry float(4) b = b0, "
                                    "carry int64 n = n0) -> (b, a, m, b) {\n"
                                    "    m() = n() + 1\n"
                                    "  }\n"
                                    "}"));
}

TEST(CompiledScans, OneInsideAnother) {
  Engine engine(memory_only(2));
  const Graph graph = parse_graph(kScanInAScan);
  expect_same(engine, graph);
  expect_same(engine, vjp(graph, {.wrt = {0, 1, 2}, .outputs = {0, 1}}));
}

TEST(CompiledScans, StridedAndReversedInputs) {
  Engine engine(memory_only(1));
  const Graph graph = parse_graph(recurrent(5, false, 2, 3));
  const std::vector<Array> inputs = small_inputs(graph, 3);
  const std::vector<Array> expected = interpret(graph, inputs);
  // h0 transposed in memory, x walked backwards in time.
  Array h = inputs[0], x = inputs[1];
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 3; ++j) h.set(j * 2 + i, inputs[0].at(i * 3 + j));
  for (int64_t t = 0; t < 5; ++t)
    for (int64_t k = 0; k < 10; ++k) x.set((4 - t) * 10 + k, inputs[1].at(t * 10 + k));
  Request request = request_of(graph);
  request.layouts[0].strides = {1, 2};
  request.layouts[1].strides = {-10, 5, 1};
  const std::shared_ptr<Executable> executable = engine.compile(request).executable;
  const void* in[] = {h.bytes.data(), x.bytes.data() + 40 * sizeof(double), inputs[2].bytes.data(),
                      inputs[3].bytes.data()};
  std::vector<Array> results = expected;
  std::vector<void*> out;
  for (Array& a : results) out.push_back(a.bytes.data());
  for (Array& a : results) std::ranges::fill(a.bytes, std::byte{0x5a});
  executable->run(in, out.data());
  for (size_t k = 0; k < results.size(); ++k)
    for (int64_t e = 0; e < results[k].element_count(); ++e)
      EXPECT_NEAR(results[k].at(e), expected[k].at(e), 1e-12) << k << " " << e;
}

TEST(CompiledScans, IndicesInStepsAreChecked) {
  Engine engine(memory_only(1));
  const Graph graph = parse_graph(
      "def f(float(5) x, int64(6) i, float c0) -> (c, ys) {\n"
      "  scan (c, ys) = step[6](carry float s = c0, over int64 n = i, fixed float(5) w = x) "
      "-> (t, t) {\n"
      "    t() = s() + w(n())\n"
      "  }\n"
      "}");
  std::vector<Array> inputs = small_inputs(graph, 1);
  for (int64_t k = 0; k < 6; ++k) inputs[1].set(k, static_cast<double>(k % 5));
  EXPECT_EQ(first_difference(graph, inputs, run_compiled(engine, request_of(graph), inputs)), "");
  inputs[1].set(3, 9);
  try {
    run_compiled(engine, request_of(graph), inputs);
    FAIL();
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("index 9 "), std::string::npos) << text;
    EXPECT_NE(text.find("step = 3"), std::string::npos) << text;
  }
}

TEST(CompiledScans, PrefixReductions) {
  Engine engine(memory_only(2));
  for (const char* row : {"r <= i", "r < i", "r >= i", "r > i"})
    for (const char* by : {"+", "*", "max", "min", "argmax"})
      for (int64_t columns : {1, 5, 70}) {
        const bool pair = std::string(by) == "argmax";
        const std::string n = std::to_string(columns);
        const std::string body =
            pair ? " argmax=! (x(r, j), r)" : " " + std::string(by) + "=! x(r, j)";
        expect_same(engine,
                    parse_graph("def f(float(33, " + n + ") x) -> (" + (pair ? "y, at" : "y") +
                                ") { " + (pair ? "(y, at)" : "y") + "(i, j)" + body +
                                " where i in 0:33, j in 0:" + n + ", r in 0:33, " + row + " }"));
      }
}

// Large enough that every task goes through all steps by itself.
TEST(CompiledScans, RowsThroughAllSteps) {
  for (int threads : {2, 3})
    for (bool reverse : {false, true}) {
      Engine engine(memory_only(threads));
      const Graph graph = parse_graph(recurrent(9, reverse, 21, 40));
      const ExecutionPlan& plan = engine.compile(request_of(graph)).executable->plan();
      ASSERT_EQ(plan.scans.size(), 1u);
      EXPECT_GE(plan.scans[0].tasks, 2);
      expect_same(engine, graph);
      const Graph backward = vjp(graph, {.wrt = {0, 1, 2, 3}, .outputs = {0, 1, 2}});
      const ExecutionPlan& both = engine.compile(request_of(backward)).executable->plan();
      EXPECT_TRUE(std::ranges::all_of(both.scans, [](const ScanPlan& s) { return s.tasks > 0; }));
      expect_same(engine, backward);
    }
}

// Carries that go round, one that stays, one of integers; rows of them through all steps.
TEST(CompiledScans, CarriesThatSwapRowByRow) {
  Engine engine(memory_only(2));
  for (int64_t trips : {4, 5}) {
    const Graph graph = parse_graph(
        "def f(float(96, 80) a0, float(96, 80) b0, float(96, 80) c0, int64(96, 80) n0) "
        "-> (a, b, c, n, ys) {\n  scan (a, b, c, n, ys) = step[" +
        std::to_string(trips) +
        "](carry float(96, 80) a = a0, carry float(96, 80) b = b0, carry float(96, 80) c = c0, "
        "carry int64(96, 80) n = n0) -> (b, d, c, m, b) {\n"
        "    d(i, j) = a(i, j) * 0.5 + c(i, j)\n    m(i, j) = n(i, j) + 1\n  }\n}");
    EXPECT_GT(engine.compile(request_of(graph)).executable->plan().scans[0].tasks, 0);
    expect_same(engine, graph);
  }
}

TEST(CompiledScans, InvariantsOfConditionalScans) {
  Engine engine(memory_only(2));
  for (int start : {0, 3, 100}) {
    const Graph graph = parse_graph(
        "def f(int64 k0, float(8, 32) h0, float(32, 32) W) -> (k, h, go) {\n"
        "  go0() = k0() > 0\n"
        "  scan (k, h, go) = step[while](carry int64 n = k0, carry float(8, 32) s = h0, "
        "carry bool g = go0, fixed float(32, 32) w = W) -> (m, t, more) {\n"
        "    m() = n() - 1\n    p(i, j) +=! s(i, r) * w(j, r)\n"
        "    t(i, j) = tanh(p(i, j) * 0.1)\n    more() = m() > 0\n  }\n}");
    std::vector<Array> inputs = small_inputs(graph, 1);
    inputs[0].set(0, start);
    EXPECT_EQ(first_difference(graph, inputs, run_compiled(engine, request_of(graph), inputs)), "");
  }
}

// One inside another: what no step of the inner one changes is made before its first.
TEST(CompiledScans, InvariantsOfInnerScans) {
  Engine engine(memory_only(2));
  expect_same(
      engine,
      parse_graph("def f(float(8, 32) c0, float(3, 8, 32) x, float(32, 32) W) -> (c) {\n"
                  "  scan (c) = outer[3](carry float(8, 32) a = c0, over float(8, 32) v = x, "
                  "fixed float(32, 32) w = W) -> (last) {\n"
                  "    scan (last) = inner[40](carry float(8, 32) b = a, "
                  "fixed float(8, 32) vv = v, fixed float(32, 32) ww = w) -> (n) {\n"
                  "      p(i, j) +=! b(i, k) * ww(j, k)\n"
                  "      q(i, j) +=! vv(i, k) * ww(k, j)\n"
                  "      n(i, j) = tanh(p(i, j) * 0.1 + q(i, j))\n"
                  "    }\n"
                  "  }\n"
                  "}"));
}

TEST(CompiledScans, SchedulesReplay) {
  Engine engine(memory_only(2));
  for (const Graph& graph :
       {parse_graph(recurrent(4, false)), parse_graph(recurrent(9, true, 21, 40))}) {
    const Program program = schedule_of(engine.compiler(), request_of(graph));
    const Request again = request_of(graph, program.moves_json);
    EXPECT_EQ(print(schedule_of(engine.compiler(), again)), print(program));
    const ExecutionPlan& plan = engine.compile(again).executable->plan();
    EXPECT_EQ(plan_from_json(to_json(plan), plan.constants), plan);
  }
}

}  // namespace
}  // namespace adjit::testing
