// tests/jit/engine/run/cuda_executable_test.cpp -- calls on a GPU: arrays of host and device,
// streams, workspace, checks, captures.
#include "jit/engine/run/cuda_executable.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>

#include "tests/jit/engine/run/on_fake_gpu.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using CudaExecutables = OnFakeGpu;

TEST_F(CudaExecutables, ArraysOfTheHostAreCopiedAndTheCallIsDone) {
  const auto executable = sum_of_three();
  const std::vector<float> x = numbers(1), z = numbers(0, 0.5F);
  std::vector<float> y(kFloats);
  const void* in[] = {x.data(), z.data()};
  void* out[] = {y.data()};
  executable->run(in, out);
  for (size_t k = 0; k < y.size(); ++k) EXPECT_EQ(y[k], x[k] + 2 * z[k]);
  const int taken = fake.calls("cuMemAllocFromPoolAsync");
  executable->run(in, out);
  EXPECT_EQ(fake.calls("cuMemAllocFromPoolAsync"), taken) << "warm calls take no memory";
  EXPECT_EQ(executable->device(), 0);
}

TEST_F(CudaExecutables, ArraysOfTheDeviceAreUsedAsTheyAreAndNobodyWaits) {
  const auto executable = sum_of_three();
  {
    const OnDevice x(*gpu, numbers(1)), z(*gpu, numbers(2)), y(*gpu, numbers(0));
    const Stream stream(gpu->context);
    const void* in[] = {x.address(), z.address()};
    void* out[] = {y.address()};
    constexpr std::array on_device{true, true, true};
    const RunOptions options{.on_device = on_device, .stream = stream.handle()};
    executable->run(in, out, options);
    const int copies = fake.calls("cuMemcpyHtoDAsync_v2"),
              waits = fake.calls("cuStreamSynchronize"),
              taken = fake.calls("cuMemAllocFromPoolAsync"),
              launches = fake.calls("cuLaunchKernel");
    executable->run(in, out, options);
    EXPECT_EQ(fake.calls("cuMemcpyHtoDAsync_v2"), copies);
    EXPECT_EQ(fake.calls("cuStreamSynchronize"), waits);
    EXPECT_EQ(fake.calls("cuMemAllocFromPoolAsync"), taken);
    EXPECT_EQ(fake.calls("cuLaunchKernel"), launches + 2);
    EXPECT_EQ(fake.calls("cuEventRecord"), 2) << "when the frame may end";
    EXPECT_EQ(y.read()[7], 8 + 2 * 9);
  }
}

TEST_F(CudaExecutables, SomeArraysMayBeTheHosts) {
  const auto executable = sum_of_three();
  const OnDevice x(*gpu, numbers(1)), y(*gpu, numbers(0));
  const std::vector<float> z = numbers(2);
  const void* in[] = {x.address(), z.data()};
  void* out[] = {y.address()};
  constexpr std::array on_device{true, false, true};
  executable->run(in, out, {.on_device = on_device});  // takes memory, and waits for it
  const int waits = fake.calls("cuStreamSynchronize");
  executable->run(in, out, {.on_device = on_device});
  EXPECT_EQ(fake.calls("cuStreamSynchronize"), waits + 1) << "the host's array may end now";
  EXPECT_EQ(y.read()[7], 8 + 2 * 9);
  fake.fail("cuLaunchKernel", cuda::result::kTooManyResources, 2);
  EXPECT_THROW(executable->run(in, out, {.on_device = on_device}), Error);
  EXPECT_EQ(fake.calls("cuStreamSynchronize"), waits + 2) << "also where the call fails";
}

