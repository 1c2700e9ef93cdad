// Lines of a nest's loops in another order: those that the program in that order brings.
#include "autosched/cpu/cost/interchange_cost.hpp"

#include <algorithm>
#include <numeric>

#include "autosched/cpu/cost/features.hpp"
#include "autosched/moves/moves.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(LoneNest, OtherOrdersAsIfTheyWereMade) {
  CpuMachine machine;
  machine.l1_bytes = 8 << 10;
  machine.l2_bytes = 64 << 10;
  machine.l3_bytes = 256 << 10;
  const Program program = unroll(vectorize(plain(matmul_graph(96, 160, 200)), 0, 1, 16), 0, 0, 6);
  const LoneNest lone(program, 0, machine);
  std::vector<size_t> order(program.kernels[0].root.loops.size());
  std::iota(order.begin(), order.end(), size_t{0});
  double least = 1e300, most = 0;
  do {
    Program made;
    try {
      made = with_order(program, 0, order);
    } catch (const Error&) {
      continue;  // the tile stays innermost
    }
    const CacheCycles expected = cache_cycles(
        traffic(placed_nests(made, made.kernels[0]), beside_streams(machine), program_bytes(made))
            .front(),
        machine);
    const CacheCycles found = lone.cycles(order);
    EXPECT_DOUBLE_EQ(found.l2, expected.l2);
    EXPECT_DOUBLE_EQ(found.l3, expected.l3);
    EXPECT_DOUBLE_EQ(found.memory, expected.memory);
    EXPECT_DOUBLE_EQ(found.scattered, expected.scattered);
    least = std::min(least, found.l2 + found.l3);
    most = std::max(most, found.l2 + found.l3);
  } while (std::ranges::next_permutation(order).found);
  EXPECT_GT(most, 1.5 * least) << "orders differ";
}

TEST(LoneNest, ALoopInTwo) {
  CpuMachine machine;
  machine.l1_bytes = 8 << 10;
  machine.l2_bytes = 64 << 10;
  const Program program = unroll(vectorize(plain(matmul_graph(96, 160, 200)), 0, 1, 16), 0, 0, 6);
  const Nest& nest = program.kernels[0].root;
  size_t reduction = 0;
  while (nest.loops[reduction].axis != 2) ++reduction;
  const std::vector<int64_t> steps{40};
  const Program made = tile(program, 0, 2, steps);
  std::vector<size_t> order(nest.loops.size() + 1);
  std::iota(order.begin(), order.end(), size_t{0});
  for (const size_t to : {reduction, size_t{0}}) {
    std::rotate(order.begin() + static_cast<std::ptrdiff_t>(to),
                order.begin() + static_cast<std::ptrdiff_t>(reduction),
                order.begin() + static_cast<std::ptrdiff_t>(reduction + 1));
    const CacheCycles expected = LoneNest(made, 0, machine).cycles(order);
    const CacheCycles found = LoneNest(program, 0, machine).with_split(reduction, 40).cycles(order);
    EXPECT_DOUBLE_EQ(found.l2, expected.l2);
    EXPECT_DOUBLE_EQ(found.l3, expected.l3);
    EXPECT_DOUBLE_EQ(found.memory, expected.memory);
  }
}

}  // namespace
}  // namespace adjit::sched
