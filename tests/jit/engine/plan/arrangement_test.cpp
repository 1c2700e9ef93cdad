// tests/jit/engine/plan/arrangement_test.cpp -- what lives when, and where.
#include "jit/engine/plan/arrangement.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

constexpr const char* kStages =
    "def main(float(64) x) -> (y) {\n"
    " a(i) = x(i) * 2.0\n b(i) = a(i) + 1.0\n c(i) = b(i) * a(i)\n y(i) = c(i) + b(i)\n}";

TEST(Arrangement, TensorsLiveFromTheirWriterToTheirLastReader) {
  const Program program = initial_program(parse_graph(kStages), CpuMachine{2, 512});
  const Arrangement made = arrange(program);
  EXPECT_EQ(made.order, (std::vector<size_t>{0, 1, 2, 3}));
  std::vector<std::tuple<std::string, size_t, size_t, int64_t>> lives;
  for (const Occupant& one : made.occupants)
    lives.emplace_back(program.graph.info(TensorId{one.tensor}).name, one.life.first, one.life.last,
                       one.life.bytes);
  EXPECT_EQ(lives, (decltype(lives){{"a", 0, 2, 256}, {"b", 1, 3, 256}, {"c", 2, 3, 256}}));
  EXPECT_EQ(made.bytes, 3 * 256);
  EXPECT_EQ(made.slot_bytes, 0);
  EXPECT_EQ(made.offsets.size(), 3u);
}

// Kernels of a chain keep a task's part in the thread's slot.
TEST(Arrangement, ChainsUseSlots) {
  Program program = initial_program(parse_graph(kStages), CpuMachine{2, 512});
  for (size_t s = 0; s < 4; ++s) {
    const int64_t steps[] = {16};
    program = parallel(tile(std::move(program), s, 0, steps), s, 1);
  }
  const Arrangement made = arrange(program);
  EXPECT_EQ(made.bytes, 0);
  EXPECT_EQ(made.slots.size(), 3u);
  EXPECT_EQ(made.slot_bytes, 3 * 64);
}

TEST(Arrangement, AScanHasABlockForItsStepsAndSpareCarries) {
  const Program program =
      initial_program(parse_graph("def main(float(16) x) -> (y) {\n"
                                  " scan (y) = step[5](carry float(16) c = x) -> (n) {\n"
                                  "  t(i) +=! c(r) * c(i)\n  n(i) = t(i) + t(15 - i)\n }\n}"),
                      CpuMachine{2, 512});
  const Arrangement made = arrange(program);
  const auto scan = std::ranges::find(made.occupants, UINT32_MAX, &Occupant::tensor);
  ASSERT_NE(scan, made.occupants.end());
  ASSERT_NE(made.steps[scan->kernel], nullptr);
  EXPECT_EQ(made.steps[scan->kernel]->bytes, 64) << "t";
  EXPECT_EQ(scan->life.bytes, 64 + 2 * 64);
  EXPECT_EQ(scan->life.first, scan->life.last);
}

}  // namespace
}  // namespace adjit::testing
