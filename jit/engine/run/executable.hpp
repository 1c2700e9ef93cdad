// jit/engine/run/executable.hpp -- loaded code with its plan: what a call runs, on any machine.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "jit/engine/plan/plan.hpp"
#include "jit/engine/run/kernel_time.hpp"
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

/// What a call may be told besides its arrays.
struct RunOptions {
  CancelHook cancel = {};
};

/// Immutable after construction; run() may be called by any number of threads at once.
class Executable {
 public:
  virtual ~Executable() = default;
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  const CompileReport& report() const { return report_; }
  virtual const ExecutionPlan& plan() const = 0;
  /// Bytes that one call takes besides its arguments.
  virtual int64_t workspace_bytes() const = 0;
  /// Objects that are linked into the process for it.
  virtual size_t object_count() const = 0;

  /// Addresses of element 0 of every input and output, laid out as the plan says; not checked.
  /// ErrorCode::Bounds when an index that depends on data is out of range: the outputs then hold
  /// what 0 in its place gives. ErrorCode::Memory without room for the workspace. Cancelled when
  /// the hook says so.
  void run(const void* const* inputs, void* const* outputs, const RunOptions& options = {}) {
    run_call(inputs, outputs, options);
  }

  /// run() `repeats` times; per kernel of the plan, the run in which it was fastest.
  std::vector<KernelTime> profile(const void* const* inputs, void* const* outputs, int repeats,
                                  const RunOptions& options = {}) {
    return profile_calls(inputs, outputs, repeats, options);
  }

 protected:
  explicit Executable(CompileReport report) : report_(std::move(report)) {}
  virtual void run_call(const void* const* inputs, void* const* outputs,
                        const RunOptions& options) = 0;
  virtual std::vector<KernelTime> profile_calls(const void* const* inputs, void* const* outputs,
                                                int repeats, const RunOptions& options) = 0;

  CompileReport report_;  // not changed after construction
};

}  // namespace adjit::engine