TEST_F(CudaExecutables, ArraysThatCodeIsNotMadeForAreRefusedBeforeAnythingRuns) {
  ExecutionPlan plan = arrays(1, 1);
  plan.inputs[0].alignment = plan.outputs[0].alignment = 16;
  add_kernel(plan, "copy", {0, 0, 1});
  const auto executable = loaded(std::move(plan), pointwise_of("copy", "fadd float %a, %b"));
  const OnDevice x(*gpu, numbers(1)), y(*gpu, numbers(0));
  const auto refusal = [&](int64_t shift_in, int64_t shift_out) -> std::string {
    const void* in[] = {static_cast<std::byte*>(x.address()) + shift_in};
    void* out[] = {static_cast<std::byte*>(y.address()) + shift_out};
    constexpr std::array on_device{true, true};
    try {
      executable->run(in, out, {.on_device = on_device});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Invalid);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(0, 0), "");
  const int launches = fake.calls("cuLaunchKernel");
  EXPECT_TRUE(refusal(4, 0).starts_with("input 0 lies at an address that 16 bytes do not divide"));
  EXPECT_TRUE(refusal(0, 8).starts_with("output 0 lies"));
  EXPECT_EQ(fake.calls("cuLaunchKernel"), launches);
}

// Element 0 of a copy is aligned, also where others lie before it.
TEST_F(CudaExecutables, CopiesOfTheHostsArraysAreAligned) {
  ExecutionPlan plan = arrays(1, 1);
  plan.inputs[0].strides = {-1};
  add_kernel(plan, "first", {0, 1});
  plan.kernels.back().tasks = 1;
  const auto executable = loaded(std::move(plan), R"(
define ptx_kernel void @first(ptr addrspace(1) %x, ptr addrspace(1) %y) {
  %k = call i64 @task(i64 1)
  %none = icmp slt i64 %k, 0
  br i1 %none, label %end, label %work
work:
  %at = ptrtoint ptr addrspace(1) %x to i64
  %rest = and i64 %at, 255
  %a = load float, ptr addrspace(1) %x
  %r = uitofp i64 %rest to float
  %s = fadd float %a, %r
  store float %s, ptr addrspace(1) %y
  br label %end
end:
  ret void
})");
  const std::vector<float> x = numbers(1);
  std::vector<float> y(kFloats);
  const void* in[] = {&x.back()};
  void* out[] = {y.data()};
  executable->run(in, out);
  EXPECT_EQ(y[0], x.back());
}

TEST_F(CudaExecutables, AnyNumberOfCallsAtOnce) {
  const auto executable = sum_of_three();
  std::array<bool, 4> right{};
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < right.size(); ++t)
      threads.emplace_back([&, t] {
        const std::vector<float> x = numbers(static_cast<float>(t)), z = numbers(2);
        std::vector<float> y(kFloats);
        const void* in[] = {x.data(), z.data()};
        void* out[] = {y.data()};
        for (int round = 0; round < 3; ++round) executable->run(in, out);
        right[t] = y[7] == x[7] + 2 * z[7];
      });
  }
  for (const bool one : right) EXPECT_TRUE(one);
}

TEST_F(CudaExecutables, TheCallersAllocatorGivesTheWorkspace) {
  const auto executable = sum_of_three();
  const OnDevice x(*gpu, numbers(1)), z(*gpu, numbers(2)), y(*gpu, numbers(0));
  struct Caller {
    Gpu* gpu;
    DeviceMemory block;
    int taken = 0, given_back = 0;
    bool odd = false;
  } caller{gpu.get(), {}};
  RunOptions options;
  constexpr std::array on_device{true, true, true};
  options.on_device = on_device;
  options.user = &caller;
  options.allocate = [](void* user, size_t bytes) -> void* {
    auto& c = *static_cast<Caller*>(user);
    ++c.taken;
    c.block = c.gpu->memory.allocate(static_cast<int64_t>(bytes) + 4);
    return pointer_to(c.block.address()) + (c.odd ? 4 : 0);
  };
  options.free = [](void* user, void*) { ++static_cast<Caller*>(user)->given_back; };
  const void* in[] = {x.address(), z.address()};
  void* out[] = {y.address()};
  executable->run(in, out, options);
  EXPECT_EQ(caller.taken, 1);
  EXPECT_EQ(caller.given_back, 1);
  EXPECT_EQ(y.read()[7], 8 + 2 * 9);
  caller.odd = true;
  EXPECT_THROW(executable->run(in, out, options), Error);
  EXPECT_EQ(caller.given_back, 2);
  options.allocate = [](void*, size_t) -> void* { return nullptr; };
  try {
    executable->run(in, out, options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Memory);
  }
}

