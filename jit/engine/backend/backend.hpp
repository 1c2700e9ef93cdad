// jit/engine/backend/backend.hpp -- what the engine asks of a machine that code is made for.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autosched/machine/target.hpp"
#include "jit/cache/entry/entry.hpp"
#include "jit/emit/kernel.hpp"
#include "jit/engine/plan/kernel_list.hpp"
#include "jit/engine/report/stopwatch.hpp"
#include "jit/engine/run/executable.hpp"

namespace adjit::engine {

/// Components of keys (keys.hpp): those of a machine.
using Components = std::vector<cache::Component>;

struct MachineCode {
  std::vector<EmittedKernel> kernels;    // their modules have been consumed
  std::vector<cache::Section> sections;  // of an entry: all that load() takes of it
};

/// A machine: how schedules for it are made, emitted, compiled and loaded. Any thread may call
/// anything. Outlived by its executables.
class Backend {
 public:
  virtual ~Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  /// The ordinal of the GPU that executables run on; -1: the CPU.
  virtual int device() const { return -1; }
  /// What schedules aim at.
  virtual Target schedule_target() const = 0;
  /// What of the machine its code depends on, and what a schedule that was kept for it does.
  virtual Components code_components() const = 0;
  virtual Components schedule_components() const = 0;

  /// Emits every kernel, for the errors of the emitter alone.
  virtual void check_emission(const KernelList& list) = 0;
  /// Deterministic; on as many threads as the process may use.
  virtual MachineCode compile(const KernelList& list) = 0;
  /// `sections`: those of compile(), here or in another process, among others. `loading`: since
  /// when, for the report. ErrorCode::Cache where one is missing or does not fit the plan.
  virtual std::shared_ptr<Executable> load(std::span<const cache::Section> sections,
                                           ExecutionPlan plan, CompileReport report,
                                           const Stopwatch& loading) = 0;

  /// Of the kernels that compile() compiles, in order.
  virtual std::string llvm_text(const KernelList& list) = 0;
  virtual std::string assembly_text(const KernelList& list) = 0;

 protected:
  Backend() = default;
};

/// The bytes of a section; ErrorCode::Cache where there is none of that name.
const std::string& section_of(std::span<const cache::Section> sections, std::string_view name);

}  // namespace adjit::engine
