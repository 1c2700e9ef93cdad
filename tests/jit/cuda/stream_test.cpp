// tests/jit/cuda/stream_test.cpp -- work in the order of a stream: copies, launches, events.
#include "jit/cuda/stream.hpp"

#include <gtest/gtest.h>

#include <array>

#include "jit/cuda/memory.hpp"
#include "jit/cuda/module.hpp"
#include "jit/cuda/result.hpp"
#include "tests/fake_cuda/fake_cuda.hpp"
#include "tests/jit/cuda/kernels.hpp"

namespace adjit::cuda {
namespace {

constexpr int kCount = 300;
using Floats = std::array<float, kCount>;

class Streams : public testing::Test {
 protected:
  void SetUp() override {
    require(driver, driver.init(0), "cuInit");
    context.handle();
  }
  // x + z, launched with so many threads more than there are elements, on arrays of the device.
  Floats sum(const std::string& kernel) {
    MemoryPool pool(context, true);
    const CurrentContext current(context);
    const Stream stream(context);
    const LoadedModule module(context, image_of(kernel));
    Floats x{}, z{}, y{};
    for (size_t k = 0; k < kCount; ++k) {
      x[k] = static_cast<float>(k);
      z[k] = 0.5F;
    }
    const DeviceMemory dx = pool.allocate(sizeof x), dz = pool.allocate(sizeof z),
                       dy = pool.allocate(sizeof y);
    copy_to_device(current, dx.address(), x.data(), sizeof x, stream.handle());
    copy_to_device(current, dz.address(), z.data(), sizeof z, stream.handle());
    std::array<DevicePointer, 3> addresses{dx.address(), dz.address(), dy.address()};
    std::array<void*, 3> parameters{addresses.data(), &addresses[1], &addresses[2]};
    launch(current, {module.function("sum"), {3, 128}, parameters.data()}, stream.handle());
    copy_to_host(current, y.data(), dy.address(), sizeof y, stream.handle());
    synchronize(current, stream.handle());
    return y;
  }

  tests::FakeCuda fake{ADJIT_FAKE_CUDA};
  Driver driver = load_driver(ADJIT_FAKE_CUDA);
  PrimaryContext context{driver, 0};
};

TEST_F(Streams, CopiesAndKernelsFollowEachOther) {
  if (!driver.takes_bitcode) GTEST_SKIP() << "the fake driver runs no kernels here";
  const Floats y = sum(pointwise("sum", kCount, "  %c = fadd float %a, %b"));
  for (size_t k = 0; k < kCount; ++k) EXPECT_EQ(y[k], static_cast<float>(k) + 0.5F);
  EXPECT_EQ(fake.faults(), "");
}

TEST_F(Streams, AKernelsFaultFailsTheCallsBehindIt) {
  if (!driver.takes_bitcode) GTEST_SKIP() << "the fake driver runs no kernels here";
  EXPECT_THROW(sum(pointwise("sum", kCount + 1, "  %c = fadd float %a, %b")), Error);
  EXPECT_NE(fake.faults().find("sum: thread 44 of block 2 uses 4 bytes outside all arrays"),
            std::string::npos)
      << fake.faults();
  EXPECT_THROW(context.handle(), Error) << "it is lost";
}

TEST_F(Streams, EventsSayWhatIsDone) {
  const CurrentContext current(context);
  const Stream stream(context);
  Event start(context, Event::Kind::Timed), end(context, Event::Kind::Timed);
  start.record(current, stream.handle());
  EXPECT_TRUE(start.has_come(current));
  fake.fail("cuEventQuery", result::kNotReady);
  EXPECT_FALSE(start.has_come(current));
  fake.fail("cuEventQuery", result::kIllegalAddress);
  EXPECT_THROW(start.has_come(current), Error);
}

TEST_F(Streams, HaveNumbersOfTheirOwn) {
  const CurrentContext current(context);
  const Stream one(context), two(context);
  EXPECT_NE(id_of(current, one.handle()), id_of(current, two.handle()));
  EXPECT_FALSE(is_captured(current, one.handle()));
  fake.capture(one.handle(), true);
  EXPECT_TRUE(is_captured(current, one.handle()));
  EXPECT_FALSE(is_captured(current, two.handle()));
  try {
    synchronize(current, one.handle());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("captured into a graph"), std::string::npos);
  }
}

TEST_F(Streams, EveryFailureIsAnErrorThatNamesTheCall) {
  const CurrentContext current(context);
  const Stream stream(context);
  MemoryPool pool(context, true);
  const DeviceMemory block = pool.allocate(16), other = pool.allocate(16);
  Event event(context);
  char host[16] = {};
  const auto fails = [&](const char* symbol, const char* name, const auto& call) {
    fake.fail(symbol, result::kOutOfMemory);
    try {
      call();
      ADD_FAILURE() << symbol;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Memory);
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
    }
    EXPECT_NO_THROW(call()) << symbol;
  };
  const StreamHandle s = stream.handle();
  fails("cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync",
        [&] { copy_to_device(current, block.address(), host, 16, s); });
  fails("cuMemcpyDtoHAsync_v2", "cuMemcpyDtoHAsync",
        [&] { copy_to_host(current, host, block.address(), 16, s); });
  fails("cuMemcpyDtoDAsync_v2", "cuMemcpyDtoDAsync",
        [&] { copy_on_device(current, other.address(), block.address(), 16, s); });
  fails("cuMemsetD8Async", "cuMemsetD8Async", [&] { fill(current, block.address(), 0, 16, s); });
  fails("cuStreamSynchronize", "cuStreamSynchronize", [&] { synchronize(current, s); });
  fails("cuCtxSynchronize", "cuCtxSynchronize", [&] { synchronize(current); });
  fails("cuStreamGetId", "cuStreamGetId", [&] { id_of(current, s); });
  fails("cuStreamIsCapturing", "cuStreamIsCapturing", [&] { is_captured(current, s); });
  fails("cuEventRecord", "cuEventRecord", [&] { event.record(current, s); });
  fails("cuEventSynchronize", "cuEventSynchronize", [&] { event.wait(current); });
  fails("cuStreamCreate", "cuStreamCreate", [&] { const Stream made(context); });
  fails("cuEventCreate", "cuEventCreate", [&] { const Event made(context); });
}

// Of the default stream, it is not what was given.
TEST_F(Streams, AStreamOfAnotherGpuIsTheCallersToChange) {
  const CurrentContext current(context);
  const Stream stream(context);
  const auto said = [&](StreamHandle handle) -> std::string {
    fake.fail("cuStreamGetId", result::kInvalidHandle);
    try {
      id_of(current, handle);
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Device);
      return error.what();
    }
  };
  EXPECT_NE(said(stream.handle()).find("give a stream of the GPU"), std::string::npos);
  EXPECT_EQ(said(nullptr).find("give a stream"), std::string::npos);
}

TEST_F(Streams, MoreBlocksThanAGpuTakesAreRefused) {
  const CurrentContext current(context);
  EXPECT_THROW(launch(current, {nullptr, {int64_t{1} << 31, 128}, nullptr}, nullptr), Error);
}

}  // namespace
}  // namespace adjit::cuda
