// jit/engine/run/cpu_executable.hpp -- code in the process with its plan: what a call runs on the
// CPU.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "jit/cpu/code.hpp"
#include "jit/cpu/float_mode.hpp"
#include "jit/cpu/parallel.hpp"
#include "jit/engine/run/executable.hpp"
#include "jit/engine/run/frame.hpp"
#include "jit/engine/run/loaded_plan.hpp"

namespace adjit::engine {

/// Allocates nothing in run() once each concurrent caller's frame exists. The hook is asked
/// (cancellation.hpp) between kernels, ranges of tasks of a kernel, and steps of a scan or a loop,
/// in the calling thread, or in the one that works in its place where its stack is too small; a
/// single kernel of one task is never asked for.
class CpuExecutable final : public Executable {
 public:
  /// `code[k]` defines the symbol of the plan's kernel k; kernels may share code.
  CpuExecutable(ExecutionPlan plan, std::vector<std::shared_ptr<LoadedCode>> code,
                std::shared_ptr<ThreadPool> pool, CompileReport report, FloatMode mode);
  ~CpuExecutable() override;

  const ExecutionPlan& plan() const override { return loaded_.plan; }
  /// With the threads' slots.
  int64_t workspace_bytes() const override;
  size_t object_count() const override { return object_count_; }

 private:
  void run_call(const void* const* inputs, void* const* outputs,
                const RunOptions& options) override;
  std::vector<KernelTime> profile_calls(const void* const* inputs, void* const* outputs,
                                        int repeats, const RunOptions& options) override;
  void run_in(Frame& frame, const void* const* inputs, void* const* outputs,
              const CancelHook& hook) const;

  const LoadedPlan loaded_;
  FloatMode mode_;
  bool brief_;  // there is no moment to cancel a call
  size_t object_count_ = 0;
  std::atomic<Frame*> spare_{nullptr};  // kept for the next call
};

}  // namespace adjit::engine
