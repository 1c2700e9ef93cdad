// jit/engine/backend/cpu_backend.hpp -- this machine's processor, or one that it can stand for.
#pragma once

#include <memory>

#include "jit/cpu/code.hpp"
#include "jit/cpu/float_mode.hpp"
#include "jit/cpu/parallel.hpp"
#include "jit/cpu/target.hpp"
#include "jit/engine/backend/backend.hpp"

namespace adjit::engine {

/// As Backend has them.
Components code_components(const CpuTarget& target);
Components schedule_components(const CpuTarget& target);

class CpuBackend final : public Backend {
 public:
  CpuBackend(CpuTarget target, int threads, FloatMode mode);

  const CpuTarget& target() const { return machines_.target(); }
  TargetMachines& machines() { return machines_; }
  int threads() const { return pool_->threads(); }

  /// With the cores that the process may use.
  Target schedule_target() const override;
  Components code_components() const override { return engine::code_components(target()); }
  Components schedule_components() const override { return engine::schedule_components(target()); }
  void check_emission(const KernelList& list) override;
  /// The section "objects".
  MachineCode compile(const KernelList& list) override;
  std::shared_ptr<Executable> load(std::span<const cache::Section> sections, ExecutionPlan plan,
                                   CompileReport report, const Stopwatch& loading) override;
  std::string llvm_text(const KernelList& list) override;
  std::string assembly_text(const KernelList& list) override;

 private:
  TargetMachines machines_;
  std::shared_ptr<ThreadPool> pool_;
  CodeLoader loader_;
  FloatMode mode_;
};

}  // namespace adjit::engine
