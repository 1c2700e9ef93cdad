// jit/engine/backend/cuda_backend.hpp -- a GPU by the CUDA driver.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "jit/cpu/float_mode.hpp"
#include "jit/cuda/assembler.hpp"
#include "jit/cuda/gpu.hpp"
#include "jit/engine/backend/backend.hpp"
#include "jit/engine/run/cuda_plan.hpp"

namespace adjit::engine {

/// What is known of a GPU as what schedules for it know.
GpuMachine machine_of(const DeviceFacts& facts);

/// Code for all GPUs of a model: which one of them it runs on is no part of keys. The sections of
/// an entry are "ptx", the text, and "cubin", what an assembler made of it, which is a part of the
/// key; of a driver that takes bitcode, "bitcode" alone.
class CudaBackend final : public Backend {
 public:
  /// `assembler`: nullopt for the driver's own.
  CudaBackend(std::shared_ptr<Gpu> gpu, std::optional<Assembler> assembler, FloatMode mode);

  const Gpu& gpu() const { return *gpu_; }

  int device() const override { return gpu_->facts.ordinal; }
  Target schedule_target() const override { return machine_of(gpu_->facts); }
  Components code_components() const override;
  Components schedule_components() const override;
  void check_emission(const KernelList& list) override;
  MachineCode compile(const KernelList& list) override;
  /// Where the device refuses the cubin, the driver makes one of the PTX.
  std::shared_ptr<Executable> load(std::span<const cache::Section> sections, ExecutionPlan plan,
                                   CompileReport report, const Stopwatch& loading) override;
  std::string llvm_text(const KernelList& list) override;
  /// PTX.
  std::string assembly_text(const KernelList& list) override;

 private:
  TargetFeatures features() const;

  std::shared_ptr<Gpu> gpu_;
  std::optional<Assembler> assembler_;
  FloatMode mode_;
};

}  // namespace adjit::engine
