// tests/jit/cuda/graph_test.cpp -- kernels that one call of the driver launches.
#include "jit/cuda/graph.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "jit/cuda/memory.hpp"
#include "jit/cuda/module.hpp"
#include "jit/cuda/result.hpp"
#include "tests/fake_cuda/fake_cuda.hpp"
#include "tests/jit/cuda/kernels.hpp"

namespace adjit::cuda {
namespace {

constexpr int kCount = 100;
using Floats = std::array<float, kCount>;

// Arrays of the device, and graphs of kernels a + b.
class Graphs : public testing::Test {
 protected:
  void SetUp() override {
    require(driver, driver.init(0), "cuInit");
    if (!driver.takes_bitcode) GTEST_SKIP() << "the fake driver runs no kernels here";
    context.handle();
    before = fake.live();
    pool = std::make_unique<MemoryPool>(context, true);
    module = std::make_unique<LoadedModule>(
        context, image_of(pointwise("sum", kCount, "  %c = fadd float %a, %b")));
    current.emplace(context);
    for (DeviceMemory& array : arrays) array = pool->allocate(sizeof(Floats));
    for (size_t k = 0; k < arrays.size(); ++k) addresses[k] = arrays[k].address();
    write(0, 1);
  }
  void TearDown() override {
    if (!pool) return;
    for (DeviceMemory& array : arrays) array = {};
    current.reset();
    module.reset();
    pool.reset();
    if (lost) return;
    EXPECT_EQ(fake.live(), before) << "all is given back";
  }
  void write(size_t array, float number) {
    Floats all;
    all.fill(number);
    copy_to_device(*current, addresses[array], all.data(), sizeof all, nullptr);
  }
  float read(size_t array) {
    Floats all{};
    copy_to_host(*current, all.data(), addresses[array], sizeof all, nullptr);
    return all[kCount / 2];
  }
  // to = a + b
  KernelLaunch sum(size_t a, size_t b, size_t to) {
    parameters = {&addresses[a], &addresses[b], &addresses[to]};
    return {module->function("sum"), {1, 128}, parameters.data()};
  }

  tests::FakeCuda fake{ADJIT_FAKE_CUDA};
  Driver driver = load_driver(ADJIT_FAKE_CUDA);
  PrimaryContext context{driver, 0};
  int before = 0;
  bool lost = false;  // the context, with all that is in it
  std::unique_ptr<MemoryPool> pool;
  std::unique_ptr<LoadedModule> module;
  std::optional<CurrentContext> current;
  std::array<DeviceMemory, 5> arrays;
  std::array<DevicePointer, 5> addresses{};
  std::array<void*, 3> parameters{};
};

TEST_F(Graphs, KernelsRunBehindThoseTheyWaitFor) {
  KernelGraph graph(context);
  const NodeHandle two = graph.add(*current, sum(0, 0, 1), {});
  const NodeHandle also_two = graph.add(*current, sum(0, 0, 2), {});
  const std::array both{two, also_two};
  const NodeHandle join = graph.add_join(*current, both);
  const NodeHandle four = graph.add(*current, sum(1, 2, 3), std::span(&join, 1));
  graph.add(*current, sum(3, 1, 4), std::span(&four, 1));
  graph.instantiate(*current);
  for (const float number : {1.0F, 2.0F, 3.0F}) {
    write(0, number);
    graph.launch(*current, nullptr);
    EXPECT_EQ(read(4), 6 * number);
  }
  EXPECT_EQ(fake.calls("cuGraphLaunch"), 3);
  EXPECT_EQ(fake.calls("cuLaunchKernel"), 0);
  EXPECT_EQ(fake.faults(), "");
}

TEST_F(Graphs, ParametersOfLaterLaunchesAreOthers) {
  KernelGraph graph(context);
  const NodeHandle one = graph.add(*current, sum(0, 0, 1), {});
  graph.instantiate(*current);
  write(2, 10);
  graph.launch(*current, nullptr);
  EXPECT_EQ(read(1), 2);
  graph.change(*current, one, sum(0, 2, 3));
  write(1, 0);
  graph.launch(*current, nullptr);
  EXPECT_EQ(read(3), 11);
  EXPECT_EQ(read(1), 0);
}

// The fake driver tells of it whatever the order was that it drew.
TEST_F(Graphs, AMissingEdgeIsARace) {
  KernelGraph graph(context);
  graph.add(*current, sum(0, 0, 1), {});
  graph.add(*current, sum(1, 1, 2), {});
  graph.instantiate(*current);
  graph.launch(*current, nullptr);
  EXPECT_EQ(fake.faults(), "sum and sum meet in memory, and neither waits for the other\n");
  EXPECT_THROW(synchronize(*current), Error);
  lost = true;
}

TEST_F(Graphs, WhatTheDriverRefusesIsSaid) {
  const auto error_of = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::pair(error.code(), std::string(error.what()));
    }
    return std::pair(ErrorCode::Internal, std::string());
  };
  KernelGraph graph(context);
  fake.fail("cuGraphAddKernelNode_v2", result::kTooManyResources);
  auto [code, said] = error_of([&] { graph.add(*current, sum(0, 0, 1), {}); });
  EXPECT_EQ(code, ErrorCode::Compile);
  EXPECT_TRUE(said.starts_with("cuGraphAddKernelNode failed with ")) << said;
  graph.add(*current, sum(0, 0, 1), {});
  fake.fail("cuGraphInstantiateWithFlags", result::kOutOfMemory);
  std::tie(code, said) = error_of([&] { graph.instantiate(*current); });
  EXPECT_EQ(code, ErrorCode::Memory) << said;
  graph.instantiate(*current);
  fake.fail("cuGraphLaunch", result::kIllegalAddress);
  std::tie(code, said) = error_of([&] { graph.launch(*current, nullptr); });
  EXPECT_EQ(code, ErrorCode::Device) << said;
  EXPECT_THROW(context.handle(), Error);
  lost = true;
}

TEST_F(Graphs, AGridMayBeTooLarge) {
  KernelGraph graph(context);
  KernelLaunch large = sum(0, 0, 1);
  large.grid.blocks = int64_t{1} << 31;
  EXPECT_THROW(graph.add(*current, large, {}), Error);
}

}  // namespace
}  // namespace adjit::cuda
