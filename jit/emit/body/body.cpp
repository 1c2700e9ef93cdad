// jit/emit/body/body.cpp -- evaluating expression DAGs: operands first, every value once.
#include "jit/emit/body/body.hpp"

#include <llvm/IR/Constants.h>

#include <algorithm>
#include <vector>

#include "jit/emit/addresses/address.hpp"
#include "jit/emit/operations/memory_types.hpp"
#include "jit/emit/operations/operations.hpp"

namespace adjit::emit {

using llvm::Value;

BodyEmitter::BodyEmitter(const BodyContext& context, std::optional<size_t> ahead)
    : context_(context),
      values_(context.shape, context.scopes),
      coordinates_(context_, [this](ExprId id, const Point& point) { return (*this)(id, point); }),
      loads_(context_, values_, coordinates_, context.math.features().gpu ? std::nullopt : ahead),
      joined_loads_(context_),
      bfloat16_loads_(context_),
      divisors_(context_) {}

void BodyEmitter::forget() {
  values_.forget();
  context_.splats.forget();
  coordinates_.forget();
  loads_.forget();
  bfloat16_loads_.forget();
  divisors_.forget();
}

Emitted BodyEmitter::operator()(ExprId root, const Point& point) {
  std::vector<ExprId> stack{root};
  while (!stack.empty()) {
    const ExprId id = stack.back();
    if (values_.find(id, point)) {
      stack.pop_back();
      continue;
    }
    bool ready = true;
    const std::vector<ExprId>& inputs = context_.shape[id].inputs;
    for (size_t k = inputs.size(); k-- > 0;)
      if (!values_.find(inputs[k], point)) {
        stack.push_back(inputs[k]);
        ready = false;
      }
    if (!ready) continue;
    stack.pop_back();
    values_.remember(id, point, evaluate(id, point));
  }
  return *values_.find(root, point);
}

// Of a node whose inputs are known.
Emitted BodyEmitter::evaluate(ExprId id, const Point& point) {
  const ExprPool& pool = context_.pool();
  const BodyNode& node = context_.shape[id];
  const std::span<const ExprId> operands = pool.operands(id);
  switch (node.making) {
    case Making::Constant: {
      llvm::Type* type = register_type(context_.builder, pool.dtype(id));
      if (is_float(pool.dtype(id))) return {llvm::ConstantFP::get(type, *pool.value(id)), 0};
      return {llvm::ConstantInt::get(type, static_cast<uint64_t>(*pool.int_value(id))), 0};
    }
    case Making::Read: return loads_.read(id, point);
    case Making::Join: return joined_loads_(*node.join, point);
    case Making::Form: return index_value(context_, placed(context_, id));
    case Making::ComparedForms: {
      const Affine right = placed(context_, operands[1]);
      return comparison(pool[id].op, placed(context_, operands[0]), right);
    }
    case Making::ComparedPosition:
      return position_comparison(id, *values_.find(operands[1 - node.position], point));
    case Making::CastForm: return form_cast(id, placed(context_, operands[0]));
    case Making::Narrow: return coordinates_(id, point);
    case Making::Operation: break;
  }
  std::vector<Emitted> values;
  for (ExprId operand : operands) values.push_back(*values_.find(operand, point));
  return operation(id, values);
}

// An index as another dtype.
Emitted BodyEmitter::form_cast(ExprId id, const Affine& form) {
  const DType dtype = context_.pool().dtype(id);
  const KernelVariables& variables = context_.variables;
  const bool in_lanes = variables.in_lanes(form);
  if ((!in_lanes && !context_.index.narrow()) || dtype == DType::Bool ||
      !fits_32(variables.range(form))) {
    const Emitted value = index_value(context_, form);
    return operation(id, {&value, 1});
  }
  Value* lanes = in_lanes ? context_.index.vector(form, 32) : context_.index.number(form);
  return context_.scopes.emit(variables.depth(form), [&] {
    return emit_operation(context_.builder, context_.math, Op::Cast, DType::Int32, dtype, {lanes});
  });
}

Emitted BodyEmitter::comparison(Op op, const Affine& left, const Affine& right) {
  // Integers: a < b is b - a - 1 >= 0.
  const Affine difference = right - left;
  IndexEmitter& index = context_.index;
  const size_t depth = context_.variables.depth(difference);
  switch (op) {
    case Op::Le: return {index.at_least_zero(difference), depth};
    case Op::Lt: return {index.at_least_zero(difference + Affine(-1)), depth};
    case Op::Eq: return {index.equals_zero(difference), depth};
    default: break;
  }
  Value* equal = index.equals_zero(difference);
  return context_.scopes.emit(depth, [&] { return context_.builder.CreateNot(equal); });
}

// A number beyond all positions compares as the last integer on its side does. It may be a vector,
// of zeros where lanes are off.
Emitted BodyEmitter::position_comparison(ExprId id, const Emitted& number) {
  llvm::IRBuilder<>& builder = context_.builder;
  const size_t position = context_.shape[id].position;
  const Affine form = placed(context_, context_.pool().operand(id, position));
  llvm::Type* wide = number.value->getType();
  Value* limited = context_.scopes.at(number.depth, [&] {
    const auto limit = [&](int64_t k) { return llvm::ConstantInt::getSigned(wide, k); };
    Value* low =
        builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, number.value, limit(INT32_MIN));
    Value* both = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, low, limit(INT32_MAX));
    return builder.CreateTrunc(both, wide->getWithNewType(builder.getInt32Ty()));
  });
  limited = context_.splats({limited, number.depth});
  Value* lanes = context_.index.vector(form, 32);
  const size_t depth = std::max(number.depth, context_.variables.depth(form));
  return context_.scopes.emit(depth, [&] {
    Value* values[] = {position == 0 ? lanes : limited, position == 0 ? limited : lanes};
    return emit_operation(builder, context_.math, context_.pool()[id].op, DType::Int32, DType::Bool,
                          values);
  });
}

Emitted BodyEmitter::operation(ExprId id, std::span<const Emitted> operands) {
  const ExprPool& pool = context_.pool();
  size_t depth = 0;
  bool in_lanes = false;
  for (const Emitted& operand : operands) {
    depth = std::max(depth, operand.depth);
    in_lanes |= operand.value->getType()->isVectorTy();
  }
  if (in_lanes && divisors_.divides_often(id, operands))
    return divisors_.divided(operands[0], operands[1]);
  llvm::SmallVector<Value*, 4> values;
  for (const Emitted& operand : operands)
    values.push_back(in_lanes ? context_.splats(operand) : operand.value);
  const DType operand_dtype = pool.dtype(pool.operands(id).back());
  const Emitted made = context_.scopes.emit(depth, [&] {
    return emit_operation(context_.builder, context_.math, pool[id].op, operand_dtype,
                          pool.dtype(id), values);
  });
  if (!in_lanes && !context_.math.features().gpu)
    context_.splats.note(pool[id].op, made.value, operands);
  return made;
}

}  // namespace adjit::emit
