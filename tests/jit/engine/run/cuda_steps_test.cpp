// tests/jit/engine/run/cuda_steps_test.cpp -- launches of kernels, and the addresses that scans
// move.
#include "jit/engine/run/cuda_steps.hpp"

#include <gtest/gtest.h>

#include "tests/jit/engine/run/on_fake_gpu.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using CudaSteps = OnFakeGpu;

std::vector<float> run(CudaExecutable& executable, const std::vector<std::vector<float>>& inputs,
                       size_t size = kFloats) {
  std::vector<const void*> in;
  for (const std::vector<float>& input : inputs) in.push_back(input.data());
  std::vector<float> y(size);
  void* out[] = {y.data()};
  executable.run(in.data(), out);
  return y;
}

// Three steps, c = c + x[t], whose results are stacked.
TEST_F(CudaSteps, ScansMoveSlicesAndCarries) {
  for (const bool reverse : {false, true}) {
    ExecutionPlan plan = arrays(2, 2);
    plan.inputs[1] = {DType::Float32, {3, kFloats}, {kFloats, 1}};
    plan.outputs[1] = plan.inputs[1];
    for (int k = 0; k < 4; ++k) plan.buffers.push_back({Buffer::Kind::Step, 0});
    plan.workspace_bytes = 2048;
    ScanPlan scan;
    scan.trips = 3;
    scan.reverse = reverse;
    scan.carries = {{4, 5, 0, 2, {0, 1024}, kFloatsBytes}};
    scan.slices = {{6, 1, kFloatsBytes}, {7, 3, kFloatsBytes}};
    plan.scans.push_back(std::move(scan));
    plan.steps.push_back({true, 0, {}});
    add_kernel(plan, "add", {4, 6, 5}, &plan.scans[0].steps);
    add_kernel(plan, "twice", {5, 5, 7}, &plan.scans[0].steps);
    plan.scans[0].steps[1].waits = {0};
    const auto executable = loaded(plan, pointwise_of("add", "fadd float %a, %b") +
                                             pointwise_of("twice", "fadd float %a, %b"));
    const std::vector<float> start = numbers(1);
    std::vector<float> x;
    for (const float first : {10.0F, 20.0F, 40.0F})
      for (const float number : numbers(first, 0)) x.push_back(number);
    std::vector<float> last(kFloats), stacked(3 * kFloats);
    const void* in[] = {start.data(), x.data()};
    void* out[] = {last.data(), stacked.data()};
    executable->run(in, out);
    EXPECT_EQ(last[5], 6 + 70);
    EXPECT_EQ(stacked[5], 2 * (6 + (reverse ? 70 : 10)));
    EXPECT_EQ(stacked[2 * kFloats + 5], 2 * (6 + (reverse ? 40 : 70)));
  }
}

// Doubles c while its first element is below 100.
TEST_F(CudaSteps, LoopsEndWhereTheirBoolSaysSo) {
  ExecutionPlan plan = arrays(1, 1);
  for (int k = 0; k < 4; ++k) plan.buffers.push_back({Buffer::Kind::Step, 0});
  plan.buffers.push_back({Buffer::Kind::Workspace, 4096});  // the bool at first
  plan.buffers.push_back({Buffer::Kind::Workspace, 4100});  // and at last
  plan.workspace_bytes = 8192;
  ScanPlan scan;
  scan.conditional = true;
  scan.carries = {{2, 3, 0, 1, {0, 1024}, kFloatsBytes}, {4, 5, 6, 7, {2048, 2112}, 1}};
  plan.scans.push_back(std::move(scan));
  const std::string test = R"(
define ptx_kernel void @test(ptr addrspace(1) %x, ptr addrspace(1) %g) {
  %k = call i64 @task(i64 1)
  %none = icmp slt i64 %k, 0
  br i1 %none, label %end, label %work
work:
  %a = load float, ptr addrspace(1) %x
  %less = fcmp olt float %a, 100.0
  %byte = zext i1 %less to i8
  store i8 %byte, ptr addrspace(1) %g
  br label %end
end:
  ret void
})";
  plan.kernels.push_back({.symbol = "test", .tensors = {0, 6}});
  plan.steps.push_back({false, 0, {}});
  plan.steps.push_back({true, 0, {}});
  add_kernel(plan, "twice", {2, 2, 3}, &plan.scans[0].steps);
  plan.kernels.push_back({.symbol = "test", .tensors = {3, 5}});
  plan.scans[0].steps.push_back({false, 2, {}});
  const auto executable = loaded(plan, pointwise_of("twice", "fadd float %a, %b") + test);
  EXPECT_EQ(run(*executable, {numbers(3)})[1], 4 * 64);
  EXPECT_EQ(run(*executable, {numbers(300)})[1], 301) << "no step";
}

TEST_F(CudaSteps, KernelsOfManyArraysTakeATable) {
  ExecutionPlan plan = arrays(2, 1);
  add_kernel(plan, "add", {0, 1, 2});
  plan.kernels[0].by_table = true;
  const auto executable = loaded(plan, sum_by_table("add"));
  EXPECT_EQ(run(*executable, {numbers(1), numbers(2)})[7], 17);
  const int copies = fake.calls("cuMemcpyHtoDAsync_v2");
  EXPECT_EQ(run(*executable, {numbers(1), numbers(3)})[7], 18);
  EXPECT_EQ(fake.calls("cuMemcpyHtoDAsync_v2"), copies + 2) << "the table is there already";
}

TEST_F(CudaSteps, KernelsWithoutTasksAreNotLaunched) {
  ExecutionPlan plan = arrays(1, 1);
  add_kernel(plan, "add", {0, 0, 1});
  plan.kernels[0].tasks = 0;
  run(*loaded(plan, pointwise_of("add", "fadd float %a, %b")), {numbers(1)});
  EXPECT_EQ(fake.calls("cuLaunchKernel"), 0);
}

}  // namespace
}  // namespace adjit::testing
