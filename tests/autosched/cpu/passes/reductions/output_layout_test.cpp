// Which sums of products have the axis of their lanes innermost in memory.
#include "autosched/cpu/passes/reductions/output_layout.hpp"

#include "autosched/moves/moves.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// The weights' gradient of a convolution with that stride, of images of 28 x 28 results.
Graph weights(int64_t images, int64_t stride) {
  const std::string n = std::to_string(images), s = std::to_string(stride);
  const std::string side = std::to_string(28 * stride + 2);
  return parse_graph("def main(float(" + n + ", 128, 28, 28) d, float(" + n + ", 64, " + side +
                     ", " + side + ") x) -> (w) {\n  w(o, c, p, q) +=! d(r_n, o, r_y, r_x) * " +
                     "x(r_n, c, " + s + " * r_y + p, " + s + " * r_x + q) where o in 0:128, " +
                     "c in 0:64, p in 0:3, q in 0:3, r_n in 0:" + n +
                     ", r_y in 0:28, r_x in 0:28\n}");
}

bool transposes(const Graph& graph, int64_t l2_bytes) {
  CpuMachine machine;
  machine.cores = 2;
  machine.vector_bits = 512;
  machine.l2_bytes = l2_bytes;
  return has_move(default_schedule(graph, machine), "transpose_output");
}

TEST(ResultLayout, OfSumsInPasses) {
  EXPECT_TRUE(transposes(weights(8, 2), 1 << 20));
  EXPECT_FALSE(transposes(weights(8, 2), 64 << 20)) << "operands stay in the cache";
  EXPECT_FALSE(transposes(weights(1, 2), 1 << 20)) << "no passes over one image";
}

TEST(ResultLayout, WhatItWants) {
  const Program program = plain(weights(8, 2));
  CpuMachine machine;
  machine.cores = 2;
  machine.vector_bits = 512;
  machine.l2_bytes = 1 << 20;
  TileChoice tile;
  tile.lanes = 16;
  const auto wants = [&](std::optional<size_t> lanes, const Program& of) {
    tile.vector_axis = lanes;
    tile.factors = {1, 12, 1, 1, 1, 1, 1};
    if (lanes == 0) tile.factors[0] = 2;
    return wants_lanes_innermost(of, 0, tile, machine);
  };
  EXPECT_TRUE(wants(0, program));
  EXPECT_FALSE(wants(3, program)) << "it is innermost";
  EXPECT_FALSE(wants(6, program)) << "partial results in the lanes";
  EXPECT_FALSE(wants(std::nullopt, program));
  EXPECT_FALSE(wants(0, plain(weights(1, 2)))) << "no passes over one image";
  tile.factors[3] = 3;
  EXPECT_FALSE(wants_lanes_innermost(program, 0, tile, machine)) << "copies lie in rows";
}

}  // namespace
}  // namespace adjit::sched
