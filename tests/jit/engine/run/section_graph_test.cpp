// tests/jit/engine/run/section_graph_test.cpp -- calls that are one launch of a graph: addresses
// that change, streams, scans, checks, errors.
#include "jit/engine/run/section_graph.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/jit/engine/run/on_fake_gpu.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

constexpr std::array kOnDevice{true, true, true};

class SectionGraphs : public OnFakeGpu {
 protected:
  /// y = x + 5 z by five kernels, one behind the other, with workspaces in turn.
  std::unique_ptr<CudaExecutable> sum_of_six() { return loaded(plan_of_six(), add()); }
  /// The same; the second and the fourth take a table of addresses.
  std::unique_ptr<CudaExecutable> sum_of_six_by_tables() {
    ExecutionPlan plan = plan_of_six();
    for (const size_t k : {1, 3}) {
      plan.kernels[k].symbol = "by_table";
      plan.kernels[k].by_table = true;
    }
    return loaded(std::move(plan), add() + sum_by_table("by_table"));
  }
  static ExecutionPlan plan_of_six() {
    ExecutionPlan plan = arrays(2, 1);
    plan.buffers.push_back({Buffer::Kind::Workspace, 0});
    plan.buffers.push_back({Buffer::Kind::Workspace, 1024});
    plan.workspace_bytes = 2048;
    add_kernel(plan, "add", {0, 1, 3});
    add_kernel(plan, "add", {3, 1, 4});
    add_kernel(plan, "add", {4, 1, 3});
    add_kernel(plan, "add", {3, 1, 4});
    add_kernel(plan, "add", {4, 1, 2});
    for (size_t k = 1; k < 5; ++k) plan.steps[k].waits = {k - 1};
    return plan;
  }
  static std::string add() { return pointwise_of("add", "fadd float %a, %b"); }

  static void run(CudaExecutable& executable, const OnDevice& x, const OnDevice& z,
                  const OnDevice& y, RunOptions options = {}) {
    const void* in[] = {x.address(), z.address()};
    void* out[] = {y.address()};
    options.on_device = kOnDevice;
    executable.run(in, out, options);
  }
};

TEST_F(SectionGraphs, AWarmCallIsOneLaunch) {
  const auto executable = sum_of_six();
  const OnDevice x(*gpu, numbers(1)), z(*gpu, numbers(2)), y(*gpu, numbers(0));
  run(*executable, x, z, y);
  EXPECT_EQ(y.read()[7], 8 + 5 * 9);
  const int taken = fake.calls("cuMemAllocFromPoolAsync"),
            waits = fake.calls("cuStreamSynchronize"), launched = fake.calls("cuGraphLaunch");
  run(*executable, x, z, y);
  EXPECT_EQ(fake.calls("cuGraphLaunch"), launched + 1);
  EXPECT_EQ(fake.calls("cuGraphInstantiateWithFlags"), 1);
  EXPECT_EQ(fake.calls("cuGraphExecKernelNodeSetParams_v2"), 0) << "nothing has changed";
  EXPECT_EQ(fake.calls("cuLaunchKernel"), 0);
  EXPECT_EQ(fake.calls("cuMemAllocFromPoolAsync"), taken);
  EXPECT_EQ(fake.calls("cuStreamSynchronize"), waits);
}

TEST_F(SectionGraphs, OnlyKernelsWithOtherAddressesAreChanged) {
  const auto executable = sum_of_six();
  const OnDevice x(*gpu, numbers(1)), z(*gpu, numbers(2)), y(*gpu, numbers(0));
  const OnDevice other_x(*gpu, numbers(100)), other_z(*gpu, numbers(3)), other_y(*gpu, numbers(0));
  run(*executable, x, z, y);
  const auto changes = [&] { return fake.calls("cuGraphExecKernelNodeSetParams_v2"); };
  run(*executable, other_x, z, y);
  EXPECT_EQ(changes(), 1);
  EXPECT_EQ(y.read()[7], 107 + 5 * 9);
  run(*executable, other_x, z, other_y);
  EXPECT_EQ(changes(), 2);
  EXPECT_EQ(other_y.read()[7], 107 + 5 * 9);
  run(*executable, x, other_z, y);
  EXPECT_EQ(changes(), 2 + 5);
  EXPECT_EQ(y.read()[7], 8 + 5 * 10);
  run(*executable, x, other_z, y);
  EXPECT_EQ(changes(), 2 + 5);
  EXPECT_EQ(fake.calls("cuGraphInstantiateWithFlags"), 1);
}

