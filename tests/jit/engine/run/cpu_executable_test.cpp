// tests/jit/engine/run/cpu_executable_test.cpp -- calls: repeated, at once, of nothing; the report.
// (What callers may get wrong is checked at the C boundary: tests/bindings/c/run_test.cpp.)
#include "jit/engine/run/cpu_executable.hpp"

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

TEST(CpuExecutable, CallsDoNotRememberEachOther) {
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
TEST(CpuExecutable, AnyNumberOfCallsAtOnce) {
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
TEST(CpuExecutable, SubnormalNumbersCountAsZerosUnlessKept) {
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

TEST(CpuExecutable, OutlivesItsEngine) {
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

TEST(CpuExecutable, ArraysOfNothingNeedNoAddress) {
  Engine engine(memory_only(2));
  const Graph graph = parse_graph(
      "def main(float(0, 5) x) -> (y, s) {\n y(i, j) = x(i, j) * 2.0\n s(j) +=! x(r, j)\n}");
  std::vector<float> s(5, -1);
  const void* in[] = {nullptr};
  void* out[] = {nullptr, s.data()};
  compiled(engine, graph)->run(in, out);
  EXPECT_EQ(s, std::vector<float>(5, 0));
}

TEST(CpuExecutable, WithoutInputs) {
  Engine engine(memory_only(1));
  const Graph graph = parse_graph("def main() -> (y) { y(i) = float(i) * 0.5 where i in 0:7 }");
  EXPECT_EQ(first_difference(graph, {}, run_compiled(engine, request_of(graph), {})), "");
}

// An input may be given twice, and outputs of the call before may be inputs of the next.
TEST(CpuExecutable, InputsMayShareMemory) {
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

TEST(CpuExecutable, ReportsHowItCameToBe) {
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

}  // namespace
}  // namespace adjit::testing