// The kernel writes 3 as the first point of a check, and 42 as the index there, where x[0] > 0.
std::unique_ptr<CudaExecutable> checked(const auto& load, ExecutionPlan plan) {
  plan.buffers.push_back({Buffer::Kind::Check, 0});
  plan.buffers.push_back({Buffer::Kind::Check, 1});
  plan.checks.push_back(
      {.subject = "the read x(i(k))", .extent = 5, .axes = {"k"}, .extents = {kFloats}});
  plan.kernels.push_back({.symbol = "check", .tensors = {0, 2, 3}});
  plan.steps.push_back({false, 0, {}});
  return load(std::move(plan), R"(
define ptx_kernel void @check(ptr addrspace(1) %x, ptr addrspace(1) %f, ptr addrspace(1) %v) {
  %k = call i64 @task(i64 1)
  %none = icmp slt i64 %k, 0
  br i1 %none, label %end, label %work
work:
  %a = load float, ptr addrspace(1) %x
  %bad = fcmp ogt float %a, 0.0
  %first = select i1 %bad, i64 3, i64 9223372036854775807
  store i64 %first, ptr addrspace(1) %f
  store i64 42, ptr addrspace(1) %v
  br label %end
end:
  ret void
})");
}

TEST_F(CudaExecutables, ChecksAreReadAtOnceForTheHostAndLaterForTheDevice) {
  const auto executable =
      checked([&](ExecutionPlan plan,
                  const std::string& kernels) { return loaded(std::move(plan), kernels); },
              arrays(1, 1));
  const auto error_of = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Bounds);
      return error.what();
    }
    return "";
  };
  const std::vector<float> good = numbers(-1), bad = numbers(1);
  std::vector<float> y(kFloats);
  void* out[] = {y.data()};
  const auto on_host = [&](const std::vector<float>& x) {
    const void* in[] = {x.data()};
    executable->run(in, out);
  };
  EXPECT_EQ(error_of([&] { on_host(good); }), "");
  EXPECT_NE(error_of([&] { on_host(bad); }).find("42"), std::string::npos);
  const OnDevice good_there(*gpu, good), bad_there(*gpu, bad), y_there(*gpu, y);
  void* out_there[] = {y_there.address()};
  constexpr std::array on_device{true, true};
  const auto there = [&](const OnDevice& x) {
    const void* in[] = {x.address()};
    executable->run(in, out_there, {.on_device = on_device});
  };
  EXPECT_EQ(error_of([&] { there(bad_there); }), "");
  const std::string later = error_of([&] { there(good_there); });
  EXPECT_TRUE(later.starts_with("an earlier call of this function on the GPU failed: ")) << later;
  EXPECT_EQ(error_of([&] { there(good_there); }), "") << "it is told once";
  EXPECT_EQ(error_of([&] { there(bad_there); }), "");
  EXPECT_NE(error_of([&] { executable->synchronize(); }).find("42"), std::string::npos);
  EXPECT_EQ(error_of([&] { executable->synchronize(); }), "");
  // A call that waits raises what its own checks find.
  const void* in_there[] = {bad_there.address()};
  const std::string now = error_of([&] {
    executable->run(in_there, out_there, {.on_device = on_device, .wait_for_checks = true});
  });
  EXPECT_TRUE(now.find("42") != std::string::npos && !now.starts_with("an earlier call")) << now;
  EXPECT_EQ(error_of([&] { there(good_there); }), "");
  // What failed with a frame that is gone.
  {
    const Stream stream(gpu->context);
    const void* in[] = {bad_there.address()};
    executable->run(in, out_there, {.on_device = on_device, .stream = stream.handle()});
    in[0] = good_there.address();
    for (size_t k = 0; k < CudaFrames::kMost; ++k) {
      const Stream other(gpu->context);
      executable->run(in, out_there, {.on_device = on_device, .stream = other.handle()});
    }
    EXPECT_NE(error_of([&] { executable->synchronize(); }).find("42"), std::string::npos);
  }
  // A stream that is behind by as many calls as there is room for.
  for (int k = 0; k < 30; ++k) {
    fake.fail("cuEventQuery", cuda::result::kNotReady);
    EXPECT_EQ(error_of([&] { there(good_there); }), "") << k;
  }
}

