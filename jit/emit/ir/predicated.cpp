// jit/emit/ir/predicated.cpp -- predicated instructions as inline assembly.
#include "jit/emit/ir/predicated.hpp"

#include <array>
#include <span>
#include <string>
#include <vector>

#include <llvm/IR/InlineAsm.h>

#include "runtime/expr/error.hpp"

namespace adjit::emit {
namespace {

using llvm::Value;

// The instruction `name` of PTX, of these operands and, last, the sum, which is in the result's
// register: "@$3 add.rn.f32 $0, $1, $0;".
Value* one_lane(llvm::IRBuilder<>& builder, const TargetFeatures& features, const char* name,
                Value* keep, std::span<Value* const> operands, Value* sum) {
  llvm::Type* type = sum->getType();
  invariant(type->isFloatTy() || type->isDoubleTy(), "a predicated addition of another type");
  const bool is_float = type->isFloatTy();
  const std::string letter = is_float ? "f" : "d";
  std::string numbers = "$0", constraints = "=" + letter;
  std::vector<llvm::Type*> types;
  std::vector<Value*> arguments(operands.begin(), operands.end());
  for (size_t k = 1; k <= operands.size(); ++k) {
    numbers += ", $" + std::to_string(k);
    constraints += "," + letter;
  }
  const std::string code = "@$" + std::to_string(operands.size() + 2) + " " + name + ".rn" +
                           (is_float && features.flushes_subnormals ? ".ftz" : "") +
                           (is_float ? ".f32 " : ".f64 ") + numbers + ", $0;";
  arguments.insert(arguments.end(), {sum, keep});
  for (const Value* argument : arguments) types.push_back(argument->getType());
  llvm::CallInst* call =
      builder.CreateCall(llvm::InlineAsm::get(llvm::FunctionType::get(type, types, false), code,
                                              constraints + ",0,b", false),
                         arguments);
  // So that loads on both sides of it may be joined.
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  call->addFnAttr(llvm::Attribute::WillReturn);
  return call;
}

Value* in_each_lane(llvm::IRBuilder<>& builder, const TargetFeatures& features, const char* name,
                    Value* keep, std::span<Value* const> operands, Value* sum) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(sum->getType());
  if (vector == nullptr) return one_lane(builder, features, name, keep, operands, sum);
  Value* result = sum;
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
    std::vector<Value*> some;
    for (Value* operand : operands) some.push_back(builder.CreateExtractElement(operand, lane));
    Value* const added = one_lane(builder, features, name, builder.CreateExtractElement(keep, lane),
                                  some, builder.CreateExtractElement(sum, lane));
    result = builder.CreateInsertElement(result, added, lane);
  }
  return result;
}

}  // namespace

Value* add_where(llvm::IRBuilder<>& builder, const TargetFeatures& features, Value* keep,
                 Value* value, Value* sum) {
  return in_each_lane(builder, features, "add", keep, std::array{value}, sum);
}

Value* multiply_add_where(llvm::IRBuilder<>& builder, const TargetFeatures& features, Value* keep,
                          Value* a, Value* b, Value* sum) {
  return in_each_lane(builder, features, "fma", keep, std::array{a, b}, sum);
}

}  // namespace adjit::emit
