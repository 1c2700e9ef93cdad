// jit/engine/backend/cuda_backend.cpp -- kernels to PTX and cubins, these into a GPU.
#include "jit/engine/backend/cuda_backend.hpp"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <cmath>
#include <utility>

#include "jit/cpu/object.hpp"
#include "jit/cuda/module.hpp"
#include "jit/cuda/ptx/bitcode.hpp"
#include "jit/cuda/ptx/ptx.hpp"
#include "jit/engine/compile/gpu_modules.hpp"
#include "jit/engine/run/cuda_executable.hpp"

namespace adjit::engine {
namespace {

// All numbers that a schedule may depend on.
std::string text_of(const GpuMachine& machine) {
  std::string text;
  for (const int64_t number :
       {int64_t{machine.multiprocessors}, int64_t{machine.threads}, int64_t{machine.block_threads},
        int64_t{machine.registers}, machine.shared_bytes, machine.block_shared_bytes,
        machine.l2_bytes, machine.memory_bytes, std::lround(1000 * machine.ghz),
        std::lround(machine.memory_gb)})
    text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

std::string architecture(const DeviceFacts& facts) {
  return "sm_" + std::to_string(facts.capability);
}

}  // namespace

GpuMachine machine_of(const DeviceFacts& facts) {
  GpuMachine machine;
  machine.capability = facts.capability;
  machine.multiprocessors = facts.multiprocessors;
  machine.threads = facts.threads;
  machine.block_threads = facts.block_threads;
  machine.registers = facts.registers;
  machine.shared_bytes = facts.shared_bytes;
  machine.block_shared_bytes = facts.block_shared_bytes;
  machine.l2_bytes = facts.l2_bytes;
  machine.memory_bytes = facts.memory_bytes;
  if (facts.ghz > 0) machine.ghz = facts.ghz;
  if (facts.memory_gb > 0) machine.memory_gb = facts.memory_gb;
  return machine;
}

CudaBackend::CudaBackend(std::shared_ptr<Gpu> gpu, std::optional<Assembler> assembler,
                         FloatMode mode)
    : gpu_(std::move(gpu)), assembler_(std::move(assembler)), mode_(mode) {}

TargetFeatures CudaBackend::features() const {
  return gpu_features(mode_ == FloatMode::FlushSubnormals);
}

Components CudaBackend::schedule_components() const {
  return {{"target", "cuda"},
          {"sm", std::to_string(gpu_->facts.capability)},
          {"gpu", text_of(machine_of(gpu_->facts))}};
}

// Of a processor, subnormal numbers are a matter of its mode; here of the code.
Components CudaBackend::code_components() const {
  Components components = schedule_components();
  components.push_back({"subnormals", mode_ == FloatMode::FlushSubnormals ? "flush" : "keep"});
  components.push_back({"assembler", gpu_->context.driver().takes_bitcode ? "bitcode"
                                     : assembler_ ? "ptxas " + assembler_->version
                                                  : "driver"});
  return components;
}

void CudaBackend::check_emission(const KernelList& list) {
  engine::check_gpu_emission(list, features());
}

MachineCode CudaBackend::compile(const KernelList& list) {
  GpuModules modules = emit_gpu_modules(list, features());
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> module = link_bitcode(context, modules.bitcode);
  MachineCode code{std::move(modules.kernels), {}};
  if (gpu_->context.driver().takes_bitcode) {
    code.sections.push_back({"bitcode", wrapped_bitcode(*module)});
    return code;
  }
  std::string ptx = cuda::ptx_of(*module, gpu_->facts.capability);
  std::string cubin = assembler_ ? assemble(*assembler_, ptx, architecture(gpu_->facts)).cubin
                                 : link_ptx(gpu_->context, ptx);
  code.sections.push_back({"ptx", std::move(ptx)});
  code.sections.push_back({"cubin", std::move(cubin)});
  return code;
}

std::shared_ptr<Executable> CudaBackend::load(std::span<const cache::Section> sections,
                                              ExecutionPlan plan, CompileReport report,
                                              const Stopwatch& loading) {
  const bool bitcode = gpu_->context.driver().takes_bitcode;
  const std::string& image = section_of(sections, bitcode ? "bitcode" : "cubin");
  report.code_bytes = image.size();
  CudaPlan loaded;
  try {
    loaded = load_cuda_plan(plan, gpu_, image);
  } catch (const Error& error) {
    if (bitcode || error.code() != ErrorCode::Compile) throw;
    const std::string made = link_ptx(gpu_->context, section_of(sections, "ptx"));
    loaded = load_cuda_plan(std::move(plan), gpu_, made);
  }
  report.load_ms = loading.milliseconds();
  return std::make_shared<CudaExecutable>(std::move(loaded), std::move(report));
}

std::string CudaBackend::llvm_text(const KernelList& list) {
  llvm::LLVMContext context;
  return ir_text(*link_bitcode(context, emit_gpu_modules(list, features()).bitcode));
}

std::string CudaBackend::assembly_text(const KernelList& list) {
  llvm::LLVMContext context;
  return cuda::ptx_of(*link_bitcode(context, emit_gpu_modules(list, features()).bitcode),
                      gpu_->facts.capability);
}

}  // namespace adjit::engine
