// jit/cpu/selection_faults.cpp -- freezing of loads and of vectors.
#include "jit/cpu/selection_faults.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <vector>

namespace adjit::cpu {
namespace {

// Whether lanes are chosen in a vector, or in what it is computed from by arithmetic alone.
bool chooses_lanes(const llvm::Value* value, int depth = 0) {
  constexpr int kDeepest = 8;  // operations: a bound on the time, not on what LLVM follows
  if (llvm::isa<llvm::SelectInst>(value)) return true;
  if (depth == kDeepest || !llvm::isa<llvm::BinaryOperator, llvm::UnaryOperator>(value))
    return false;
  return std::ranges::any_of(llvm::cast<llvm::User>(value)->operands(),
                             [&](const llvm::Use& use) { return chooses_lanes(use, depth + 1); });
}

// The vector of which the instruction takes one lane, else null.
llvm::Use* vector_of_one_lane(llvm::Instruction& instruction) {
  if (llvm::isa<llvm::ExtractElementInst>(instruction)) return &instruction.getOperandUse(0);
  const auto* store = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (!store || store->getIntrinsicID() != llvm::Intrinsic::masked_store) return nullptr;
  const auto* mask = llvm::dyn_cast<llvm::Constant>(store->getArgOperand(3));
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(store->getArgOperand(3)->getType());
  if (!mask || !type) return nullptr;
  unsigned lanes = 0;
  for (unsigned lane = 0; lane < type->getNumElements(); ++lane) {
    const llvm::Constant* set = mask->getAggregateElement(lane);
    lanes += set && set->isOneValue();
  }
  return lanes == 1 ? &instruction.getOperandUse(0) : nullptr;
}

}  // namespace

void keep_loads_out_of_selects(llvm::Module& module) {
  std::vector<llvm::Use*> loads;
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function)
      for (llvm::Instruction& instruction : block) {
        if (!llvm::isa<llvm::SelectInst>(instruction)) continue;
        if (!instruction.getType()->isFloatingPointTy()) continue;
        for (llvm::Use& operand : instruction.operands())
          if (llvm::isa<llvm::LoadInst>(operand)) loads.push_back(&operand);
      }
  for (llvm::Use* load : loads) {
    llvm::Instruction* select = llvm::cast<llvm::Instruction>(load->getUser());
    load->set(new llvm::FreezeInst(load->get(), "", select->getIterator()));
  }
}

void keep_choices_whole(llvm::Module& module) {
  std::vector<llvm::Use*> vectors;
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function)
      for (llvm::Instruction& instruction : block)
        if (llvm::Use* vector = vector_of_one_lane(instruction);
            vector && vector->get()->getType()->isFPOrFPVectorTy() && chooses_lanes(*vector))
          vectors.push_back(vector);
  for (llvm::Use* vector : vectors) {
    auto* taker = llvm::cast<llvm::Instruction>(vector->getUser());
    vector->set(new llvm::FreezeInst(vector->get(), "", taker->getIterator()));
  }
}

}  // namespace adjit::cpu
