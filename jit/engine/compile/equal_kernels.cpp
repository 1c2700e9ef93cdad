// jit/engine/compile/equal_kernels.cpp -- modules as bitcode without the kernels' names.
#include "jit/engine/compile/equal_kernels.hpp"

#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include <algorithm>

#include "jit/emit/ir/lost_if_thrown.hpp"

namespace adjit::engine {
namespace {

constexpr const char* kAnyName = "adjit_kernel";

std::string code_of(EmittedKernel& kernel) {
  llvm::Module& module = *kernel.module;
  llvm::Function* function = module.getFunction(kernel.symbol);
  const std::string source = module.getSourceFileName();
  module.setSourceFileName(kAnyName);
  function->setName(kAnyName);
  llvm::SmallVector<char, 0> bytes;
  LostIfThrown<llvm::BitcodeWriter> writer(bytes);
  writer->writeModule(module);
  writer->writeStrtab();
  function->setName(kernel.symbol);
  module.setSourceFileName(source);
  return {bytes.data(), bytes.size()};
}

}  // namespace

size_t EqualKernels::show(size_t k, EmittedKernel& kernel) {
  std::string code = code_of(kernel);
  const std::lock_guard lock(mutex_);
  const auto entry = first_.try_emplace(std::move(code), k).first;
  codes_[k] = &*entry;
  return entry->second = std::min(entry->second, k);
}

}  // namespace adjit::engine
