// jit/emit/addresses/coordinates.cpp -- indices that data decides, computed in 32 bits.
#include "jit/emit/addresses/coordinates.hpp"

#include <algorithm>
#include <span>

#include "jit/emit/addresses/address.hpp"
#include "jit/emit/operations/truncation.hpp"
#include "jit/emit/shape/narrow_coordinates.hpp"

namespace adjit::emit {

using llvm::Value;

Emitted Coordinates::operator()(ExprId id, const Point& point) {
  const BodyNode& node = context_.shape[id];
  if (!node.narrow) return value_of_(id, point);
  const Emitted found = narrow(id, point, node.dependence.lanes);
  if (node.dependence.lanes) return found;
  llvm::IRBuilder<>& builder = context_.builder;
  return {context_.scopes.at(found.depth,
                             [&] { return builder.CreateSExt(found.value, builder.getInt64Ty()); }),
          found.depth};
}

Emitted Coordinates::narrow(ExprId id, const Point& point, bool lanes) {
  PointMemo& memo = lanes ? in_lanes_ : scalars_;
  if (const Emitted* known = memo.find(id, point)) return *known;
  return memo.remember(id, point, made_narrow(id, point, lanes));
}

Emitted Coordinates::made_narrow(ExprId id, const Point& point, bool lanes) {
  Scopes& scopes = context_.scopes;
  llvm::IRBuilder<>& builder = context_.builder;
  if (context_.shape.form(id)) {
    const Affine form = placed(context_, id);
    if (lanes) return {context_.index.vector(form, 32), context_.variables.depth(form)};
    const Emitted whole = index_value(context_, form);
    return {scopes.at(whole.depth,
                      [&] { return builder.CreateTrunc(whole.value, builder.getInt32Ty()); }),
            whole.depth};
  }
  const std::span<const ExprId> operands = context_.pool().operands(id);
  const Op op = context_.pool()[id].op;
  if (op == Op::Cast) {
    const Emitted operand = value_of_(operands[0], point);
    Value* value = lanes ? context_.splats(operand) : operand.value;
    return {scopes.at(operand.depth, [&] { return truncated(value); }), operand.depth};
  }
  const Emitted a = narrow(operands[operands.size() - 2], point, lanes);
  const Emitted b = narrow(operands[operands.size() - 1], point, lanes);
  Emitted asked;
  if (op == Op::Select) asked = value_of_(operands[0], point);
  const size_t depth = std::max({a.depth, b.depth, asked.depth});
  Value* condition = lanes && asked.value ? context_.splats(asked) : asked.value;
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
  const bool lanes = value->getType()->isVectorTy();
  llvm::Type* type = builder.getInt32Ty();
  if (lanes) type = llvm::FixedVectorType::get(type, context_.variables.lanes());
  const auto number = [&](double x) { return llvm::ConstantFP::get(value->getType(), x); };
  const auto integer = [&](int64_t k) { return llvm::ConstantInt::getSigned(type, k); };
  Value* near = nullptr;
  if (context_.math.features().gpu && !lanes) {
    near = truncated_on_gpu(builder, value, type);
    near = builder.CreateSelect(builder.CreateICmpSLT(near, integer(kFarCoordinate)), near,
                                integer(kFarCoordinate));
    near = builder.CreateSelect(builder.CreateICmpSGT(near, integer(-kFarCoordinate)), near,
                                integer(-kFarCoordinate));
  } else {
    const auto limit = static_cast<double>(kFarCoordinate);
    Value* x =
        builder.CreateSelect(builder.CreateFCmpOLT(value, number(limit)), value, number(limit));
    x = builder.CreateSelect(builder.CreateFCmpOGT(x, number(-limit)), x, number(-limit));
    x = builder.CreateSelect(builder.CreateFCmpORD(value, value), x, number(0));
    near = builder.CreateFPToSI(x, type);
  }
  near =
      builder.CreateSelect(builder.CreateFCmpOGE(value, number(0x1p63)), integer(INT32_MAX), near);
  return builder.CreateSelect(builder.CreateFCmpOLE(value, number(-0x1p63)), integer(INT32_MIN),
                              near);
}

}  // namespace adjit::emit
