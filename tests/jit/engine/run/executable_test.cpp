// tests/jit/engine/run/executable_test.cpp -- calls: repeated, at once, of nothing; the report.
// (What callers may get wrong is checked at the C boundary: tests/bindings/c/run_test.cpp.)
#include "jit/engine/run/executable.hpp"

#include <gtest/gtest.h>

#include <cfenv>
#include <limits>
#include <thread>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/jit/engine/run_compiled.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

std::shared_ptr<Executable> compiled(Engine& engine, const Graph& graph) {
  return engine.compile(request_of(graph)).executable;
}

// Several kernels, with a workspace between them and a constant.
Graph pipeline() {
  return parse_graph(
      "def main(float(64, 48) x, float(48, 40) w) -> (y, s) {\n"
      " const float(3) c = [0.5, 0.25, 2.0]\n h(i, j) +=! x(i, r) * w(r, j)\n"
      " t(i, j) = tanh(h(i, j)) * c(j % 3)\n y(i) +=! t(i, r)\n s(j) max=! t(r, j)\n}");
}

TEST(Executable, CallsDoNotRememberEachOther) {
  Engine engine(memory_only(2));
  const Graph graph = pipeline();
  const Request request = request_of(graph);
  const std::vector<Array> first = small_inputs(graph, 1), second = small_inputs(graph, 2);
  const std::vector<Array> before = run_compiled(engine, request, first);
  EXPECT_EQ(first_difference(graph, first, before), "");
  EXPECT_EQ(first_difference(graph, second, run_compiled(engine, request, second)), "");
  const std::vector<Array> after = run_compiled(engine, request, first);
  for (size_t k = 0; k < before.size(); ++k) EXPECT_EQ(before[k].bytes, after[k].bytes);
}

// Each thread its own arrays, all of them one executable.
TEST(Executable, AnyNumberOfCallsAtOnce) {
  Engine engine(memory_only(2));
  const Graph graph = pipeline();
  const Request request = request_of(graph);
  const std::shared_ptr<Executable> executable = compiled(engine, graph);
  std::vector<std::string> wrong(6);
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < wrong.size(); ++t)
      threads.emplace_back([&, t] {
        const std::vector<Array> inputs = small_inputs(graph, t);
        for (int round = 0; round < 8 && wrong[t].empty(); ++round)
          wrong[t] = first_difference(graph, inputs, run_compiled(engine, request, inputs));
      });
  }
  for (const std::string& text : wrong) EXPECT_EQ(text, "");
}

// Whatever the caller's thread does to subnormal numbers and however it rounds: both stay as they
// were.
TEST(Executable, SubnormalNumbersCountAsZerosUnlessKept) {
  const Graph graph = parse_graph(
      "def main(float(2, 3000) x) -> (y, s) {\n y(i, j) = x(i, j) * 0.25\n"
      " s(i) +=! y(i, r) * 1048576.0\n}");
  const Request request = request_of(graph);
  Array x = Array::zeros(DType::Float32, {2, 3000});
  for (int64_t j = 0; j < 3000; ++j) {
    x.set(j, std::numeric_limits<float>::min());                     // the product is subnormal
    x.set(3000 + j, std::numeric_limits<float>::denorm_min() * 64);  // the argument is
  }
  for (const FloatMode wanted : {FloatMode::FlushSubnormals, FloatMode::KeepSubnormals})
    for (const FloatMode callers : {FloatMode::KeepSubnormals, FloatMode::FlushSubnormals}) {
      EngineOptions options = memory_only(2);
      options.float_mode = wanted;
      Engine engine(options);
      EXPECT_EQ(engine.options().float_mode, wanted);
      std::vector<Array> results;
      {
        const FloatModeScope scope(callers);
        std::fesetround(FE_UPWARD);
        const FloatMode upward = float_mode();
        results = run_compiled(engine, request, {x});
        EXPECT_EQ(float_mode(), upward);
        std::fesetround(FE_TONEAREST);  // of both units
      }
      const bool keep = wanted == FloatMode::KeepSubnormals;
      for (const int64_t k : {0, 2999, 3000, 5999}) EXPECT_EQ(results[0].at(k) != 0, keep) << k;
      for (const int64_t i : {0, 1}) EXPECT_EQ(results[1].at(i) != 0, keep);
      if (keep) {
        EXPECT_EQ(first_difference(graph, {x}, results), "");
      }
    }
}