TEST_F(SectionGraphs, FewKernelsAndCapturesHaveNone) {
  const OnDevice x(*gpu, numbers(1)), z(*gpu, numbers(2)), y(*gpu, numbers(0));
  const auto few = sum_of_three();
  run(*few, x, z, y);
  const auto executable = sum_of_six();
  const Stream stream(gpu->context);
  fake.capture(stream.handle(), true);
  run(*executable, x, z, y, {.stream = stream.handle()});
  fake.capture(stream.handle(), false);
  EXPECT_EQ(fake.calls("cuLaunchKernel"), 2 + 5);
  const void* in[] = {x.address(), z.address()};
  void* out[] = {y.address()};
  executable->profile(in, out, 1, {.on_device = kOnDevice});
  EXPECT_EQ(fake.calls("cuLaunchKernel"), 2 + 5 + 5) << "each is measured";
  EXPECT_EQ(y.read()[7], 8 + 5 * 9);
  EXPECT_EQ(fake.calls("cuGraphCreate"), 0);
}

TEST_F(SectionGraphs, StreamsHaveAGraphEach) {
  const auto executable = sum_of_six();
  const OnDevice x(*gpu, numbers(1)), z(*gpu, numbers(2)), y(*gpu, numbers(0)),
      other(*gpu, numbers(0));
  const Stream one(gpu->context), two(gpu->context);
  for (int k = 0; k < 3; ++k) {
    run(*executable, x, z, y, {.stream = one.handle()});
    run(*executable, z, x, other, {.stream = two.handle()});
  }
  EXPECT_EQ(y.read()[7], 8 + 5 * 9);
  EXPECT_EQ(other.read()[7], 9 + 5 * 8);
  EXPECT_EQ(fake.calls("cuGraphInstantiateWithFlags"), 2);
  EXPECT_EQ(fake.calls("cuGraphExecKernelNodeSetParams_v2"), 0);
}

TEST_F(SectionGraphs, AWaitThatThePlanLacksIsSeen) {
  ExecutionPlan plan = plan_of_six();
  plan.steps[3].waits = {1};
  const auto executable = loaded(std::move(plan), add());
  const OnDevice x(*gpu, numbers(1)), z(*gpu, numbers(2)), y(*gpu, numbers(0));
  EXPECT_THROW(run(*executable, x, z, y), Error);
  EXPECT_NE(fake.faults().find("add and add meet in memory"), std::string::npos);
  lost = true;
}

// Three steps, c = 2 (c + x[t]), whose results are stacked, of arrays that change.
TEST_F(SectionGraphs, ScansAreUnrolled) {
  ExecutionPlan plan = arrays(2, 2);
  plan.inputs[1] = {DType::Float32, {3, kFloats}, {kFloats, 1}};
  plan.outputs[1] = plan.inputs[1];
  for (int k = 0; k < 4; ++k) plan.buffers.push_back({Buffer::Kind::Step, 0});
  plan.workspace_bytes = 2048;
  ScanPlan scan;
  scan.trips = 3;
  scan.carries = {{4, 5, 0, 2, {0, 1024}, kFloatsBytes}};
  scan.slices = {{6, 1, kFloatsBytes}, {7, 3, kFloatsBytes}};
  plan.scans.push_back(std::move(scan));
  plan.steps.push_back({true, 0, {}});
  add_kernel(plan, "add", {4, 6, 5}, &plan.scans[0].steps);
  add_kernel(plan, "add", {5, 5, 7}, &plan.scans[0].steps);
  plan.scans[0].steps[1].waits = {0};
  const auto executable = loaded(plan, add());
  std::vector<float> steps;
  for (const float first : {10.0F, 20.0F, 40.0F})
    for (const float number : numbers(first, 0)) steps.push_back(number);
  const OnDevice x(*gpu, steps), start(*gpu, numbers(1)), other_start(*gpu, numbers(2)),
      last(*gpu, numbers(0)), stacked(*gpu, std::vector<float>(3 * kFloats));
  constexpr std::array on_device{true, true, true, true};
  for (const OnDevice* c : {&start, &other_start, &start}) {
    const void* in[] = {c->address(), x.address()};
    void* out[] = {last.address(), stacked.address()};
    executable->run(in, out, {.on_device = on_device});
    const float first = c == &start ? 6 : 7;
    EXPECT_EQ(last.read()[5], first + 70);
    EXPECT_EQ(stacked.read()[5], 2 * (first + 10));
    EXPECT_EQ(stacked.read()[2 * kFloats + 5], 2 * (first + 70));
  }
  EXPECT_EQ(fake.calls("cuGraphLaunch"), 3);
  EXPECT_EQ(fake.calls("cuLaunchKernel"), 0);
  EXPECT_EQ(fake.calls("cuGraphExecKernelNodeSetParams_v2"), 2) << "of the first step";
}

