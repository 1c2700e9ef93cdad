// tests/jit/engine/plan/workspace_test.cpp -- buffers alive at once never overlap; dead ones are
// reused.
#include "jit/engine/plan/workspace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace adjit::engine {
namespace {

bool overlap(int64_t a, int64_t a_bytes, int64_t b, int64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

TEST(Workspace, AChainNeedsTwoBuffers) {
  std::vector<Lifetime> chain;
  for (size_t k = 0; k < 10; ++k) chain.push_back({1024, k, k + 1});
  EXPECT_EQ(plan_workspace(chain, kWorkspaceAlignment).bytes, 2048);
}

TEST(Workspace, RandomLifetimesNeverShareABytePlacedAligned) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> lives;
    for (int k = 0; k < 40; ++k) {
      const size_t first = random() % 30;
      lives.push_back({static_cast<int64_t>(random() % 5000), first, first + random() % 6});
    }
    const WorkspacePlan plan = plan_workspace(lives, kWorkspaceAlignment);
    for (size_t a = 0; a < lives.size(); ++a) {
      EXPECT_EQ(plan.offsets[a] % kWorkspaceAlignment, 0);
      EXPECT_LE(plan.offsets[a] + lives[a].bytes, plan.bytes);
      for (size_t b = 0; b < a; ++b) {
        const bool together = lives[a].first <= lives[b].last && lives[b].first <= lives[a].last;
        EXPECT_FALSE(together &&
                     overlap(plan.offsets[a], lives[a].bytes, plan.offsets[b], lives[b].bytes));
      }
    }
  }
}

TEST(Workspace, NothingNeedsNothing) {
  EXPECT_EQ(plan_workspace({}, kWorkspaceAlignment).bytes, 0);
}

}  // namespace
}  // namespace adjit::engine