// Kernels whose tasks follow each other, with what passes between them in the threads' slots.
TEST(Executable, ChainsRunTaskByTask) {
  const Graph graph = parse_graph(
      "def main(float(9, 7, 8) x, float(8, 20) w) -> (z, v) {\n"
      " t(i, j, k) +=! x(i, j, r) * w(r, k)\n u(i, j) max=! t(i, j, r)\n"
      " z(i, j, k) = t(i, j, k) - u(i, j)\n y(i, j, k) = t(i, j, k) * u(i, j)\n"
      " v(i, j) +=! y(i, j, r) * w(0, r)\n}");
  std::string moves;
  for (const char* stage : {"t", "u", "z", "y", "v"})
    moves += std::string(moves.empty() ? "[" : ",") +
             R"({"move": "parallel", "loops": 2, "stage": ")" + stage + "\"}";
  const Request request = request_of(graph, moves + "]");
  std::vector<std::vector<Array>> results;
  for (int threads : {1, 2, 5}) {
    Engine engine(memory_only(threads));
    const std::shared_ptr<Executable> executable = engine.compile(request).executable;
    const ExecutionPlan& plan = executable->plan();
    ASSERT_EQ(plan.kernels.size(), 5u);
    for (size_t k = 0; k < 5; ++k) EXPECT_EQ(plan.kernels[k].chained, k > 0);
    EXPECT_EQ(plan.workspace_bytes, 0);
    EXPECT_EQ(plan.slot_bytes, 128 + 64 + 128) << "rows of t and y, an element of u";
    EXPECT_EQ(executable->workspace_bytes(), plan.slot_bytes * threads);
    for (uint64_t seed : {1u, 2u}) {
      const std::vector<Array> inputs = small_inputs(graph, seed);
      EXPECT_EQ(first_difference(graph, inputs, run_compiled(engine, request, inputs)), "");
    }
    results.push_back(run_compiled(engine, request, small_inputs(graph, 3)));
    for (size_t k = 0; k < results[0].size(); ++k)
      EXPECT_EQ(results.back()[k].bytes, results[0][k].bytes);
  }
}

// Blocks of rows, one after the other for each h: a sum over the rows goes on from block to block,
// by itself and in a task graph.
TEST(Executable, TasksInTurn) {
  const Graph graph = parse_graph(
      "def main(float(5, 22, 8) x, float(8, 20) w) -> (v, z, y) {\n"
      " t(h, i, j) +=! x(h, i, r) * w(r, j)\n u(h, i) max=! t(h, i, r)\n"
      " z(h, i, j) = t(h, i, j) - u(h, i)\n"
      " v(h, j) +=! t(h, r, j) * u(h, r) where h in 0:5, j in 0:20, r in 0:22\n"
      " y(h, j) = v(h, j) * 2.0\n}");
  const std::string chain =
      R"([{"move": "split_axis", "stages": ["t", "u", "z", "v"], "axes": [1, 1, 1, 2],)"
      R"( "steps": [6]}, {"move": "pad_leading_dimension", "stage": "t", "gap": 3},)"
      R"( {"move": "make_adjacent", "stages": ["t", "u", "z_blocks", "v"]},)"
      R"( {"move": "reorder", "stage": "v", "order": [0, 2, 1, 3]},)"
      R"( {"move": "parallel", "stage": "t", "loops": 2},)"
      R"( {"move": "parallel", "stage": "u", "loops": 2},)"
      R"( {"move": "parallel", "stage": "z_blocks", "loops": 2},)"
      R"( {"move": "parallel", "stage": "v", "loops": 2})";
  for (const std::string& moves :
       {chain + "]", chain + R"(, {"move": "parallel", "stage": "y", "loops": 1}])"}) {
    const Request request = request_of(graph, moves);
    std::vector<std::vector<Array>> results;
    for (int threads : {1, 2, 5}) {
      Engine engine(memory_only(threads));
      const std::shared_ptr<Executable> executable = engine.compile(request).executable;
      const ExecutionPlan& plan = executable->plan();
      EXPECT_EQ(plan.slot_bytes, (6 * (20 + 3) * 4 / 64 + 1) * 64 + 64)
          << "a block of t, with its gaps, and one of u";
      int64_t in_turn = 1;
      for (const KernelPlan& kernel : plan.kernels) in_turn = std::max(in_turn, kernel.in_turn);
      EXPECT_EQ(in_turn, 4);
      const std::vector<Array> inputs = small_inputs(graph, 3);
      results.push_back(run_compiled(engine, request, inputs));
      EXPECT_EQ(first_difference(graph, inputs, results.back()), "");
      for (size_t k = 0; k < results[0].size(); ++k)
        EXPECT_EQ(results.back()[k].bytes, results[0][k].bytes);
    }
  }
}

