// jit/engine/run/cuda_executable.hpp -- code in a GPU with its plan: what a call runs there.
//
// Arrays in the device's memory are used as they are: a call puts its kernels into the caller's
// stream and returns, without a wait and, once that stream's frame exists, without memory. What
// data checks found is then raised by a later call on the stream, or by synchronize(). Arrays in
// the host's memory are copied through the stream: such a call is done when it returns.
#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "jit/engine/run/cuda_frame.hpp"
#include "jit/engine/run/executable.hpp"

namespace adjit::engine {

class CudaExecutable final : public Executable {
 public:
  /// Frames that are kept for later calls; the one used least recently goes first.
  static constexpr size_t kMaxFrames = 32;

  CudaExecutable(CudaPlan loaded, CompileReport report);
  ~CudaExecutable() override;

  const ExecutionPlan& plan() const override { return loaded_.plan; }
  int64_t workspace_bytes() const override { return loaded_.plan.workspace_bytes; }
  size_t object_count() const override { return 1; }
  int device() const override { return loaded_.gpu->facts.ordinal; }
  void synchronize() override;

 private:
  class FrameInUse;

  void run_call(const void* const* inputs, void* const* outputs,
                const RunOptions& options) override;
  std::vector<KernelTime> profile_calls(const void* const* inputs, void* const* outputs,
                                        int repeats, const RunOptions& options) override;
  void run_in(CudaFrame& frame, const CurrentContext& current, const void* const* inputs,
              void* const* outputs, const RunOptions& options, std::vector<KernelTime>* times);
  FrameInUse frame_for(const CurrentContext& current, const RunOptions& options, bool waits);
  std::unique_ptr<CudaFrame> take(std::optional<unsigned long long> stream);
  void give_back(std::unique_ptr<CudaFrame> frame);
  void raise_lost();

  const CudaPlan loaded_;
  bool waits_ = false;                                // for its calls: they look for NaNs
  std::mutex mutex_;                                  // of what follows
  std::vector<std::unique_ptr<CudaFrame>> frames_;    // at rest, the least recently used first
  std::vector<std::unique_ptr<CudaFrame>> captured_;  // parts of graphs: they stay
  std::exception_ptr lost_;  // the first that a call failed with whose frame is gone
};

}  // namespace adjit::engine
