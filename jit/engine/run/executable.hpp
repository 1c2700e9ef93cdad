// jit/engine/run/executable.hpp -- loaded code with its plan: what a call runs.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jit/cpu/code.hpp"
#include "jit/cpu/float_mode.hpp"
#include "jit/cpu/parallel.hpp"
#include "jit/engine/plan/plan.hpp"
#include "jit/engine/run/task_graph.hpp"
#include "runtime/process/cancellation.hpp"

namespace adjit::engine {

/// How an executable came to be, for people: milliseconds, and where it was found.
struct CompileReport {
  std::string cache = "miss";  // "memory", "disk" or "miss"
  std::string miss_reason;     // when "miss"
  double derive_ms = 0, schedule_ms = 0, compile_ms = 0, load_ms = 0;
  size_t code_bytes = 0;
  std::vector<std::string> fallbacks;  // what its schedule wanted and moves refused; of misses
  std::string kept_schedule;           // its moves, when it was made by a kept schedule
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
  const ExecutionPlan& plan() const { return plan_; }
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

  /// How long a kernel took within one run: in all its calls (a scan's step makes several).
  struct KernelTime {
    int64_t calls = 0;
    double seconds = 0;
  };
  /// run() `repeats` times; per kernel of the plan, the run in which it was fastest.
  std::vector<KernelTime> profile(const void* const* inputs, void* const* outputs, int repeats,
                                  const CancelHook& hook = {});

 private:
  // Addresses of all buffers, the tensor tables of all kernels, and the workspace of one call in
  // progress.
  struct Frame;
  struct LoadedKernel {
    KernelFunction function;
    size_t table, tensors;  // position of its first tensor, and their number
    int64_t tasks, in_turn;
    bool parallel, chained;
    std::vector<std::pair<size_t, Buffer>> slots;  // position in the kernel's table
  };
  struct Chain;
  // Steps without a scan among them, or a scan alone. With kernels that are worth several threads,
  // and more than one chain, they are a task graph: number `graph` of graphs_; SIZE_MAX: none.
  struct Section {
    size_t begin = 0, end = 0;  // of the steps
    size_t graph = SIZE_MAX;
    std::vector<std::pair<size_t, size_t>> chains;  // of the graph's groups: begin, end
  };
  using Sections = std::vector<Section>;
  struct ScanSections {
    Sections before, steps;
  };

  std::unique_ptr<Frame> make_frame() const;
  void set(Frame& frame, size_t buffer, void* address) const;
  void run_in(Frame& frame, const void* const* inputs, void* const* outputs,
              const CancelHook& hook) const;
  void run_here(Frame& frame, const void* const* inputs, void* const* outputs) const;
  Sections sections_of(const std::vector<StepPlan>& steps);
  void run_steps(Frame& frame, const std::vector<StepPlan>& steps, const Sections& sections) const;
  void run_graph(Frame& frame, const std::vector<StepPlan>& steps, const Section& section) const;
  std::span<const StepPlan> chain_at(std::span<const StepPlan> steps, size_t step,
                                     size_t end) const;
  int64_t tasks_in_turn(std::span<const StepPlan> kernels) const;
  void run_chain(Frame& frame, std::span<const StepPlan> kernels, const ScanPlan* scan) const;
  void run_tasks(const Chain& chain, int64_t begin, int64_t end) const;
  void run_range(const LoadedKernel& kernel, const Frame& frame, int64_t begin, int64_t end) const;
  template <typename Set>
  void place_step(const Frame& frame, const ScanPlan& scan, int64_t number, Set&& set) const;
  void run_scan(Frame& frame, size_t number) const;
  void run_conditional(Frame& frame, size_t number) const;

  ExecutionPlan plan_;
  std::vector<std::shared_ptr<LoadedCode>> code_;  // per kernel
  size_t object_count_ = 0;
  std::shared_ptr<ThreadPool> pool_;
  CompileReport report_;
  FloatMode mode_;
  std::vector<LoadedKernel> kernels_;
  std::vector<TaskGraph> graphs_;
  Sections sections_;                        // of the plan's steps
  std::vector<ScanSections> scan_sections_;  // per scan
  std::vector<std::vector<size_t>> uses_;    // per buffer: positions in the tables
  std::vector<size_t> arguments_;            // buffers that are the caller's
  size_t table_size_ = 0;
  bool short_ = false;                  // one kernel of one task: there is no moment to cancel it
  std::atomic<Frame*> spare_{nullptr};  // kept for the next call
};

}  // namespace adjit::engine
