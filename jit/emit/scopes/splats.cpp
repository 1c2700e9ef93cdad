// jit/emit/scopes/splats.cpp -- numbers in all lanes of a vector.
#include "jit/emit/scopes/splats.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>

namespace adjit::emit {

using llvm::Value;

Value* Splats::operator()(const Emitted& value) {
  if (value.value->getType()->isVectorTy()) return value.value;
  if (auto* constant = llvm::dyn_cast<llvm::Constant>(value.value))
    return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(variables_.lanes()),
                                          constant);
  if (Value* const* known = splats_.find(value.value)) return *known;
  Value* lanes = nullptr;
  if (const auto uniform = uniform_.find(value.value); uniform != uniform_.end()) {
    lanes = in_all_lanes(uniform->second, value.depth);
  } else {
    lanes = scopes_.at(value.depth,
                       [&] { return builder_.CreateVectorSplat(variables_.lanes(), value.value); });
  }
  return splats_.remember(value.value, lanes, value.depth);
}

void Splats::note(Op op, Value* value, std::span<const Emitted> operands) {
  llvm::Intrinsic::ID in_lanes = llvm::Intrinsic::not_intrinsic;
  switch (op) {
    case Op::Add: in_lanes = llvm::Intrinsic::experimental_constrained_fadd; break;
    case Op::Sub: in_lanes = llvm::Intrinsic::experimental_constrained_fsub; break;
    case Op::Mul: in_lanes = llvm::Intrinsic::experimental_constrained_fmul; break;
    default: return;
  }
  if (value->getType()->isFloatingPointTy() &&
      std::ranges::all_of(operands, [](const Emitted& operand) {
        return llvm::isa<llvm::LoadInst, llvm::ConstantFP>(operand.value);
      }))
    uniform_[value] = {in_lanes, operands.front(), operands.back()};
}

// LLVM would make of a plain operation on two spread numbers one on the numbers again. Constrained
// ones beside plain ones are no concern here: no pass runs over the IR, and what they may not
// ignore (rounding, exceptions) is as everywhere.
Value* Splats::in_all_lanes(const Uniform& uniform, size_t depth) {
  Value* left = (*this)(uniform.left);
  Value* right = (*this)(uniform.right);
  return scopes_.at(depth, [&] {
    return builder_.CreateConstrainedFPBinOp(uniform.operation, left, right, nullptr, "", nullptr,
                                             llvm::RoundingMode::NearestTiesToEven,
                                             llvm::fp::ebIgnore);
  });
}

void Splats::forget() {
  splats_.forget();
  uniform_.clear();
}

}  // namespace adjit::emit
