// tests/jit/engine/run/cuda_frames_test.cpp -- frames at rest, by stream: kept, and given back.
#include "jit/engine/run/cuda_frames.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/jit/engine/run/on_fake_gpu.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using ManyCudaFrames = OnFakeGpu;

TEST_F(ManyCudaFrames, StreamsHaveAWorkspaceEach) {
  const auto executable = sum_of_three();
  const OnDevice x(*gpu, numbers(1)), z(*gpu, numbers(2)), y(*gpu, numbers(0));
  const void* in[] = {x.address(), z.address()};
  void* out[] = {y.address()};
  constexpr std::array on_device{true, true, true};
  const Stream one(gpu->context), two(gpu->context);
  const size_t none = fake.taken();
  for (const StreamHandle stream : {one.handle(), two.handle(), one.handle()})
    executable->run(in, out, {.on_device = on_device, .stream = stream});
  EXPECT_EQ(fake.taken(), none + 2 * static_cast<size_t>(executable->workspace_bytes()));
  for (size_t k = 0; k < CudaFrames::kMost + 5; ++k) {
    const Stream other(gpu->context);
    executable->run(in, out, {.on_device = on_device, .stream = other.handle()});
  }
  EXPECT_EQ(fake.taken(),
            none + CudaFrames::kMost * static_cast<size_t>(executable->workspace_bytes()));
}

// Frames at rest go, of all executables of the device: those of two streams here.
TEST_F(ManyCudaFrames, WithoutRoomWhatOthersKeepIsGivenBack) {
  const auto first = sum_of_three(), second = sum_of_three();
  const OnDevice x(*gpu, numbers(1)), z(*gpu, numbers(2)), y(*gpu, numbers(0));
  const void* in[] = {x.address(), z.address()};
  void* out[] = {y.address()};
  constexpr std::array on_device{true, true, true};
  const Stream one(gpu->context), two(gpu->context);
  const size_t none = fake.taken(), bytes = static_cast<size_t>(first->workspace_bytes());
  for (const StreamHandle stream : {one.handle(), two.handle()})
    first->run(in, out, {.on_device = on_device, .stream = stream});
  EXPECT_EQ(fake.taken(), none + 2 * bytes);
  fake.have_memory(none + 2 * bytes);
  second->run(in, out, {.on_device = on_device, .stream = one.handle()});
  EXPECT_EQ(y.read()[7], 8 + 2 * 9);
  EXPECT_EQ(fake.taken(), none + bytes);
  first->run(in, out, {.on_device = on_device, .stream = two.handle()});
  EXPECT_EQ(fake.taken(), none + 2 * bytes);
  // The caller's allocator may have too little for the same reason.
  RunOptions options{.on_device = on_device, .stream = one.handle()};
  options.user = &fake;
  options.allocate = [](void* user, size_t wanted) {
    return static_cast<tests::FakeCuda*>(user)->allocate(wanted);
  };
  options.free = [](void* user, void* memory) {
    static_cast<tests::FakeCuda*>(user)->give_back(memory);
  };
  second->run(in, out, options);
  EXPECT_EQ(fake.taken(), none + bytes) << "of the frame that ran";
  fake.have_memory(none);
  EXPECT_THROW(first->run(in, out, {.on_device = on_device}), Error);
}

// Nobody waits for a stream that is captured: a frame ends when its own calls have.
TEST_F(ManyCudaFrames, FramesEndDuringACapture) {
  const auto executable = sum_of_three();
  const OnDevice x(*gpu, numbers(1)), z(*gpu, numbers(2)), y(*gpu, numbers(0));
  const void* in[] = {x.address(), z.address()};
  void* out[] = {y.address()};
  constexpr std::array on_device{true, true, true};
  const Stream captured(gpu->context);
  fake.capture(captured.handle(), true);
  const int waits = fake.calls("cuCtxSynchronize");
  for (size_t k = 0; k < CudaFrames::kMost + 2; ++k) {
    const Stream other(gpu->context);
    executable->run(in, out, {.on_device = on_device, .stream = other.handle()});
  }
  EXPECT_EQ(fake.calls("cuCtxSynchronize"), waits);
  EXPECT_EQ(fake.calls("cuEventSynchronize"), 2);
  fake.capture(captured.handle(), false);
}

}  // namespace
}  // namespace adjit::testing
