// Outputs that are inputs, constants or given twice become stages of their own, bit for bit.
#include <gtest/gtest.h>

#include <set>

#include "autosched/lower/scans.hpp"
#include "runtime/graph/interpreter.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

TEST(SeparateOutputs, EveryOutputIsAStageOfItsOwn) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Graph graph = random_graph(seed, {.stages = 3});
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
    const std::vector<Array> inputs = small_inputs(graph, seed);
    const std::vector<Array> a = interpret(graph, inputs), b = interpret(separate, inputs);
    for (size_t k = 0; k < a.size(); ++k) EXPECT_EQ(a[k].bytes, b[k].bytes) << "seed " << seed;
  }
}

}  // namespace
}  // namespace adjit::testing
