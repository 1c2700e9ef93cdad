// tests/jit/engine/plan/plan_test.cpp -- slots and workspace of a program.
#include "jit/engine/plan/plan.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/jit/engine/planned.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// The buffer of a tensor that a kernel takes.
Buffer buffer_of(const Planned& p, size_t kernel, size_t tensor) {
  return p.plan.buffers[p.plan.kernels[kernel].tensors[tensor]];
}

TEST(Plan, PutsEveryTensorSomewhere) {
  const Planned p = planned(kChain);
  ASSERT_EQ(p.plan.kernels.size(), 5u);
  ASSERT_EQ(p.plan.steps.size(), 5u);
  EXPECT_EQ(p.plan.inputs.size(), 2u);
  EXPECT_EQ(p.plan.outputs[0].shape, (std::vector<int64_t>{100}));
  EXPECT_EQ(p.plan.outputs[1].shape, (std::vector<int64_t>{}));
  // a, b, t live one after the other: two of 400 bytes at once, in blocks of 64.
  EXPECT_EQ(p.plan.workspace_bytes, 2 * 448);
  // c at 0, e behind it, each from a multiple of 64.
  EXPECT_EQ(p.plan.constants.size(), 64u + 8u);
  float e[2];
  std::memcpy(e, p.plan.constants.data() + 64, sizeof e);
  EXPECT_EQ(e[1], 5);
  for (size_t k = 0; k < p.kernels.size(); ++k) {
    const KernelPlan& kernel = p.plan.kernels[k];
    // Each reads what the one before wrote.
    const std::vector<size_t> waits = k == 0 ? std::vector<size_t>{} : std::vector{k - 1};
    EXPECT_EQ(p.plan.steps[k], (StepPlan{false, k, waits}));
    EXPECT_EQ(kernel.symbol, "kernel_" + std::to_string(k));
    ASSERT_EQ(kernel.tensors.size(), p.kernels[k].tensors.size());
    for (size_t t = 0; t < kernel.tensors.size(); ++t) {
      const std::string& name = p.program.graph.info(p.kernels[k].tensors[t]).name;
      using enum Buffer::Kind;
      const Buffer buffer = buffer_of(p, k, t);
      if (name == "x" || name == "z") {
        EXPECT_EQ(buffer, (Buffer{Input, name == "z", 0}));
      }
      if (name == "d" || name == "s") {
        EXPECT_EQ(buffer, (Buffer{Output, name == "s", 0}));
      }
      if (name == "c" || name == "e") {
        EXPECT_EQ(buffer, (Buffer{Constant, name == "e" ? 64 : 0, 0}));
      }
      if (name == "a" || name == "b" || name == "t") {
        EXPECT_EQ(buffer.kind, Workspace);
      }
    }
  }
}

TEST(Plan, BuffersOfOneKernelNeverOverlap) {
  const Planned p = planned(kChain);
  for (size_t k = 0; k < p.kernels.size(); ++k)
    for (size_t t = 0; t < p.kernels[k].tensors.size(); ++t)
      for (size_t u = 0; u < t; ++u) {
        const Buffer a = buffer_of(p, k, t), b = buffer_of(p, k, u);
        if (a.kind == Buffer::Kind::Workspace && b.kind == Buffer::Kind::Workspace) {
          EXPECT_GE(std::abs(a.at - b.at), 400);
        }
      }
}

std::vector<std::vector<size_t>> waits_of(const ExecutionPlan& plan) {
  std::vector<std::vector<size_t>> waits;
  for (const StepPlan& step : plan.steps) waits.push_back(step.waits);
  return waits;
}

using Waits = std::vector<std::vector<size_t>>;

TEST(Plan, KernelsWaitForWhatTheyUse) {
  // Two sums of a, which need not wait for each other, and what both lead to.
  EXPECT_EQ(waits_of(planned("def main(float(8, 8) x) -> (y) {\n"
                             " a(i, j) = x(j, i) * 2.0\n u(i) +=! a(i, r)\n"
                             " v(i) +=! a(r, i)\n y(i) = u(i) * v(i)\n}")
                         .plan),
            (Waits{{}, {0}, {0}, {1, 2}}));
  // c lies where a lay: it waits for the kernels that read a, though it needs neither.
  const Planned p = planned(
      "def main(float(64) x) -> (y, z) {\n"
      " a(i) = x(i) * 2.0\n y(i) = a(i) + 1.0\n c(i) = x(i) * 3.0\n z(i) = c(i) + 1.0\n}");
  EXPECT_EQ(p.plan.workspace_bytes, 256);
  EXPECT_EQ(waits_of(p.plan), (Waits{{}, {0}, {1}, {2}}));
}

// A thread runs a task, or a block does; or as many as are in turn.
TEST(Plan, KernelsOfAGpuAreLaunchedWithAThreadOrABlockATask) {
  KernelPlan kernel;
  kernel.tasks = 1000;
  kernel.in_turn = 3;
  EXPECT_EQ(launch_size(kernel).blocks, 3);  // of 128 threads: 334
  EXPECT_EQ(launch_size(kernel).threads, 128);
  kernel.threads = 96;
  kernel.shared_bytes = 64;
  EXPECT_EQ(launch_size(kernel).blocks, 334);
  EXPECT_EQ(launch_size(kernel).threads, 96);
  EXPECT_EQ(launch_size(kernel).shared_bytes, 64);
  kernel.tasks = 0;
  EXPECT_EQ(launch_size(kernel).blocks, 0);
}

}  // namespace
}  // namespace adjit::testing
