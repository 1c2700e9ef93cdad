// jit/cuda/ptx/ptx.cpp -- LLVM's NVPTX back end, and its linker.
#include "jit/cuda/ptx/ptx.hpp"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "jit/codegen/emit_file.hpp"
#include "jit/codegen/error_collector.hpp"
#include "jit/codegen/first_use.hpp"
#include "jit/codegen/targets.hpp"
#include "jit/cuda/device.hpp"
#include "runtime/expr/error.hpp"
#include "runtime/process/fork.hpp"

namespace adjit::cuda {
namespace {

constexpr const char* kTriple = "nvptx64-nvidia-cuda";

/// A GPU that LLVM 19 knows, and the PTX that knew it first. Later GPUs take code for the last one.
struct Known {
  int capability, version;
};
constexpr std::array<Known, 5> kKnown{{{80, 70}, {86, 71}, {87, 74}, {89, 78}, {90, 78}}};

const Known& known(int capability) {
  if (capability < kLeastCapability)
    throw Error(ErrorCode::Device,
                "code is generated for GPUs of compute capability " +
                    std::to_string(kLeastCapability / 10) + ".0 and later: this one has " +
                    std::to_string(capability / 10) + "." + std::to_string(capability % 10));
  const auto later = std::ranges::upper_bound(kKnown, capability, {}, &Known::capability);
  return *std::prev(later);
}

std::unique_ptr<llvm::TargetMachine> machine_for(const Known& gpu) {
  register_targets();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (!target) throw Error(ErrorCode::Compile, "no code generator for GPUs: " + error);
  // Nothing contracts: what is to be one multiply-add is one in the IR.
  const llvm::TargetOptions options;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      kTriple, "sm_" + std::to_string(gpu.capability), "+ptx" + std::to_string(gpu.version),
      options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
}

// Passes are registered when they are first made.
FirstUse first_use;
constexpr size_t kFirstUseBytes = size_t{4} << 20;  // more than it takes

void register_passes(llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  machine.addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile, true);
}

// Of the functions and tables that the emitter writes by their names, the same into all modules.
void set_linkage(llvm::Module& module, llvm::GlobalValue::LinkageTypes linkage) {
  for (llvm::GlobalValue& value : module.global_values())
    if (!value.isDeclaration() && value.getName().starts_with("adjit.")) value.setLinkage(linkage);
}

}  // namespace

int ptx_version(int capability) { return known(capability).version; }

void set_ptx_target(llvm::Module& module) {
  const process::ForkDelay no_fork;
  module.setTargetTriple(kTriple);
  module.setDataLayout(machine_for(kKnown.front())->createDataLayout());
}

std::string ptx_of(llvm::Module& module, int capability) {
  const process::ForkDelay no_fork;
  std::unique_ptr<llvm::TargetMachine> machine = machine_for(known(capability));
  first_use(kFirstUseBytes, [&] { register_passes(*machine); });
  try {
    return emit_file(module, *machine, llvm::CodeGenFileType::AssemblyFile);
  } catch (...) {
    [[maybe_unused]] const llvm::TargetMachine* lost = machine.release();
    throw;
  }
}

std::unique_ptr<llvm::Module> link_bitcode(llvm::LLVMContext& context,
                                           std::span<const std::string> modules) {
  const process::ForkDelay no_fork;
  auto all = std::make_unique<llvm::Module>("adjit", context);
  set_ptx_target(*all);
  const ErrorCollector errors(context);
  llvm::Linker linker(*all);
  for (const std::string& bitcode : modules) {
    llvm::Expected<std::unique_ptr<llvm::Module>> one =
        llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "kernel"), context);
    if (!one) throw Error(ErrorCode::Compile, "LLVM: " + llvm::toString(one.takeError()));
    set_linkage(**one, llvm::GlobalValue::LinkOnceODRLinkage);
    linker.linkInModule(std::move(*one));
    errors.throw_if_any();
  }
  set_linkage(*all, llvm::GlobalValue::InternalLinkage);
  return all;
}

}  // namespace adjit::cuda
