// tests/jit/engine/run/loaded_plan_test.cpp -- tables of kernels, sections of steps, task graphs.
#include "jit/engine/run/loaded_plan.hpp"

#include <gtest/gtest.h>

#include "tests/jit/engine/run/loaded.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

constexpr const char* kAroundAScan =
    "def main(float(9) x) -> (y, z) {\n a(i) = x(i) * 2.0\n"
    " scan (c) = step[5](carry float(9) h = a) -> (n) {\n  n(i) = h(i) * 0.5\n }\n"
    " y(i) = c(i) + a(i)\n z(i) = y(i) * 2.0\n}";

constexpr const char* kTwoKernels =
    "def main(float(40, 30) x) -> (y, z) {\n y(i, j) = x(i, j) * 2.0\n z(i) +=! x(i, r)\n}";
constexpr const char* kBothParallel = R"([{"move": "parallel", "stage": "y", "loops": 1}, )"
                                      R"({"move": "parallel", "stage": "z", "loops": 1}])";

TEST(LoadedPlan, TablesLieOneBehindTheOther) {
  const LoadedPlan p = loaded(kAroundAScan, 1);
  size_t next = 0;
  for (size_t k = 0; k < p.kernels.size(); ++k) {
    EXPECT_EQ(p.kernels[k].table, next);
    EXPECT_NE(p.kernels[k].function, nullptr);
    for (size_t buffer : p.plan.kernels[k].tensors) {
      EXPECT_NE(std::ranges::find(p.uses[buffer], next), p.uses[buffer].end());
      ++next;
    }
  }
  EXPECT_EQ(p.table_size, next);
  EXPECT_EQ(p.arguments.size(), 3u) << "x, y and z";
}

TEST(LoadedPlan, AScanIsASectionOfItsOwn) {
  const LoadedPlan p = loaded(kAroundAScan, 2);
  ASSERT_EQ(p.sections.size(), 3u);
  for (const auto& [section, end] : {std::pair{0, 1}, {1, 2}, {2, 4}}) {
    EXPECT_EQ(p.sections[static_cast<size_t>(section)].end, static_cast<size_t>(end));
    EXPECT_EQ(p.sections[static_cast<size_t>(section)].graph, SIZE_MAX) << "nothing is parallel";
  }
  ASSERT_EQ(p.scan_sections.size(), 1u);
  EXPECT_TRUE(p.scan_sections[0].before.empty());
  EXPECT_EQ(p.scan_sections[0].steps.size(), 1u);
}

TEST(LoadedPlan, ParallelKernelsAreATaskGraphWhereThereAreThreads) {
  const LoadedPlan alone = loaded(kTwoKernels, 1, kBothParallel),
                   shared = loaded(kTwoKernels, 2, kBothParallel);
  EXPECT_TRUE(alone.graphs.empty());
  ASSERT_EQ(shared.graphs.size(), 1u);
  EXPECT_EQ(shared.sections[0].graph, 0u);
  EXPECT_EQ(shared.sections[0].chains.size(), 2u);
}

TEST(LoadedPlan, AChainEndsWhereAKernelContinuesNone) {
  const LoadedPlan p = loaded(
      "def main(float(40, 30) x) -> (z, s) {\n t(i, j) = exp(x(i, j))\n z(i) +=! t(i, r)\n"
      " s(j) +=! x(r, j)\n}",
      1,
      R"([{"move": "parallel", "stage": "t", "loops": 1}, )"
      R"({"move": "parallel", "stage": "z", "loops": 1}])");
  ASSERT_TRUE(p.kernels[1].chained);
  EXPECT_EQ(chain_at(p, p.plan.steps, 0, 3).size(), 2u);
  EXPECT_EQ(chain_at(p, p.plan.steps, 0, 1).size(), 1u) << "no further than it is asked";
  EXPECT_EQ(chain_at(p, p.plan.steps, 2, 3).size(), 1u);
  EXPECT_EQ(tasks_in_turn(p, p.plan.steps), 1);
}

}  // namespace
}  // namespace adjit::testing
