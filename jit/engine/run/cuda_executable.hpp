// jit/engine/run/cuda_executable.hpp -- code in a GPU with its plan: what a call runs there.
//
// Arrays in the device's memory are used as they are: a call puts its kernels into the caller's
// stream and returns, without a wait and, once that stream's frame exists, without memory. What
// data checks found is then raised by a later call on the stream, or by synchronize(); a call that
// is told to wait for it raises it itself. Arrays in the host's memory are copied through the
// stream: such a call is done when it returns.
#pragma once

#include <vector>

#include "jit/engine/run/cuda_frames.hpp"
#include "jit/engine/run/executable.hpp"

namespace adjit::engine {

class CudaExecutable final : public Executable {
 public:
  CudaExecutable(CudaPlan loaded, CompileReport report);

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
  /// Whether a call returns when it is done, whatever its arrays are.
  bool waits(const RunOptions& options) const;

  const CudaPlan loaded_;
  CudaFrames frames_;
  bool looks_for_nans_ = false;  // its calls do, and wait
};

}  // namespace adjit::engine
