// tests/jit/cuda/memory_test.cpp -- a GPU's memory, and memory of the host that it sees.
#include "jit/cuda/memory.hpp"

#include <gtest/gtest.h>

#include "jit/cuda/result.hpp"
#include "tests/fake_cuda/fake_cuda.hpp"

namespace adjit::cuda {
namespace {

class Memory : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    require(driver, driver.init(0), "cuInit");
    context.handle();
    before = fake.live();
    taken_before = fake.taken();
  }
  void TearDown() override { EXPECT_EQ(fake.live(), before) << "all is given back"; }

  std::string refusal(int64_t bytes) {
    MemoryPool pool(context, GetParam());
    try {
      pool.allocate(bytes);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Memory);
      return error.what();
    }
    return "";
  }

  tests::FakeCuda fake{ADJIT_FAKE_CUDA};
  Driver driver = load_driver(ADJIT_FAKE_CUDA);
  PrimaryContext context{driver, 0};
  size_t taken() const { return fake.taken() - taken_before; }
  int before = 0;
  size_t taken_before = 0;
};
INSTANTIATE_TEST_SUITE_P(Pooled, Memory, testing::Bool());

TEST_P(Memory, BlocksAreApartAlignedAndGivenBack) {
  MemoryPool pool(context, GetParam());
  {
    DeviceMemory one = pool.allocate(1000), two = pool.allocate(1000);
    EXPECT_EQ(taken(), 2000u);
    EXPECT_EQ(one.address() % 256, 0u);
    EXPECT_GE(std::max(one.address(), two.address()),
              std::min(one.address(), two.address()) + 1000);
    const DeviceMemory moved = std::move(one);
    EXPECT_NE(moved.address(), 0u);
  }
  EXPECT_EQ(taken(), 0u);
}

TEST_P(Memory, NoBytesAreNoCall) {
  MemoryPool pool(context, GetParam());
  EXPECT_EQ(pool.allocate(0).address(), 0u);
  EXPECT_EQ(fake.calls("cuMemAllocFromPoolAsync") + fake.calls("cuMemAlloc_v2"), 0);
}

TEST_P(Memory, WithoutRoomTheBytesAreNamed) {
  fake.have_memory(taken_before + 1000);
  const std::string said = refusal(4096);
  EXPECT_NE(said.find("taking 4096 bytes of cuda:0, of which 1000 bytes are free,"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("memory_budget"), std::string::npos) << said;
  EXPECT_EQ(fake.calls("cuMemPoolTrimTo"), GetParam() ? 1 : 0);
}

TEST_P(Memory, WhatAPoolKeptGoesBackBeforeItIsRefused) {
  if (!GetParam()) return;
  fake.fail("cuMemAllocFromPoolAsync", result::kOutOfMemory);
  EXPECT_EQ(refusal(4096), "");
  EXPECT_EQ(fake.calls("cuMemPoolTrimTo"), 1);
}

TEST_P(Memory, WhatKeepersDoWithoutIsAskedForOnce) {
  MemoryPool pool(context, GetParam());
  struct Keeper final : MemoryKeeper {
    bool release_idle() override {
      ++asked;
      const bool had = block.address() != 0;
      block = {};
      return had;
    }
    DeviceMemory block;
    int asked = 0;
  } keeper;
  keeper.block = pool.allocate(4096);
  pool.add(keeper);
  fake.have_memory(taken_before + 5000);
  EXPECT_NE(pool.allocate(4096).address(), 0u);
  EXPECT_EQ(keeper.asked, 1);
  EXPECT_THROW(pool.allocate(6000), Error);
  EXPECT_EQ(keeper.asked, 2);
  pool.remove(keeper);
  EXPECT_THROW(pool.allocate(6000), Error);
  EXPECT_EQ(keeper.asked, 2);
}

TEST_P(Memory, OfALostContextIsNotGivenBack) {
  MemoryPool pool(context, GetParam());
  {
    const DeviceMemory block = pool.allocate(10);
    EXPECT_THROW(context.require(result::kIllegalAddress, "cuLaunchKernel"), Error);
  }
  EXPECT_EQ(fake.calls("cuMemFree_v2"), 0);
  EXPECT_EQ(taken(), 10u);
  before = fake.live();  // it went with its context, as did the pool
}

TEST_P(Memory, PinnedMemoryIsSeenFromBothSides) {
  {
    PinnedMemory pinned(context, 64);
    EXPECT_NE(pinned.host(), nullptr);
    EXPECT_NE(pinned.device(), 0u);
    fake.fail("cuMemHostAlloc", result::kOutOfMemory);
    EXPECT_THROW(PinnedMemory(context, 64), Error);
    fake.fail("cuMemHostGetDevicePointer_v2", result::kInvalidValue);
    EXPECT_THROW(PinnedMemory(context, 64), Error);
  }
  EXPECT_EQ(taken(), 0u);
}

}  // namespace
}  // namespace adjit::cuda
