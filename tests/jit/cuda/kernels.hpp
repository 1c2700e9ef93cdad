// tests/jit/cuda/kernels.hpp -- kernels for NVPTX from text, as what the fake driver loads.
#pragma once

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "jit/cuda/ptx/bitcode.hpp"

namespace adjit::cuda {

/// Functions in LLVM's notation: with the task of a thread by @task(), -1 past `tasks`.
inline std::string image_of(const std::string& functions) {
  const std::string text = R"(
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
define internal i64 @task(i64 %tasks) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %bn = mul i32 %b, %n
  %g = add i32 %bn, %t
  %task = zext i32 %g to i64
  %in = icmp slt i64 %task, %tasks
  %found = select i1 %in, i64 %task, i64 -1
  ret i64 %found
}
)" + functions;
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, error, context);
  if (!module) throw std::runtime_error(error.getMessage().str());
  return wrapped_bitcode(*module);
}

/// A kernel of arrays of floats: y[k] = f(x[k], z[k]) for the k below `count`, `body` makes of %a
/// and %b the value %c.
inline std::string pointwise(const std::string& name, int count, const std::string& body) {
  return "define ptx_kernel void @" + name +
         "(ptr addrspace(1) %x, ptr addrspace(1) %z, ptr addrspace(1) %y) {\n"
         "  %k = call i64 @task(i64 " +
         std::to_string(count) +
         ")\n  %none = icmp slt i64 %k, 0\n  br i1 %none, label %end, label %work\nwork:\n"
         "  %px = getelementptr float, ptr addrspace(1) %x, i64 %k\n"
         "  %pz = getelementptr float, ptr addrspace(1) %z, i64 %k\n"
         "  %py = getelementptr float, ptr addrspace(1) %y, i64 %k\n"
         "  %a = load float, ptr addrspace(1) %px\n  %b = load float, ptr addrspace(1) %pz\n" +
         body + "\n  store float %c, ptr addrspace(1) %py\n  br label %end\nend:\n  ret void\n}\n";
}

}  // namespace adjit::cuda
