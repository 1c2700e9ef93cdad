// tests/autosched/cpu/passes/pack/gather_operands_test.cpp -- operands whose rows data names,
// copied where it pays.
#include "autosched/cpu/passes/pack/gather_operands.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// Bilinear bilinear_samples of an image of some channels along a flow, weighted and summed.
Graph bilinear_samples(int64_t channels, int64_t side) {
  const std::string c = std::to_string(channels), n = std::to_string(side);
  return parse_graph("def f(float(2, " + c + ", " + n + ", " + n + ") x, float(2, 2, " + n + ", " +
                     n + ") flow, float(2, " + c + ", " + n + ", " + n +
                     ") d) -> (y) { y(b, i, j) +=! d(b, r_c, i, j) * x(b, r_c, max(min(r_k + "
                     "int64(floor(flow(b, 0, i, j))), " +
                     std::to_string(side - 1) +
                     "), 0), max(min(r_l + int64(floor(flow(b, 1, i, j))), " +
                     std::to_string(side - 1) + "), 0)) where b in 0:2, i in 0:" + n +
                     ", j in 0:" + n + ", r_c in 0:" + c + ", r_k in 0:2, r_l in 0:2 }");
}

bool has_copy(const Program& program) {
  return std::ranges::any_of(program.graph.tensors,
                             [](const TensorInfo& info) { return info.name == "x_packed"; });
}

TEST(GatherOperands, ACopyWhereItPays) {
  for (int bits : {128, 256}) {
    const CpuMachine machine{.cores = 2, .vector_bits = bits};
    EXPECT_TRUE(has_copy(default_schedule(bilinear_samples(16, 64), machine))) << bits;
    EXPECT_FALSE(has_copy(default_schedule(bilinear_samples(2, 64), machine)))
        << "two channels are no piece";
  }
  const Graph small = bilinear_samples(8, 7);
  expect_faithful(default_schedule(small, CpuMachine{.cores = 2, .vector_bits = 256}), small);
}

}  // namespace
}  // namespace adjit::sched
