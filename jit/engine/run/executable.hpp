// jit/engine/run/executable.hpp -- loaded code with its plan: what a call runs.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "jit/cpu/code.hpp"
#include "jit/cpu/float_mode.hpp"
#include "jit/cpu/parallel.hpp"
#include "jit/engine/plan/plan.hpp"
#include "jit/engine/run/frame.hpp"
#include "jit/engine/run/loaded_plan.hpp"
#include "runtime/process/cancellation.hpp"

namespace adjit::engine {

/// How an executable came to be, for people: milliseconds, and where it was found.
struct CompileReport {
  std::string cache = "miss";  // "memory", "disk" or "miss"
  std::string miss_reason;     // when "miss"
  double derive_ms = 0, schedule_ms = 0, compile_ms = 0, load_ms = 0;
  size_t code_bytes = 0;
  std::vector<std::string> fallbacks;  // what its schedule wanted and moves refused; of misses
  std::string schedule;                // the moves of the program that it was made of
  bool kept_schedule = false;          // whether these were kept (Engine::keep_schedule)
  std::string id;                      // the cache key's hash
};

/// Immutable after construction; run() may be called by any number of threads at once. Allocates
/// nothing in run() once each concurrent caller's frame exists.
class Executable {
 public:
  /// `code[k]` defines the symbol of the plan's kernel k; kernels may share code.
  Executable(ExecutionPlan plan, std::vector<std::shared_ptr<LoadedCode>> code,
             std::shared_ptr<ThreadPool> pool, CompileReport report, FloatMode mode);
  ~Executable();
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  /// Bytes that one call takes besides its arguments, threads' slots included.
  int64_t workspace_bytes() const;
  const ExecutionPlan& plan() const { return loaded_.plan; }
  const CompileReport& report() const { return report_; }
  /// Objects that are linked into the process for it.
  size_t object_count() const { return object_count_; }

  /// Addresses of element 0 of every input and output, laid out as the plan says; not checked.
  /// ErrorCode::Bounds when an index that depends on data is out of range: the outputs then hold
  /// what 0 in its place gives. ErrorCode::Memory without room for the workspace. Cancelled when
  /// the hook says so: it is asked (cancellation.hpp) between kernels, ranges of tasks of a kernel,
  /// and steps of a scan or a loop, in the calling thread, or in the one that works in its place
  /// where its stack is too small; a single kernel of one task is never asked for.
  void run(const void* const* inputs, void* const* outputs, const CancelHook& hook = {});

  /// run() `repeats` times; per kernel of the plan, the run in which it was fastest.
  std::vector<KernelTime> profile(const void* const* inputs, void* const* outputs, int repeats,
                                  const CancelHook& hook = {});

 private:
  void run_in(Frame& frame, const void* const* inputs, void* const* outputs,
              const CancelHook& hook) const;

  const LoadedPlan loaded_;
  CompileReport report_;
  FloatMode mode_;
  bool brief_;  // there is no moment to cancel a call
  size_t object_count_ = 0;
  std::atomic<Frame*> spare_{nullptr};  // kept for the next call
};

}  // namespace adjit::engine
