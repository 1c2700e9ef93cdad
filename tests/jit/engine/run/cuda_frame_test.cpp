// tests/jit/engine/run/cuda_frame_test.cpp -- what the calls of one stream write.
#include "jit/engine/run/cuda_frame.hpp"

#include <gtest/gtest.h>

#include "tests/jit/engine/run/on_fake_gpu.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using OneCudaFrame = OnFakeGpu;

TEST_F(OneCudaFrame, PutAddressesIntoTheTablesOfWhoeverTakesThem) {
  ExecutionPlan plan = arrays(2, 1);
  plan.buffers.push_back({Buffer::Kind::Workspace, 64});
  add_kernel(plan, "add", {0, 1, 3});
  add_kernel(plan, "add", {3, 3, 2});
  const CudaPlan made =
      load_cuda_plan(plan, gpu, cuda::image_of(pointwise_of("add", "fadd float %a, %b")));
  CudaFrame frame(made, 7);
  EXPECT_EQ(frame.own, nullptr);
  std::byte block[256];
  set_workspace(frame, block);
  for (const size_t position : {2, 3, 4}) {
    EXPECT_EQ(frame.table[position], block + 64);
    EXPECT_EQ(*static_cast<void**>(frame.parameters[position]), block + 64);
  }
  frame.stale.assign(2, 0);
  set_address(frame, 0, block);
  EXPECT_EQ(frame.table[0], block);
  EXPECT_EQ(frame.stale, (std::vector<char>{1, 0}));
  frame.stale.assign(2, 0);
  set_address(frame, 0, block);
  EXPECT_EQ(frame.stale, (std::vector<char>{0, 0})) << "it was there";
  EXPECT_NE(CudaFrame(made, std::nullopt).own, nullptr);
}

}  // namespace
}  // namespace adjit::testing
