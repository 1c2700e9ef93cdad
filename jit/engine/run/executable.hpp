// jit/engine/run/executable.hpp -- loaded code with its plan: what a call runs, on any machine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
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

/// What a call may be told besides its arrays. All but `cancel` is for a GPU.
struct RunOptions {
  CancelHook cancel = {};
  /// Of each input, then of each output: whether it lies in the memory of the executable's device.
  /// Empty: all lie in the host's.
  std::span<const bool> on_device = {};
  /// CUstream of the device; null: the legacy default one, or, where all arrays are the host's, one
  /// of our own.
  void* stream = nullptr;
  /// Where the workspace comes from, in the order of the stream; null: it is kept with the stream.
  void* (*allocate)(void* user, size_t bytes) = nullptr;
  void (*free)(void* user, void* memory) = nullptr;  // with `allocate`
  void* user = nullptr;
  /// Where the executable checks data: run() waits for what its own checks find, and raises it.
  bool wait_for_checks = false;

  bool is_on_device(size_t argument) const { return !on_device.empty() && on_device[argument]; }
  bool is_all_on_device(size_t arguments) const {
    return on_device.size() == arguments && std::ranges::find(on_device, false) == on_device.end();
  }
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
  /// The ordinal of the GPU that it runs on; -1: the CPU.
  virtual int device() const { return -1; }
  /// Until all its calls are done; raises what they could not (run()).
  virtual void synchronize() {}

  /// Addresses of element 0 of every input and output, laid out as the plan says; not checked.
  /// ErrorCode::Bounds when an index that depends on data is out of range: the outputs then hold
  /// what 0 in its place gives. ErrorCode::Memory without room for the workspace. Cancelled when
  /// the hook says so. On a GPU, with arrays of the device, it returns before the call is done,
  /// unless it is told to wait: then a later call on the stream, or synchronize(), raises what goes
  /// wrong.
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