TEST(Executable, ProfilesChainsKernelByKernel) {
  const Graph graph =
      parse_graph("def main(float(40, 300) x) -> (z) { t(i, j) = exp(x(i, j)) z(i) +=! t(i, r) }");
  const Request request = request_of(
      graph,
      R"([{"move": "parallel", "stage": "t", "loops": 1}, {"move": "parallel", "stage": "z", )"
      R"("loops": 1}])");
  Engine engine(memory_only(2));
  const std::shared_ptr<Executable> executable = engine.compile(request).executable;
  ASSERT_TRUE(executable->plan().kernels[1].chained);
  const std::vector<Array> inputs = small_inputs(graph, 1);
  std::vector<float> z(40);
  const void* in[] = {inputs[0].bytes.data()};
  void* out[] = {z.data()};
  for (const Executable::KernelTime& time : executable->profile(in, out, 3)) {
    EXPECT_EQ(time.calls, 1);
    EXPECT_GT(time.seconds, 0);
  }
}

TEST(Executable, OutlivesItsEngine) {
  const Graph graph = pipeline();
  const std::vector<Array> inputs = small_inputs(graph, 5);
  auto engine = std::make_unique<Engine>(memory_only(2));
  const std::shared_ptr<Executable> executable = compiled(*engine, graph);
  engine.reset();
  std::vector<Array> outputs{Array::zeros(DType::Float32, {64}),
                             Array::zeros(DType::Float32, {40})};
  const void* in[] = {inputs[0].bytes.data(), inputs[1].bytes.data()};
  void* out[] = {outputs[0].bytes.data(), outputs[1].bytes.data()};
  executable->run(in, out);
  EXPECT_EQ(first_difference(graph, inputs, outputs), "");
}

TEST(Executable, ArraysOfNothingNeedNoAddress) {
  Engine engine(memory_only(2));
  const Graph graph = parse_graph(
      "def main(float(0, 5) x) -> (y, s) {\n y(i, j) = x(i, j) * 2.0\n s(j) +=! x(r, j)\n}");
  std::vector<float> s(5, -1);
  const void* in[] = {nullptr};
  void* out[] = {nullptr, s.data()};
  compiled(engine, graph)->run(in, out);
  EXPECT_EQ(s, std::vector<float>(5, 0));
}

TEST(Executable, WithoutInputs) {
  Engine engine(memory_only(1));
  const Graph graph = parse_graph("def main() -> (y) { y(i) = float(i) * 0.5 where i in 0:7 }");
  EXPECT_EQ(first_difference(graph, {}, run_compiled(engine, request_of(graph), {})), "");
}

