// jit/emit/addresses/coordinates.cpp -- indices that data decides, computed in 32 bits.
#include "jit/emit/addresses/coordinates.hpp"

#include <algorithm>
#include <span>

#include "jit/emit/addresses/address.hpp"
#include "jit/emit/shape/narrow_coordinates.hpp"

namespace adjit::emit {

using llvm::Value;

Emitted Coordinates::operator()(ExprId id, const Point& point) {
  return context_.shape[id].narrow ? narrow(id, point) : value_of_(id, point);
}

Emitted Coordinates::narrow(ExprId id, const Point& point) {
  if (const Emitted* known = narrow_.find(id, point)) return *known;
  return narrow_.remember(id, point, made_narrow(id, point));
}

Emitted Coordinates::made_narrow(ExprId id, const Point& point) {
  Scopes& scopes = context_.scopes;
  llvm::IRBuilder<>& builder = context_.builder;
  if (context_.shape.form(id)) {
    const Affine form = placed(context_, id);
    return {context_.index.vector(form, 32), context_.variables.depth(form)};
  }
  const std::span<const ExprId> operands = context_.pool().operands(id);
  const Op op = context_.pool()[id].op;
  if (op == Op::Cast) {
    const Emitted operand = value_of_(operands[0], point);
    Value* value = context_.splats(operand);
    return {scopes.at(operand.depth, [&] { return truncated(value); }), operand.depth};
  }
  const Emitted a = narrow(operands[operands.size() - 2], point);
  const Emitted b = narrow(operands[operands.size() - 1], point);
  Emitted asked;
  if (op == Op::Select) asked = value_of_(operands[0], point);
  const size_t depth = std::max({a.depth, b.depth, asked.depth});
  Value* condition = asked.value ? context_.splats(asked) : nullptr;
  return {scopes.at(depth,
                    [&]() -> Value* {
                      if (op == Op::Add) return builder.CreateAdd(a.value, b.value);
                      if (op == Op::Sub) return builder.CreateSub(a.value, b.value);
                      Value* yes = condition;
                      if (op == Op::Min) yes = builder.CreateICmpSLT(a.value, b.value);
                      if (op == Op::Max) yes = builder.CreateICmpSGT(a.value, b.value);
                      return builder.CreateSelect(yes, a.value, b.value);
                    }),
          depth};
}

// Towards zero, NaN to 0, limited to +-kFarCoordinate; what 64 bits do not hold to the last
// integer.
Value* Coordinates::truncated(Value* value) {
  llvm::IRBuilder<>& builder = context_.builder;
  auto* type = llvm::FixedVectorType::get(builder.getInt32Ty(), context_.variables.lanes());
  const auto number = [&](double x) { return llvm::ConstantFP::get(value->getType(), x); };
  const auto integer = [&](int64_t k) { return llvm::ConstantInt::getSigned(type, k); };
  const auto limit = static_cast<double>(kFarCoordinate);
  Value* x =
      builder.CreateSelect(builder.CreateFCmpOLT(value, number(limit)), value, number(limit));
  x = builder.CreateSelect(builder.CreateFCmpOGT(x, number(-limit)), x, number(-limit));
  x = builder.CreateSelect(builder.CreateFCmpORD(value, value), x, number(0));
  Value* near = builder.CreateFPToSI(x, type);
  near =
      builder.CreateSelect(builder.CreateFCmpOGE(value, number(0x1p63)), integer(INT32_MAX), near);
  return builder.CreateSelect(builder.CreateFCmpOLE(value, number(-0x1p63)), integer(INT32_MIN),
                              near);
}

}  // namespace adjit::emit
