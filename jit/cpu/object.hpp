// jit/cpu/object.hpp -- from a module of LLVM IR to a relocatable ELF object.
#pragma once

#include <string>
#include <vector>

#include "jit/cpu/target.hpp"

namespace llvm {
class Module;
}

namespace adjit::cpu {

/// Sets the module's triple and data layout. Call before filling the module: alignments and pointer
/// sizes follow from it.
void set_target(llvm::Module& module, TargetMachines& machines);

/// Machine code of a module as an ELF object. Runs no IR passes, and consumes the module: the back
/// end rewrites it. Modules of different contexts may be compiled in different threads at once.
/// Whatever LLVM reports as an error is thrown as ErrorCode::Compile.
std::vector<char> compile_module(llvm::Module& module, TargetMachines& machines,
                                 CodegenLevel level);

/// The same as assembly text; works on a copy of the module.
std::string assembly_of(const llvm::Module& module, TargetMachines& machines, CodegenLevel level);

/// The module as text.
std::string ir_text(const llvm::Module& module);

/// Throws ErrorCode::Internal with LLVM's explanation if the module is malformed.
void verify_module(const llvm::Module& module);

}  // namespace adjit::cpu
