// tests/jit/engine/planned.hpp -- a small program, its kernels and its plan.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "jit/engine/plan/kernel_list.hpp"
#include "jit/engine/plan/plan.hpp"
#include "jit/engine/run/executable.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

inline std::vector<TensorLayout> row_major(const Graph& graph, const std::vector<TensorId>& ids) {
  std::vector<TensorLayout> layouts;
  for (TensorId id : ids) layouts.push_back(contiguous_layout(graph.info(id).shape));
  return layouts;
}

struct Planned {
  Program program;
  std::vector<EmittedKernel> kernels;
  ExecutionPlan plan;
};

inline Planned planned(Program program) {
  Planned p{std::move(program), {}, {}};
  const std::vector<TensorLayout> inputs = row_major(p.program.graph, p.program.graph.inputs);
  const KernelList list(p.program, inputs);
  for (const KernelList::Entry& entry : list.entries())
    p.kernels.push_back(emit_kernel(*entry.program, entry.kernel, *entry.layouts, TargetFeatures{},
                                    "kernel_" + std::to_string(p.kernels.size())));
  p.plan = make_plan(p.program, p.kernels, inputs, {});
  return p;
}

inline Planned planned(const std::string& text) {
  return planned(initial_program(parse_graph(text), CpuMachine{1, 512}));
}

inline constexpr const char* kChain =
    "def chain(float(100) x, float(100) z) -> (d, s) {\n"
    " const float(3) c = [1.0, 2.0, 3.0]\n const float(2) e = [4.0, 5.0]\n"
    " a(i) = x(i) * c(0)\n b(i) = a(i) + e(1)\n t(i) = b(i) * z(i)\n d(i) = t(i) + c(2)\n"
    " s() +=! d(i)\n}";

/// Runs kChain on numbers whose results are exact.
inline void expect_chain(Executable& executable) {
  const std::vector<float> x(100, 2), z(100, 1);
  std::vector<float> d(100);
  float s = 0;
  const void* in[] = {x.data(), z.data()};
  void* out[] = {d.data(), &s};
  executable.run(in, out);
  EXPECT_EQ(d, std::vector<float>(100, 10));  // (x + 5) z + 3
  EXPECT_EQ(s, 1000);
}

}  // namespace adjit::testing
