// jit/emit/ir/constant_loads.cpp -- loads of memory that nothing writes while a kernel runs.
#include "jit/emit/ir/constant_loads.hpp"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Metadata.h>

namespace adjit::emit {
namespace {

constexpr uint64_t kAccessBytes = 16;  // that a thread may load at once

// LLVM 19's NVPTX crashes on wider loads that are so marked and converted, <8 x float> to double.
bool is_one_access(const llvm::LoadInst& load) {
  return load.getDataLayout().getTypeStoreSize(load.getType()) <= kAccessBytes;
}

}  // namespace

void mark_constant_loads(llvm::Function& function, const std::vector<bool>& constant) {
  llvm::MDNode* none = llvm::MDNode::get(function.getContext(), {});
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& instruction : block) {
      auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      if (!load || !is_one_access(*load)) continue;
      const auto* from =
          llvm::dyn_cast<llvm::Argument>(llvm::getUnderlyingObject(load->getPointerOperand(), 0));
      if (from && from->getArgNo() < constant.size() && constant[from->getArgNo()])
        load->setMetadata(llvm::LLVMContext::MD_invariant_load, none);
    }
}

}  // namespace adjit::emit
