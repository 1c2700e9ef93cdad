// tests/gpu_emulator/emulator.cpp -- kernels for NVPTX, run on the CPU as a GPU might run them.
#include "tests/gpu_emulator/emulator.hpp"

#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/TargetSelect.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>

#include "tests/gpu_emulator/host_module.hpp"
#include "tests/gpu_emulator/intrinsics.hpp"
#include "tests/gpu_emulator/running.hpp"

namespace adjit::tests {

struct GpuEmulator::Code {
  HostModule host;
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

namespace {

constexpr int64_t kSharedBytes = 228 << 10;  // of an H100's multiprocessor

alignas(128) std::byte shared_memory[kSharedBytes];

template <typename T>
T checked(llvm::Expected<T> made) {
  if (!made) throw std::runtime_error(llvm::toString(made.takeError()));
  return std::move(*made);
}
void check(llvm::Error error) {
  if (error) throw std::runtime_error(llvm::toString(std::move(error)));
}

}  // namespace

GpuEmulator::GpuEmulator(std::unique_ptr<llvm::Module> module,
                         std::unique_ptr<llvm::LLVMContext> context)
    : code_(std::make_unique<Code>()) {
  // The module ends before its context, also where something throws: the order in which two
  // parameters end is the compiler's.
  llvm::orc::ThreadSafeModule owned(std::move(module), std::move(context));
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto machine = checked(llvm::orc::JITTargetMachineBuilder::detectHost());
  machine.setCodeGenOptLevel(llvm::CodeGenOptLevel::Less);  // code runs once
  code_->jit =
      checked(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(machine)).create());
  code_->host = to_host(*owned.getModuleUnlocked(), code_->jit->getTargetTriple().str(),
                        code_->jit->getDataLayout());
  llvm::orc::SymbolMap symbols;
  const auto define = [&](const std::string& name, const void* address) {
    symbols[code_->jit->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address),
                                                  llvm::JITSymbolFlags::Exported};
  };
  define(kUseFunction, reinterpret_cast<const void*>(&emulate_use));
  define(kSharedBase, shared_memory);
  for (const std::string& name : code_->host.intrinsics) {
    const void* const function = intrinsic_of_host(name);
    if (function == nullptr) throw std::runtime_error("not emulated: llvm.nvvm." + name);
    define(kIntrinsicPrefix + name, function);
  }
  llvm::orc::JITDylib& library = code_->jit->getMainJITDylib();
  check(library.define(llvm::orc::absoluteSymbols(std::move(symbols))));
  library.addGenerator(checked(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      code_->jit->getDataLayout().getGlobalPrefix())));
  check(code_->jit->addIRModule(std::move(owned)));
}

GpuEmulator::~GpuEmulator() = default;

Report GpuEmulator::run(const std::string& kernel, std::span<void* const> parameters,
                        std::span<const DeviceArray> arrays, const Launch& launch) {
  const auto address = checked(code_->jit->lookup(kLaunchPrefix + kernel));
  auto* const function = address.toPtr<void (*)(void* const*)>();
  const int64_t bytes = code_->host.shared_bytes + launch.shared_bytes;
  if (bytes > kSharedBytes) throw std::runtime_error("more shared memory than a GPU has");
  std::vector<DeviceArray> memory(arrays.begin(), arrays.end());
  for (const HostModule::Constant& constant : code_->host.constants)
    memory.push_back(
        {checked(code_->jit->lookup(constant.name)).toPtr<const void*>(), constant.bytes});
  Running running(code_->host, memory, launch, {shared_memory, static_cast<size_t>(bytes)});
  std::mt19937_64 random(launch.seed);
  std::vector<int> order(static_cast<size_t>(launch.blocks));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, random);
  for (int block : order)
    if (!running.run_block(block, random(), [&] { function(parameters.data()); })) break;
  return running.report();
}

}  // namespace adjit::tests