TEST_F(CudaExecutables, CapturedCallsHaveFramesOfTheirOwnOrAreRefused) {
  const auto executable = sum_of_three();
  const OnDevice x(*gpu, numbers(1)), z(*gpu, numbers(2)), y(*gpu, numbers(0));
  const Stream stream(gpu->context);
  const void* in[] = {x.address(), z.address()};
  void* out[] = {y.address()};
  constexpr std::array on_device{true, true, true}, mixed{true, false, true};
  fake.capture(stream.handle(), true);
  const size_t none = fake.taken();
  for (int k = 0; k < 2; ++k)
    executable->run(in, out, {.on_device = on_device, .stream = stream.handle()});
  EXPECT_EQ(fake.taken(), none + 2 * static_cast<size_t>(executable->workspace_bytes()));
  const std::vector<float> host = numbers(2);
  in[1] = host.data();
  try {
    executable->run(in, out, {.on_device = mixed, .stream = stream.handle()});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("arrays in the host's memory"), std::string::npos);
  }
  in[1] = z.address();
  const int launches = fake.calls("cuLaunchKernel");
  EXPECT_THROW(executable->profile(in, out, 1, {.on_device = on_device, .stream = stream.handle()}),
               Error);
  EXPECT_EQ(fake.calls("cuLaunchKernel"), launches) << "nothing is captured of it";
  // Meanwhile other streams take memory, which would end the capture.
  const Stream other(gpu->context);
  executable->run(in, out, {.on_device = on_device, .stream = other.handle()});
  EXPECT_EQ(y.read()[7], 8 + 2 * 9);
}

TEST_F(CudaExecutables, ProfilesHaveTheTimeOfEachKernel) {
  const auto executable = sum_of_three();
  const std::vector<float> x = numbers(1), z = numbers(2);
  std::vector<float> y(kFloats);
  const void* in[] = {x.data(), z.data()};
  void* out[] = {y.data()};
  const std::vector<KernelTime> times = executable->profile(in, out, 3);
  ASSERT_EQ(times.size(), 2u);
  for (const KernelTime& time : times) {
    EXPECT_EQ(time.calls, 1);
    EXPECT_FLOAT_EQ(static_cast<float>(time.seconds), 1e-3F) << "the fake's time of a launch";
  }
}

TEST_F(CudaExecutables, WithoutRoomTheBytesAreNamedAndTheNextCallGoesOn) {
  const auto executable = sum_of_three();
  const std::vector<float> x = numbers(1), z = numbers(2);
  std::vector<float> y(kFloats);
  const void* in[] = {x.data(), z.data()};
  void* out[] = {y.data()};
  fake.have_memory(fake.taken() + 100);
  try {
    executable->run(in, out);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Memory);
    EXPECT_NE(std::string(error.what()).find("864 bytes"), std::string::npos) << error.what();
  }
  fake.have_memory(1 << 30);
  executable->run(in, out);
  EXPECT_EQ(y[7], 8 + 2 * 9);
}

// The hook is asked when a call has taken some 50 ms, between its kernels.
TEST_F(CudaExecutables, ACancelledCallStops) {
  const auto executable = sum_of_three();
  const OnDevice x(*gpu, numbers(1)), y(*gpu, numbers(0));
  const void* in[] = {x.address(), x.address()};
  void* out[] = {y.address()};
  constexpr std::array on_device{true, true, true};
  DeviceMemory block = gpu->memory.allocate(executable->workspace_bytes());
  RunOptions slow{.cancel = {[](void*) { return 1; }, nullptr}, .on_device = on_device};
  slow.user = &block;
  slow.allocate = [](void* user, size_t) -> void* {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return pointer_to(static_cast<DeviceMemory*>(user)->address());
  };
  slow.free = [](void*, void*) {};
  const int waits = fake.calls("cuStreamSynchronize");
  EXPECT_THROW(executable->run(in, out, slow), Cancelled);
  EXPECT_EQ(fake.calls("cuStreamSynchronize"), waits + 1) << "the block may end now";
  executable->run(in, out, {.on_device = on_device});
  EXPECT_EQ(y.read()[7], 24);
}

}  // namespace
}  // namespace adjit::testing
