// tests/jit/engine/run/frame_test.cpp -- addresses that stay, and those that a scan moves.
#include "jit/engine/run/frame.hpp"

#include <gtest/gtest.h>

#include <map>

#include "jit/engine/run/place_step.hpp"
#include "tests/jit/engine/run/loaded.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

TEST(Frame, KnowsTheWorkspaceAndTheConstants) {
  const LoadedPlan p = loaded(kChain, 1);
  const std::unique_ptr<Frame> frame = make_frame(p);
  size_t known = 0;
  for (size_t b = 0; b < p.plan.buffers.size(); ++b) {
    const Buffer& buffer = p.plan.buffers[b];
    const void* expected = nullptr;
    if (buffer.kind == Buffer::Kind::Workspace) expected = frame->workspace.get() + buffer.at;
    if (buffer.kind == Buffer::Kind::Constant) expected = p.plan.constants.data() + buffer.at;
    known += expected != nullptr;
    EXPECT_EQ(frame->addresses[b], expected);
    for (size_t position : p.uses[b]) EXPECT_EQ(frame->table[position], expected);
  }
  EXPECT_GE(known, 3u) << "a and b, or t, and two constants";
}

TEST(Frame, AnAddressGoesIntoEveryTable) {
  const LoadedPlan p =
      loaded("def main(float(9) x) -> (y, z) {\n y(i) = x(i) * 2.0\n z(i) = x(8 - i) - 1.0\n}", 1);
  const std::unique_ptr<Frame> frame = make_frame(p);
  size_t x = 0;
  while (p.plan.buffers[x].kind != Buffer::Kind::Input) ++x;
  float element = 0;
  set_address(*frame, p, x, &element);
  EXPECT_EQ(frame->addresses[x], &element);
  EXPECT_EQ(std::ranges::count(frame->table, static_cast<void*>(&element)), 2);
}

// Buffers 0 and 1: a slice and what it is a slice of; 2 to 5: a carry.
TEST(Frame, AStepFindsItsSliceAndWhatTheStepBeforeLeft) {
  std::vector<std::byte> stacked(12), first(4), last(4);
  Frame frame;
  frame.workspace = allocate_block(128);
  frame.addresses = {nullptr, stacked.data(), nullptr, nullptr, first.data(), last.data()};
  ScanPlan scan;
  scan.trips = 3;
  scan.slices = {{0, 1, 4}};
  scan.carries = {{2, 3, 4, 5, {0, 64}, 4}};
  std::byte *const one = frame.workspace.get(), *const other = one + 64;
  for (const bool reverse : {false, true}) {
    scan.reverse = reverse;
    const std::array<const void*, 3> in{first.data(), one, other}, out{one, other, last.data()};
    for (int64_t n = 0; n < 3; ++n) {
      std::map<size_t, void*> found;
      place_step(frame.addresses, frame.workspace.get(), scan, n,
                 [&](size_t buffer, void* address) { found[buffer] = address; });
      EXPECT_EQ(found[0], stacked.data() + 4 * (reverse ? 2 - n : n));
      EXPECT_EQ(found[2], in[static_cast<size_t>(n)]);
      EXPECT_EQ(found[3], out[static_cast<size_t>(n)]);
    }
  }
}

}  // namespace
}  // namespace adjit::testing
