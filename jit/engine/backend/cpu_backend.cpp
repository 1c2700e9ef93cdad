// jit/engine/backend/cpu_backend.cpp -- objects for this processor, made, stored and linked.
#include "jit/engine/backend/cpu_backend.hpp"

#include <utility>

#include "jit/cpu/machine.hpp"
#include "jit/cpu/object.hpp"
#include "jit/engine/compile/compile_kernels.hpp"
#include "jit/engine/run/cpu_executable.hpp"

namespace adjit::engine {

Components code_components(const CpuTarget& target) {
  return {{"cores", std::to_string(ThreadPool::available_threads())},
          {"triple", target.triple},
          {"cpu", target.cpu},
          {"features", target.features}};
}

Components schedule_components(const CpuTarget& target) {
  return {{"cores", std::to_string(ThreadPool::available_threads())},
          {"cpu", target.cpu},
          {"features", target.features}};
}

CpuBackend::CpuBackend(CpuTarget target, int threads, FloatMode mode)
    : machines_(std::move(target)), pool_(std::make_shared<ThreadPool>(threads)), mode_(mode) {}

Target CpuBackend::schedule_target() const {
  return machine_of(target(), ThreadPool::available_threads());
}

void CpuBackend::check_emission(const KernelList& list) { engine::check_emission(list, machines_); }

MachineCode CpuBackend::compile(const KernelList& list) {
  CompiledKernels compiled = compile_kernels(list, machines_);
  return {std::move(compiled.kernels), {{"objects", join_objects(compiled.objects)}}};
}

std::shared_ptr<Executable> CpuBackend::load(std::span<const cache::Section> sections,
                                             ExecutionPlan plan, CompileReport report,
                                             const Stopwatch& loading) {
  std::vector<std::shared_ptr<LoadedCode>> code =
      load_objects(loader_, split_objects(section_of(sections, "objects")), plan);
  report.load_ms = loading.milliseconds();
  return std::make_shared<CpuExecutable>(std::move(plan), std::move(code), pool_, std::move(report),
                                         mode_);
}

std::string CpuBackend::llvm_text(const KernelList& list) {
  std::string text;
  for_each_different(list, machines_, [&](const EmittedKernel& kernel, CodegenLevel) {
    text += ir_text(*kernel.module);
  });
  return text;
}

std::string CpuBackend::assembly_text(const KernelList& list) {
  std::string text;
  for_each_different(list, machines_, [&](const EmittedKernel& kernel, CodegenLevel level) {
    text += assembly_of(*kernel.module, machines_, level);
  });
  return text;
}

}  // namespace adjit::engine