// An input may be given twice, and outputs of the call before may be inputs of the next.
TEST(Executable, InputsMayShareMemory) {
  Engine engine(memory_only(2));
  const Graph graph =
      parse_graph("def main(float(9) x, float(9) z) -> (y) { y(i) = x(i) - 2.0 * z(8 - i) }");
  const std::vector<Array> inputs = small_inputs(graph, 1);
  const std::vector<Array> same{inputs[0], inputs[0]};
  std::vector<Array> out{Array::zeros(DType::Float32, {9})};
  const void* in[] = {inputs[0].bytes.data(), inputs[0].bytes.data()};
  void* outs[] = {out[0].bytes.data()};
  compiled(engine, graph)->run(in, outs);
  EXPECT_EQ(first_difference(graph, same, out), "");
}

TEST(Executable, ReportsHowItCameToBe) {
  Engine engine(memory_only(2));
  const std::shared_ptr<Executable> executable = compiled(engine, pipeline());
  const CompileReport& report = executable->report();
  EXPECT_EQ(report.cache, "miss");
  EXPECT_GT(report.compile_ms, 0);
  EXPECT_GT(report.code_bytes, 0u);
  EXPECT_EQ(report.id.size(), 32u);
  EXPECT_EQ(executable->plan().inputs.size(), 2u);
  EXPECT_EQ(executable->plan().outputs[1].shape, (std::vector<int64_t>{40}));
}

TEST(Executable, KernelsOnBothSidesOfAScanDoNotNameEachOther) {
  const Graph graph = parse_graph(
      "def main(float(9) x) -> (y, z) {\n"
      " a(i) = x(i) * 2.0\n"
      " scan (c) = step[5](carry float(9) h = a) -> (n) {\n  n(i) = h(i) * 0.5\n }\n"
      " y(i) = c(i) + a(i)\n z(i) = y(i) * 2.0\n}");
  Engine engine(memory_only(2));
  const std::shared_ptr<Executable> executable = engine.compile(request_of(graph, "[]")).executable;
  const std::vector<StepPlan>& steps = executable->plan().steps;
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_TRUE(steps[1].scan);
  EXPECT_TRUE(steps[2].waits.empty());
  EXPECT_EQ(steps[3].waits, std::vector<size_t>{2});
}

// Layers whose gradients do not need each other, some of them chains, in one task graph; more
// threads than cores, calls at once.
TEST(Executable, KernelsOfATaskGraphGiveTheSame) {
  const Graph graph = parse_graph(
      "def main(float(90, 40) x, float(40, 40) w, float(40, 40) v) -> (dw, dv, s) {\n"
      " p(i, j) +=! x(i, k) * w(k, j)\n a(i, j) = tanh(p(i, j))\n"
      " q(i, j) +=! a(i, k) * v(k, j)\n b(i, j) = tanh(q(i, j))\n s() +=! b(i, j)\n"
      " da(i, j) +=! b(i, k) * v(j, k)\n dp(i, j) = da(i, j) * a(i, j)\n"
      " dw(i, j) +=! x(k, i) * dp(k, j)\n dv(i, j) +=! a(k, i) * b(k, j)\n}");
  std::string moves;
  for (const char* stage : {"p", "a", "q", "b", "da", "dp", "dw", "dv"})
    moves += std::string(moves.empty() ? "[" : ",") +
             R"({"move": "parallel", "loops": 1, "stage": ")" + stage + "\"}";
  const Request request = request_of(graph, moves + "]");
  const std::vector<Array> inputs = small_inputs(graph, 3);
  std::vector<std::vector<std::byte>> first;
  for (int threads : {1, 2, 7}) {
    Engine engine(memory_only(threads));
    std::vector<std::jthread> callers;
    std::vector<std::vector<Array>> results(4);
    for (std::vector<Array>& result : results)
      callers.emplace_back([&] {
        for (int round = 0; round < 20; ++round) result = run_compiled(engine, request, inputs);
      });
    callers.clear();
    EXPECT_EQ(first_difference(graph, inputs, results[0]), "");
    for (const std::vector<Array>& result : results)
      for (size_t k = 0; k < result.size(); ++k) {
        if (first.size() <= k) first.push_back(result[k].bytes);
        EXPECT_EQ(result[k].bytes, first[k]) << "output " << k << ", threads " << threads;
      }
  }
}

}  // namespace
}  // namespace adjit::testing
