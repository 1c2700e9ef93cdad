// tests/autosched/gpu/cost/thread_roles_test.cpp -- which iterations run side by side.
#include "autosched/gpu/cost/thread_roles.hpp"

#include <gtest/gtest.h>

#include <string>

namespace adjit::sched {
namespace {

std::string text(const std::vector<RoleOfLoop>& roles) {
  std::string all;
  for (const RoleOfLoop& role : roles)
    all += std::string(1, "GBWSL"[static_cast<size_t>(role.role)]) + std::to_string(role.loop) +
           ":" + std::to_string(static_cast<int>(role.trips)) + "/" +
           std::to_string(static_cast<int>(role.apart)) + " ";
  return all;
}

Loop loop(LoopKind kind, int64_t trips) {
  return {.axis = 0, .step = 1, .trips = trips, .kind = kind};
}

TEST(ThreadRoles, TasksThatFollowEachOtherAreAWarpsThenABlocks) {
  const std::vector<Loop> path = {loop(LoopKind::Parallel, 10), loop(LoopKind::Parallel, 1000),
                                  loop(LoopKind::Serial, 7), loop(LoopKind::Vector, 4)};
  EXPECT_EQ(text(roles_of(path, false)), "G0:10/1 G1:8/128 B1:4/32 W1:32/1 S2:7/1 L3:4/1 ");
}

TEST(ThreadRoles, AWarpMayReachIntoTheNextLoop) {
  const std::vector<Loop> path = {loop(LoopKind::Parallel, 100), loop(LoopKind::Parallel, 8)};
  EXPECT_EQ(text(roles_of(path, false)), "G0:7/16 B0:4/4 W0:4/1 W1:8/1 ");
}

TEST(ThreadRoles, OfABlockKernelThreadLoopsAreTheBlock) {
  const std::vector<Loop> path = {loop(LoopKind::Parallel, 6), loop(LoopKind::Serial, 3),
                                  loop(LoopKind::Thread, 4), loop(LoopKind::Thread, 64)};
  EXPECT_EQ(text(roles_of(path, true)), "G0:6/1 S1:3/1 B2:4/1 B3:2/32 W3:32/1 ");
}

}  // namespace
}  // namespace adjit::sched
