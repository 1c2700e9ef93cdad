// tests/autosched/lower/scans_test.cpp -- where carries start, and steps that never run.
#include "autosched/lower/scans.hpp"

#include <gtest/gtest.h>

#include <set>
#include "autosched/analysis/verify.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::sched {
namespace {

std::string accumulate(const std::string& steps, const std::string& start) {
  return "def f(float(2) a, float(5, 2) x) -> (c, ys) {\n"
         "  b(i) = a(i) * 2\n"
         "  scan (c, ys) = step[" +
         steps + "](carry float(2) s = " + start +
         ", over float(2) v = x) -> (t, s) {\n"
         "    t(i) = s(i) + v(i)\n"
         "  }\n}";
}

Graph lowered(const Graph& graph) {
  const Graph result = lower_scans(graph);
  verify(result);
  const std::vector<Array> inputs = some_inputs(graph);
  expect_close(interpret(graph, inputs), interpret(result, inputs));
  return result;
}

const Stage& scan_of(const Graph& graph) {
  for (const Stage& stage : graph.stages)
    if (stage.kind == StageKind::Scan) return stage;
  throw std::logic_error("there is no scan");
}

TEST(LowerScans, CarriesStartWhereAStageHoldsThem) {
  // The caller's array has any layout: it is copied. What a stage made is not.
  const Graph copied = lowered(parse_graph(accumulate("5", "a")));
  const Stage& from_input = scan_of(copied);
  const size_t producer = defining_stages(copied)[from_input.operands[0].value];
  ASSERT_NE(producer, SIZE_MAX);
  EXPECT_TRUE(copied.pool.is(copied.stages[producer].bodies[0], Op::Read));
  const Graph same = lowered(parse_graph(accumulate("5", "b")));
  EXPECT_EQ(same.info(scan_of(same).operands[0]).name, "b");
}

TEST(LowerScans, BodiesGetOutputsOfTheirOwn) {
  // The step hands out its own carry, an input.
  const Graph graph = lowered(parse_graph(accumulate("5, reverse", "a")));
  const Graph& body = *scan_of(graph).scan->body;
  const std::vector<size_t> stages = defining_stages(body);
  for (TensorId output : body.outputs) EXPECT_NE(stages[output.value], SIZE_MAX);
  EXPECT_TRUE(scan_of(graph).scan->reverse);
}

TEST(LowerScans, NoStepsLeaveTheCarries) {
  const Graph graph = parse_graph(R"(def f(float(2) a, float(0, 2) x) -> (c, ys) {
    scan (c, ys) = step[0](carry float(2) s = a, over float(2) v = x) -> (t, s) {
      t(i) = s(i) + v(i)
    }
  })");
  const Graph result = lowered(graph);
  for (const Stage& stage : result.stages) EXPECT_EQ(stage.kind, StageKind::Compute);
  EXPECT_EQ(interpret(result, some_inputs(graph))[1].shape, (std::vector<int64_t>{0, 2}));
}

TEST(LowerScans, AConditionalOneRunsWhateverItsTrips) {
  const Graph graph = parse_graph(R"(def f(float(2) a, bool g) -> (c, go) {
    scan (c, go) = step[while](carry float(2) s = a, carry bool m = g) -> (t, more) {
      t(i) = s(i) * 0.5
      more() = t(0) > 1
    }
  })");
  EXPECT_EQ(scan_of(lowered(graph)).scan->carries, 2u);
}

TEST(LowerScans, OtherGraphsStayAsTheyAre) {
  const Graph graph = matmul_graph(2, 3, 4);
  EXPECT_EQ(print(lower_scans(graph)), print(graph));
}

TEST(SeparateOutputs, EveryOutputIsAStageOfItsOwn) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Graph graph = testing::random_graph(seed, {.stages = 3});
    graph.outputs.push_back(graph.outputs[0]);
    graph.outputs.push_back(graph.inputs[0]);
    graph.outputs.push_back(graph.inputs[0]);
    const Graph separate = separate_outputs(graph);
    const std::vector<size_t> stages = defining_stages(separate);
    std::set<uint32_t> seen;
    for (TensorId id : separate.outputs) {
      EXPECT_NE(stages[id.value], SIZE_MAX);
      EXPECT_TRUE(seen.insert(id.value).second);
    }
    const std::vector<Array> inputs = testing::small_inputs(graph, seed);
    const std::vector<Array> a = interpret(graph, inputs), b = interpret(separate, inputs);
    for (size_t k = 0; k < a.size(); ++k) EXPECT_EQ(a[k].bytes, b[k].bytes) << "seed " << seed;
  }
}

}  // namespace
}  // namespace adjit::sched
