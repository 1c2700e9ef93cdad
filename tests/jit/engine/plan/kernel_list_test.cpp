// tests/jit/engine/plan/kernel_list_test.cpp -- programs within programs, flattened.
#include "jit/engine/plan/kernel_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "autosched/moves/moves.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/jit/engine/planned.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// A scan in a scan: rows of x, then elements of a row.
constexpr const char* kNested = R"(def f(float(3, 4) x, float c0, float(4) w) -> (c, y) {
  b() = c0() * 2
  scan (c) = rows[3](carry float s = b, over float(4) row = x, fixed float(4) u = w) -> (n) {
    scan (n) = row_sum[4](carry float t = s, over float e = row, over float f = u) -> (m) {
      m() = t() * e() + f()
    }
  }
  y(i, j) = x(i, j) + c()
})";

TEST(KernelList, KernelsOfStepsStandWhereTheScanRuns) {
  const Program program =
      default_schedule(parse_graph(kNested), CpuMachine{.cores = 1, .vector_bits = 512});
  const KernelList list(program, row_major(program.graph, program.graph.inputs));
  std::vector<const Program*> programs;
  for (const KernelList::Entry& entry : list.entries()) {
    EXPECT_FALSE(entry.program->kernels[entry.kernel].steps) << "a scan is no kernel of its own";
    EXPECT_EQ(entry.layouts->size(), entry.program->graph.tensors.size());
    if (programs.empty() || programs.back() != entry.program) programs.push_back(entry.program);
  }
  // b, then what the innermost step runs (and copies around it), then y.
  EXPECT_EQ(programs.front(), &program);
  EXPECT_EQ(programs.back(), &program);
  const std::set<const Program*> distinct(programs.begin(), programs.end());
  EXPECT_GE(distinct.size(), 2u);
  // Calls of a run: the innermost step is made 3 x 4 times.
  int64_t most = 0;
  for (const KernelList::Entry& entry : list.entries()) {
    EXPECT_EQ(entry.calls == 1, entry.program == &program);
    most = std::max(most, entry.calls);
  }
  EXPECT_EQ(most, 12);
}

TEST(KernelList, InputsKeepTheirStridesAndSlicesLoseTheLeadingOne) {
  const LoweredGraph graph(parse_graph(kNested));
  std::vector<TensorLayout> inputs = row_major(graph, graph.inputs);
  inputs[0].strides = {1, 3};  // x by columns
  const std::vector<TensorLayout> layouts = layouts_of(graph, inputs);
  EXPECT_EQ(layouts[graph.inputs[0].value].strides, (std::vector<int64_t>{1, 3}));
  const Stage* scan = nullptr;
  for (const Stage& stage : graph.stages)
    if (stage.kind == StageKind::Scan) scan = &stage;
  ASSERT_NE(scan, nullptr);
  const std::vector<TensorLayout> step = step_layouts(graph, *scan, layouts);
  ASSERT_EQ(step.size(), 3u);
  EXPECT_TRUE(step[0].strides.empty());                                // the carry
  EXPECT_EQ(step[1].strides, (std::vector<int64_t>{3}));               // a row of x
  EXPECT_EQ(step[2].strides, layouts[graph.inputs[2].value].strides);  // w as it is
}

}  // namespace
}  // namespace adjit::testing
