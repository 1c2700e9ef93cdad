// jit/codegen/emit_file.hpp -- a module through a target machine's passes.
#pragma once

#include <string>

#include <llvm/Support/CodeGen.h>

#include "runtime/process/rooms.hpp"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace adjit::codegen {

/// What the machine writes of a module. Runs no IR passes but the machine's own, and consumes the
/// module. Whatever LLVM reports as an error is thrown as ErrorCode::Compile; after any exception
/// the machine must not be used again, nor destroyed: its state is unknown.
std::string emit_file(llvm::Module& module, llvm::TargetMachine& machine,
                      llvm::CodeGenFileType type);

}  // namespace adjit::codegen