TEST_F(SectionGraphs, KernelsOfManyArraysHaveATableEach) {
  const auto executable = sum_of_six_by_tables();
  const OnDevice x(*gpu, numbers(1)), z(*gpu, numbers(2)), other_z(*gpu, numbers(3)),
      y(*gpu, numbers(0));
  run(*executable, x, z, y);
  EXPECT_EQ(y.read()[7], 8 + 5 * 9);
  const int copies = fake.calls("cuMemcpyHtoDAsync_v2");
  run(*executable, x, z, y);
  EXPECT_EQ(fake.calls("cuMemcpyHtoDAsync_v2"), copies);
  run(*executable, x, other_z, y);
  EXPECT_EQ(fake.calls("cuMemcpyHtoDAsync_v2"), copies + 2);
  EXPECT_EQ(y.read()[7], 8 + 5 * 10);
}

TEST_F(SectionGraphs, WithoutRoomForAGraphKernelsAreLaunched) {
  const auto executable = sum_of_six();
  const OnDevice x(*gpu, numbers(1)), z(*gpu, numbers(2)), y(*gpu, numbers(0));
  fake.fail("cuGraphInstantiateWithFlags", cuda::result::kOutOfMemory);
  for (int k = 0; k < 2; ++k) run(*executable, x, z, y);
  EXPECT_EQ(fake.calls("cuLaunchKernel"), 2 * 5);
  EXPECT_EQ(fake.calls("cuGraphInstantiateWithFlags"), 1) << "it is not tried at each call";
  EXPECT_EQ(y.read()[7], 8 + 5 * 9);
}

// Nothing is in the stream that reads the tables of a graph that could not be made.
TEST_F(SectionGraphs, WithoutRoomForAGraphItsTablesAreNotWritten) {
  const auto executable = sum_of_six_by_tables();
  const OnDevice x(*gpu, numbers(1)), z(*gpu, numbers(2)), y(*gpu, numbers(0));
  fake.fail("cuGraphInstantiateWithFlags", cuda::result::kOutOfMemory);
  const int copies = fake.calls("cuMemcpyHtoDAsync_v2");
  run(*executable, x, z, y);
  EXPECT_EQ(fake.calls("cuMemcpyHtoDAsync_v2"), copies + 2) << "of the kernels that are launched";
  EXPECT_EQ(y.read()[7], 8 + 5 * 9);
}

TEST_F(SectionGraphs, AfterAnErrorTheGraphIsMadeAnew) {
  const auto executable = sum_of_six();
  const OnDevice x(*gpu, numbers(1)), z(*gpu, numbers(2)), other_z(*gpu, numbers(3)),
      y(*gpu, numbers(0));
  fake.fail("cuGraphAddKernelNode_v2", cuda::result::kTooManyResources, 3);
  EXPECT_THROW(run(*executable, x, z, y), Error);
  run(*executable, x, z, y);
  fake.fail("cuGraphExecKernelNodeSetParams_v2", cuda::result::kInvalidValue, 3);
  EXPECT_THROW(run(*executable, x, other_z, y), Error);
  run(*executable, x, other_z, y);
  EXPECT_EQ(y.read()[7], 8 + 5 * 10);
  fake.fail("cuGraphLaunch", cuda::result::kInvalidValue);
  EXPECT_THROW(run(*executable, x, other_z, y), Error);
  run(*executable, x, z, y);
  EXPECT_EQ(y.read()[7], 8 + 5 * 9);
}

}  // namespace
}  // namespace adjit::testing
