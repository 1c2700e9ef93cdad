// tests/jit/engine/run/cuda_plan_test.cpp -- a plan with its code in a GPU: kernels, constants.
#include "jit/engine/run/cuda_plan.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/jit/engine/run/on_fake_gpu.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using CudaPlans = OnFakeGpu;

TEST_F(CudaPlans, ConstantsAreUploadedOnce) {
  ExecutionPlan plan = arrays(1, 1);
  const std::vector<float> c = numbers(5);
  plan.constants.assign(64, 'x');
  plan.constants.append(reinterpret_cast<const char*>(c.data()), static_cast<size_t>(kFloatsBytes));
  plan.buffers.push_back({Buffer::Kind::Constant, 64});
  add_kernel(plan, "add", {0, 2, 1});
  const auto executable = loaded(plan, pointwise_of("add", "fadd float %a, %b"));
  const int copies = fake.calls("cuMemcpyHtoDAsync_v2");
  for (int k = 0; k < 2; ++k) {
    const std::vector<float> x = numbers(1);
    std::vector<float> y(kFloats);
    const void* in[] = {x.data()};
    void* out[] = {y.data()};
    executable->run(in, out);
    EXPECT_EQ(y[7], 8 + 12);
  }
  EXPECT_EQ(fake.calls("cuMemcpyHtoDAsync_v2"), copies + 2) << "of the input";
}

TEST_F(CudaPlans, AThreadRunsAsManyTasksAsAreInTurn) {
  ExecutionPlan plan = arrays(1, 1);
  add_kernel(plan, "add", {0, 0, 1});
  plan.kernels[0].tasks = 1000;
  plan.kernels[0].in_turn = 3;
  const CudaPlan made =
      load_cuda_plan(plan, gpu, cuda::image_of(pointwise_of("add", "fadd float %a, %b")));
  EXPECT_EQ(made.kernels[0].grid.blocks, 3);  // 334 threads
}

TEST_F(CudaPlans, SymbolsThatTheCodeLacksAreNamed) {
  ExecutionPlan plan = arrays(1, 1);
  add_kernel(plan, "none", {0, 0, 1});
  try {
    load_cuda_plan(plan, gpu, cuda::image_of(pointwise_of("add", "fadd float %a, %b")));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'none'"), std::string::npos);
  }
}

}  // namespace
}  // namespace adjit::testing
