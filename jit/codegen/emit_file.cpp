// jit/codegen/emit_file.cpp -- running LLVM's back end, with its ways to fail turned into
// exceptions.
#include "jit/codegen/emit_file.hpp"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/PrettyStackTrace.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>

#include "jit/codegen/error_collector.hpp"
#include "runtime/expr/error.hpp"

namespace adjit::codegen {

std::string emit_file(llvm::Module& module, llvm::TargetMachine& machine,
                      llvm::CodeGenFileType type) {
  const ErrorCollector errors(module.getContext());
  const void* pretty_stack = llvm::SavePrettyStackState();
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  auto passes = std::make_unique<llvm::legacy::PassManager>();
  try {
    if (machine.addPassesToEmitFile(*passes, out, nullptr, type, /*DisableVerify=*/true))
      throw Error(ErrorCode::Compile, "LLVM cannot emit this kind of file");
    passes->run(module);
  } catch (...) {
    llvm::RestorePrettyStackState(pretty_stack);
    [[maybe_unused]] const llvm::legacy::PassManager* lost = passes.release();
    throw;
  }
  errors.throw_if_any();
  return {bytes.begin(), bytes.end()};
}

}  // namespace adjit::codegen
