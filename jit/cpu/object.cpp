// jit/cpu/object.cpp -- running LLVM's back end, with its ways to fail turned into exceptions.
#include "jit/cpu/object.hpp"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <vector>

#include "jit/codegen/emit_file.hpp"
#include "jit/codegen/first_use.hpp"
#include "jit/cpu/long_blocks.hpp"
#include "jit/cpu/selection_faults.hpp"
#include "jit/emit/ir/lost_if_thrown.hpp"
#include "runtime/expr/error.hpp"
#include "runtime/process/fork.hpp"

namespace adjit::cpu {
namespace {

constexpr unsigned kBlock = 512;  // instructions

// Passes are registered when they are first made, and which there are depends on these two.
FirstUse first_uses[2][2];
constexpr size_t kFirstUseBytes = size_t{4} << 20;  // more than it takes

void register_passes(TargetMachines& machines, CodegenLevel level, llvm::CodeGenFileType type) {
  const TargetMachines::Lease machine = machines.lease(level);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  machine->addPassesToEmitFile(passes, out, nullptr, type, /*DisableVerify=*/true);
}

std::string run_back_end(llvm::Module& module, TargetMachines& machines, CodegenLevel level,
                         llvm::CodeGenFileType type) {
  const ForkDelay no_fork;
  FirstUse& first =
      first_uses[level == CodegenLevel::Fast][type == llvm::CodeGenFileType::ObjectFile];
  first(kFirstUseBytes, [&] { register_passes(machines, level, type); });
  const bool avx512 = machines.target().vector.avx512f;
  if (level == CodegenLevel::Fast && !avx512) keep_loads_out_of_selects(module);
  if (level == CodegenLevel::Less && avx512) keep_choices_whole(module);
  if (level == CodegenLevel::Fast) cut_long_blocks(module, kBlock);
  TargetMachines::Lease machine = machines.lease(level);
  try {
    return emit_file(module, *machine, type);
  } catch (...) {
    machine.abandon();
    throw;
  }
}

}  // namespace

void set_target(llvm::Module& module, TargetMachines& machines) {
  module.setTargetTriple(machines.target().triple);
  module.setDataLayout(machines.lease(CodegenLevel::Fast)->createDataLayout());
}

std::vector<char> compile_module(llvm::Module& module, TargetMachines& machines,
                                 CodegenLevel level) {
  const std::string object =
      run_back_end(module, machines, level, llvm::CodeGenFileType::ObjectFile);
  return {object.begin(), object.end()};
}

std::string assembly_of(const llvm::Module& module, TargetMachines& machines, CodegenLevel level) {
  const ForkDelay no_fork;
  LostIfThrown<std::unique_ptr<llvm::Module>> copy(llvm::CloneModule(module));
  return run_back_end(**copy, machines, level, llvm::CodeGenFileType::AssemblyFile);
}

std::string ir_text(const llvm::Module& module) {
  const ForkDelay no_fork;
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out, nullptr);
  return text;
}

void verify_module(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (llvm::verifyModule(module, &out))
    throw Error(ErrorCode::Internal, "internal error: malformed LLVM module: " + text);
}

}  // namespace adjit::cpu
