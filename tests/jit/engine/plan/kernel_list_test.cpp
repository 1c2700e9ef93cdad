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

// What divides the address of a tensor of a program, by its name.
int64_t alignment_in(const Program& program, std::span<const TensorLayout> layouts,
                     const std::string& name) {
  for (size_t t = 0; t < layouts.size(); ++t)
    if (program.graph.tensors[t].name == name) return layouts[t].alignment;
  ADD_FAILURE() << "no " << name;
  return -1;
}

TEST(KernelList, AProcessorsCodeKnowsNoAlignment) {
  const Program program = initial_program(parse_graph(kNested), CpuMachine{1, 512});
  const KernelList list(program, row_major(program.graph, program.graph.inputs));
  for (const KernelList::Entry& entry : list.entries())
    for (const TensorLayout& layout : *entry.layouts) EXPECT_EQ(layout.alignment, 0);
}

TEST(KernelList, AGpusTensorsAreAlignedAsTheirBuffersAre) {
  const Program program = initial_program(
      parse_graph("def f(float(4, 6) x, int64(5) at) -> (y, h) {\n"
                  " a(i, j) = x(i, j) + 1.0\n y(i, j) = a(i, j) * 2.0\n"
                  " z(i, j) = 0.0 where i in 0:4, j in 0:6\n"
                  " scatter h(at(p), j) +=! a(0, j) from z where p in 0:5, j in 0:6\n}"),
      GpuMachine{});
  std::vector<TensorLayout> inputs = row_major(program.graph, program.graph.inputs);
  inputs[0].alignment = 16;
  const auto alignment = [&](std::span<const int64_t> outputs, const std::string& name) {
    return alignment_in(program, layouts_of(program, inputs, outputs), name);
  };
  const std::vector<int64_t> none, both{16, 16}, first{16};
  EXPECT_EQ(alignment(none, "x"), 16);
  EXPECT_EQ(alignment(none, "at"), 0);
  EXPECT_EQ(alignment(none, "a"), 256) << "of its own";
  EXPECT_EQ(alignment(none, "y"), 0);
  EXPECT_EQ(alignment(both, "y"), 16);
  EXPECT_EQ(alignment(both, "h"), 16);
  EXPECT_EQ(alignment(both, "z"), 16) << "the scatter goes on in its buffer";
  EXPECT_EQ(alignment(first, "z"), 0);
}

// The slices of a scan lie as far apart as its array's first stride says.
TEST(KernelList, StepsOfAGpuKnowWhatDividesTheirSlices) {
  const auto step = [](int64_t columns, int64_t stride, int64_t alignment, int64_t outputs) {
    const Program program = initial_program(
        parse_graph("def f(float(3, " + std::to_string(columns) + ") x, float(" +
                    std::to_string(columns) +
                    ") c0) -> (c, ys) {\n"
                    "  scan (c, ys) = rows[3](carry float(" +
                    std::to_string(columns) + ") a = c0, over float(" + std::to_string(columns) +
                    ") row = x) -> (n, m) {\n"
                    "    n(i) = a(i) + row(i)\n    m(i) = n(i) * 2.0\n  }\n}"),
        GpuMachine{});
    std::vector<TensorLayout> inputs = row_major(program.graph, program.graph.inputs);
    inputs[0].strides[0] = stride;
    inputs[0].alignment = inputs[1].alignment = alignment;
    const std::vector<int64_t> of_outputs{outputs, outputs};
    std::vector<int64_t> found;
    const KernelList list(program, inputs, of_outputs);
    for (const KernelList::Entry& entry : list.entries())
      if (entry.program != &program)
        for (const char* name : {"a", "row", "n", "m"})
          found.push_back(alignment_in(*entry.program, *entry.layouts, name));
    EXPECT_GE(found.size(), 4u);
    found.resize(4);
    return found;
  };
  using Found = std::vector<int64_t>;
  EXPECT_EQ(step(8, 8, 16, 16), (Found{256, 16, 16, 16})) << "the start is a copy";
  EXPECT_EQ(step(6, 6, 16, 16), (Found{256, 8, 16, 8})) << "rows of 24 bytes";
  EXPECT_EQ(step(8, 9, 16, 16), (Found{256, 4, 16, 16})) << "rows with a gap";
  EXPECT_EQ(step(8, -8, 16, 0), (Found{256, 16, 0, 0})) << "backwards; results anywhere";
  EXPECT_EQ(step(8, 0, 0, 16), (Found{256, 0, 16, 16})) << "one row for all; arguments anywhere";
}

}  // namespace
}  // namespace adjit::testing
