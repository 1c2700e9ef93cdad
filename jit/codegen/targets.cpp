// jit/codegen/targets.cpp -- registration of code generators and of what they do with errors.
#include "jit/codegen/targets.hpp"

#include <llvm/ADT/StringMap.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>

#include <array>
#include <new>
#include <string>
#include <utility>

#include "jit/codegen/first_use.hpp"
#include "runtime/expr/error.hpp"

namespace adjit::codegen {
namespace {

// Passes of the back end that cost time and bring nothing on code whose vectors, addresses and
// order the emitter chose; they would run at CodegenLevel::Less. Measured on Zen 4: a 12x32 product
// of 504x512x512 compiles in 2.8 instead of 4.8 ms of CPU time at the same speed (109 GFLOP/s), e^x
// + tanh x + log x in 2.9 instead of 4.2 ms at 1.06 instead of 1.01 ns per element. Such switches
// are global to LLVM, of which the library has a private copy, so they hold for NVPTX's back end,
// too, behind which ptxas optimises: a third of its time was the first of them, loop strength
// reduction. They are set once, before either back end runs.
void disable_needless_passes() {
  constexpr std::array<std::pair<const char*, const char*>, 9> kSwitches{
      {{"disable-lsr", "true"},
       {"disable-cgp", "true"},
       {"enable-misched", "false"},
       {"disable-post-ra", "true"},
       {"disable-select-optimize", "true"},
       {"disable-constant-hoisting", "true"},
       {"disable-early-ifcvt", "true"},
       {"disable-early-taildup", "true"},
       {"disable-tail-duplicate", "true"}}};
  for (const auto& [name, value] : kSwitches) {
    const auto& options = llvm::cl::getRegisteredOptions();
    const auto found = options.find(name);
    invariant(found != options.end(), "this LLVM lacks an option that switches off a pass");
    found->second->addOccurrence(1, name, value);
  }
}

// What LLVM calls fatal (an instruction that it cannot select) would end the process. The exception
// passes through LLVM's frames, which have unwind tables but no destructors to run: what they held
// is lost, so the caller abandons the target machine and the module as well.
[[noreturn]] void throw_fatal_error(void*, const char* reason, bool) {
  throw Error(ErrorCode::Compile, std::string("LLVM: ") + reason);
}

FirstUse registration;
constexpr size_t kRegistrationBytes = size_t{1} << 20;  // more than it takes

void register_all() {
  // Where an allocation fails, LLVM's containers would end the process.
  llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { throw std::bad_alloc(); });
  llvm::install_fatal_error_handler(throw_fatal_error);
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  disable_needless_passes();
}

}  // namespace

void register_targets() { registration(kRegistrationBytes, register_all); }

}  // namespace adjit::codegen
