// jit/cuda/ptx/ptx.hpp -- modules of LLVM IR to PTX, the text that assemblers of a GPU's code take.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "runtime/process/rooms.hpp"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace adjit::cuda {

/// The oldest version of PTX (78 is 7.8) in which code for a compute capability (90, as in "sm_90")
/// can be written: a driver refuses text of a version younger than itself. ErrorCode::Device below
/// kLeastCapability (device.hpp).
int ptx_version(int capability);

/// Sets the module's triple and data layout, which are those of all GPUs.
void set_ptx_target(llvm::Module& module);

/// The module's functions as PTX for GPUs of a compute capability and later ones. Consumes the
/// module; several may be at work in different threads, in contexts of their own. ErrorCode::Device
/// as ptx_version; what LLVM reports as an error is ErrorCode::Compile, also where it cannot select
/// an intrinsic.
std::string ptx_of(llvm::Module& module, int capability);

/// Modules of any contexts, as bitcode (bitcode.hpp), made one of `context`. Of functions and
/// tables that the emitter gives one name ("adjit.sin.f32"), which are the same in all modules, one
/// is left. ErrorCode::Compile where it is no bitcode, or two kernels have one name.
std::unique_ptr<llvm::Module> link_bitcode(llvm::LLVMContext& context,
                                           std::span<const std::string> modules);

}  // namespace adjit::cuda
