// jit/engine/engine.hpp -- the only place where the steps are joined: computation in, executable
// out.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "autosched/cpu/schedule.hpp"
#include "jit/cache/memory_tier.hpp"
#include "jit/cache/store.hpp"
#include "jit/cpu/code.hpp"
#include "jit/cpu/float_mode.hpp"
#include "jit/cpu/parallel.hpp"
#include "jit/cpu/target.hpp"
#include "jit/engine/compile/compile_kernels.hpp"
#include "jit/engine/computation.hpp"
#include "jit/engine/export/export.hpp"
#include "jit/engine/run/executable.hpp"
#include "runtime/process/cancellation.hpp"

namespace adjit::engine {

struct EngineOptions {
  int threads = 0;  // 0: ADJIT_NUM_THREADS, else the cores this process may use
  cache::StoreOptions store;
  cache::Log log;          // compilations at Info and Debug; never called under a lock
  bool check_nan = false;  // every stage is watched; the first that makes a NaN is an error
  /// Every plan is checked (verify_plan.hpp): ErrorCode::Internal says what is wrong. For tests.
  bool verify_plans = false;
  FloatMode float_mode = FloatMode::FlushSubnormals;  // of the kernels' arithmetic
  CancelHook cancel;  // of whatever is asked of the engine and what it compiled; thread-safe
  std::string target_features;  // as cpu_target() takes it; "": ADJIT_CPU, else this machine
};

/// As a schedule: the one that is chosen where nothing was kept.
inline constexpr const char* kOwnSchedule = "heuristic";

/// Which code is wanted of a computation.
struct Request {
  std::shared_ptr<const Computation> computation;
  std::vector<TensorLayout> layouts;  // per input
  std::string title;                  // for people
  std::string schedule_json;          // "": what was kept (keep_schedule), else what is chosen
  double trace_ms = 0;                // for the records
  int64_t memory_budget = 0;          // bytes of workspace (memory_budget.hpp); 0: no bound
};

/// `from_memory`: an earlier equal request made it; else its report says how this one did.
struct Compiled {
  std::shared_ptr<Executable> executable;
  bool from_memory = false;
};

/// Caches, compiler and threads. Any thread may call anything; concurrent requests for the same
/// code share one compilation. Outlived by its executables.
class Engine {
 public:
  explicit Engine(EngineOptions options);
  ~Engine();

  /// Memory, then disk, then compilation.
  Compiled compile(const Request& request);

  // The steps, each a value: for inspection.
  /// After derivation, clean-up and contraction: what is scheduled, but for the checks of indices.
  Graph final_graph(const Request& request) const;
  Program schedule(const Request& request) const;
  /// What schedules aim at: this processor with the cores that the process may use.
  Target schedule_target() const;
  /// What its parts are predicted to cost, and for the default schedule what the best alternatives
  /// to it would (autosched/search/explain.hpp).
  std::string explain(const Request& request) const;

  /// Schedules worth measuring: what compiling takes first, then the default schedule where that is
  /// another, then those that are predicted to be the
  /// fastest, then random ones drawn from `seed`; at most `count`, all different.
  struct Proposal {
    std::string schedule_json, changes;
    double predicted = 0;  // microseconds
  };
  std::vector<Proposal> proposals(const Request& request, size_t count, uint64_t seed) const;
  /// Makes a schedule the one that later requests without a schedule get for this computation, with
  /// these layouts and on such a processor: in this process, and in the cache where that can be
  /// written. "": back to the default. ErrorCode::Schedule when it is not legal here.
  void keep_schedule(const Request& request, const std::string& schedule_json);
  std::string llvm(const Request& request) const;
  std::string assembly(const Request& request) const;
  /// Compiled anew, for a library that needs no adjit (export.hpp).
  ExportedFunction exported(const Request& request, const std::string& name) const;

  cache::Key key(const Request& request) const;
  cache::Store& store() { return store_; }
  /// Of the LLVM that generates the code, such as "19.1.7".
  static const char* llvm_version();
  const CpuTarget& target() const { return machines_.target(); }
  int threads() const { return threads_; }
  FloatMode float_mode() const { return options_.float_mode; }
  /// Whose calls are to construct a Cancellable with it.
  const CancelHook& cancel() const { return options_.cancel; }

 private:
  std::shared_ptr<Executable> load(const cache::Key& key, std::string* miss_reason);
  std::shared_ptr<Executable> build(const Request& request, const cache::Key& key,
                                    std::string miss_reason);
  CompiledKernels compile_kernels_of(Program& program, const Graph& graph, const Request& request,
                                     const KernelNames& names = kernel_symbol) const;
  void report_build(const Request& request, const CompileReport& report, const Graph& graph,
                    const Program& program) const;
  CheckedGraph checked_graph(const Request& request) const;
  Program schedule_of(const Graph& graph, const Request& request) const;
  std::optional<Program> kept_program(const Graph& graph, const Request& request) const;
  cache::Key kept_schedule_key(const Request& request) const;
  std::string kept_schedule(const Request& request) const;

  EngineOptions options_;
  int threads_;
  mutable TargetMachines machines_;
  mutable cache::Store store_;
  mutable std::mutex kept_mutex_;
  mutable std::map<std::string, std::string> kept_;  // schedules by the id of their key; "": none
  std::shared_ptr<ThreadPool> pool_;
  CodeLoader loader_;
  cache::MemoryTier<Executable> executables_;
};

}  // namespace adjit::engine
