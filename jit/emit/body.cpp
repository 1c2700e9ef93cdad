// jit/emit/body.cpp -- evaluating expression DAGs: what depends on what, memo tables, indices.
// Loads are in load.cpp.
#include "jit/emit/body.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <cmath>

#include "autosched/analysis/work.hpp"
#include "jit/emit/memory_types.hpp"
#include "jit/emit/operations.hpp"
#include "runtime/expr/interval.hpp"

namespace adjit::emit {

using llvm::Value;

size_t BodyEmitter::KeyHash::operator()(const Key& k) const {
  return (k.expr * 0x9e3779b97f4a7c15ull) ^ (k.copy * 0xc2b2ae3d27d4eb4full) ^
         reinterpret_cast<uintptr_t>(k.active);
}

BodyEmitter::BodyEmitter(const Graph& graph, const Stage& stage, std::vector<Affine> axes,
                         std::vector<Interval> axis_ranges, std::vector<UnrolledVariable> unrolled,
                         std::optional<size_t> lane_variable, const TensorPlaces& places,
                         llvm::IRBuilder<>& builder, Scopes& scopes, IndexEmitter& index,
                         VectorMath& math)
    : shape_(graph, stage, std::move(axes), std::move(axis_ranges), std::move(unrolled),
             lane_variable, places),
      graph_(graph),
      pool_(graph.pool),
      stage_(stage),
      places_(places),
      builder_(builder),
      scopes_(scopes),
      index_(index),
      math_(math) {}

Affine BodyEmitter::place(const Affine& domain_form) {
  Affine placed(domain_form.constant());
  for (size_t k = 0; k < domain_form.size(); ++k) {
    const int64_t c = domain_form.coefficient(k);
    if (c == 0) continue;
    if (k < shape_.domain().rank()) {
      placed += index_.resolve(shape_.axes[k]) * c;
    } else {
      const Division division = shape_.domain().divisions[k - shape_.domain().rank()];
      placed += index_.floor_div(place(division.numerator), division.divisor) * c;
    }
  }
  return placed;
}

std::optional<Affine> BodyEmitter::placed_form(ExprId id) {
  if (const std::optional<Affine>& form = affine(id)) return place(*form);
  return std::nullopt;
}

BodyEmitter::Key BodyEmitter::key(ExprId id, const Point& point) const {
  const Dependence& d = shape_[id].dependence;
  return {id.value, point.instance & d.trips, d.masked ? point.active.value : nullptr};
}

const Emitted* BodyEmitter::find(ExprId id, const Point& point) const {
  const auto found = memo_.find(key(id, point));
  if (found == memo_.end()) return nullptr;
  const Memo& memo = found->second;
  return scopes_.alive(memo.emitted.depth, memo.serial) ? &memo.emitted : nullptr;
}

Emitted BodyEmitter::operator()(ExprId root, const Point& point) {
  std::vector<ExprId> stack{root};
  while (!stack.empty()) {
    const ExprId id = stack.back();
    if (find(id, point)) {
      stack.pop_back();
      continue;
    }
    bool ready = true;
    const std::vector<ExprId>& inputs = shape_[id].inputs;
    for (size_t k = inputs.size(); k-- > 0;)
      if (!find(inputs[k], point)) {
        stack.push_back(inputs[k]);
        ready = false;
      }
    if (!ready) continue;
    stack.pop_back();
    const Emitted emitted = evaluate(id, point);
    invariant(emitted.depth <= scopes_.depth(), "a value is known in a scope that is not open");
    memo_[key(id, point)] = {emitted, scopes_.serial(emitted.depth)};
  }
  return *find(root, point);
}

Emitted BodyEmitter::evaluate(ExprId id, const Point& point) {
  const BodyNode& node = shape_[id];
  const Op op = pool_[id].op;
  const std::span<const ExprId> operands = pool_.operands(id);
  switch (node.making) {
    case Making::Constant: {
      llvm::Type* type = register_type(builder_, pool_.dtype(id));
      if (is_float(pool_.dtype(id))) return {llvm::ConstantFP::get(type, *pool_.value(id)), 0};
      return {llvm::ConstantInt::get(type, static_cast<uint64_t>(*pool_.int_value(id))), 0};
    }
    case Making::Read: return read(id, point);
    case Making::Join: return load_joined(*node.join, point);
    case Making::Form: return index_value(*placed_form(id));
    case Making::ComparedForms:
      return comparison(op, *placed_form(operands[0]), *placed_form(operands[1]));
    case Making::ComparedPosition:
      return position_comparison(op, *placed_form(operands[node.position]),
                                 *find(operands[1 - node.position], point), node.position);
    case Making::CastForm: return form_cast(id, *placed_form(operands[0]));
    case Making::Operation: break;
  }
  std::vector<Emitted> values;
  for (ExprId operand : operands) values.push_back(*find(operand, point));
  return operation(id, values);
}

// An index as another dtype.
Emitted BodyEmitter::form_cast(ExprId id, const Affine& form) {
  const DType dtype = pool_.dtype(id);
  if (!index_.in_lanes(form) || dtype == DType::Bool || !fits_32(index_.range(form))) {
    const Emitted value = index_value(form);
    return operation(id, {&value, 1});
  }
  const size_t depth = index_.depth(form);
  Value* lanes = index_.vector(form, 32);
  return {
      scopes_.at(
          depth,
          [&] { return emit_operation(builder_, math_, Op::Cast, DType::Int32, dtype, {lanes}); }),
      depth};
}

Emitted BodyEmitter::index_value(const Affine& form) {
  Value* value = index_.in_lanes(form) ? index_.vector(form, 64) : index_.scalar(form);
  return {value, index_.depth(form)};
}

Emitted BodyEmitter::comparison(Op op, const Affine& left, const Affine& right) {
  // Integers: a < b is b - a - 1 >= 0.
  const Affine difference = right - left;
  const size_t depth = index_.depth(difference);
  switch (op) {
    case Op::Le: return {index_.at_least_zero(difference), depth};
    case Op::Lt: return {index_.at_least_zero(difference + Affine(-1)), depth};
    case Op::Eq: return {index_.equals_zero(difference), depth};
    default: break;
  }
  Value* equal = index_.equals_zero(difference);
  return {scopes_.at(depth, [&] { return builder_.CreateNot(equal); }), depth};
}

// A number beyond all positions compares as the last integer on its side does. It may be a vector,
// of zeros where lanes are off.
Emitted BodyEmitter::position_comparison(Op op, const Affine& form, const Emitted& number,
                                         size_t position) {
  llvm::Type* wide = number.value->getType();
  Value* limited = scopes_.at(number.depth, [&] {
    const auto limit = [&](int64_t k) { return llvm::ConstantInt::getSigned(wide, k); };
    Value* low =
        builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, number.value, limit(INT32_MIN));
    Value* both = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, low, limit(INT32_MAX));
    return builder_.CreateTrunc(both, wide->isVectorTy() ? index_type(32) : builder_.getInt32Ty());
  });
  limited = splat({limited, number.depth});
  Value* lanes = index_.vector(form, 32);
  const size_t depth = std::max(number.depth, index_.depth(form));
  return {scopes_.at(depth,
                     [&] {
                       Value* values[] = {position == 0 ? lanes : limited,
                                          position == 0 ? limited : lanes};
                       return emit_operation(builder_, math_, op, DType::Int32, DType::Bool,
                                             values);
                     }),
          depth};
}

Emitted BodyEmitter::operation(ExprId id, std::span<const Emitted> operands) {
  size_t depth = 0;
  bool in_lanes = false;
  for (const Emitted& operand : operands) {
    depth = std::max(depth, operand.depth);
    in_lanes |= operand.value->getType()->isVectorTy();
  }
  if (in_lanes && divides_often(id, operands)) return divided(operands[0], operands[1]);
  llvm::SmallVector<Value*, 4> values;
  for (const Emitted& operand : operands)
    values.push_back(in_lanes ? splat(operand) : operand.value);
  const DType operand_dtype = pool_.dtype(pool_.operands(id).back());
  Value* value = scopes_.at(depth, [&] {
    return emit_operation(builder_, math_, pool_[id].op, operand_dtype, pool_.dtype(id), values);
  });
  if (!in_lanes) note_uniform(id, value, operands);
  return {value, depth};
}

// Whether this is a division of floats by what stays the same in an inner loop, or for other
// copies.
bool BodyEmitter::divides_often(ExprId id, std::span<const Emitted> operands) const {
  if (pool_[id].op != Op::Div || !is_float(pool_.dtype(id)) || !math_.features().fma) return false;
  const ExprId divisor = pool_.operands(id)[1];
  // A power of two is multiplied by its reciprocal anyway.
  if (const auto number = pool_.value(divisor)) {
    int exponent = 0;
    // A subnormal one must count as other operations count it (jit/cpu/float_mode.hpp).
    const double least = pool_.dtype(id) == DType::Float64 ? 0x1p-1022 : 0x1p-126;
    return std::isfinite(*number) && std::abs(*number) >= least &&
           std::abs(std::frexp(*number, &exponent)) != 0.5;
  }
  const uint64_t shared = shape_[id].dependence.trips & ~shape_[divisor].dependence.trips;
  int64_t divisions =
      scopes_.trips(operands[1].depth, std::max(operands[0].depth, operands[1].depth));
  for (size_t k = 0; k < shape_.unrolled.size(); ++k)
    if (shared & trip_bits(k)) divisions *= shape_.unrolled[k].trips;
  // Making it ready takes as long as two or three, and takes registers.
  return divisions >= 8;
}

Emitted BodyEmitter::divided(const Emitted& x, const Emitted& by) {
  const auto known = divisors_.find(by.value);
  if (known == divisors_.end() || !scopes_.alive(by.depth, known->second.serial)) {
    VectorMath::Divisor made;
    scopes_.at(by.depth, [&] {
      made = math_.divisor(by.value);
      return made.reciprocal;
    });
    for (Value** value : {&made.scale, &made.magnitude, &made.reciprocal})
      if (*value) *value = splat({*value, by.depth});
    divisors_[by.value] = {made, scopes_.serial(by.depth)};
  }
  const VectorMath::Divisor& divisor = divisors_.at(by.value).divisor;
  Value* lanes = splat(x);
  const size_t depth = std::max(x.depth, by.depth);
  return {scopes_.at(depth, [&] { return math_.divided(lanes, divisor); }), depth};
}

void BodyEmitter::note_uniform(ExprId id, Value* value, std::span<const Emitted> operands) {
  llvm::Intrinsic::ID in_lanes = llvm::Intrinsic::not_intrinsic;
  switch (pool_[id].op) {
    case Op::Add: in_lanes = llvm::Intrinsic::experimental_constrained_fadd; break;
    case Op::Sub: in_lanes = llvm::Intrinsic::experimental_constrained_fsub; break;
    case Op::Mul: in_lanes = llvm::Intrinsic::experimental_constrained_fmul; break;
    default: return;
  }
  if (is_float(pool_.dtype(id)) && std::ranges::all_of(operands, [](const Emitted& operand) {
        return llvm::isa<llvm::LoadInst, llvm::ConstantFP>(operand.value);
      }))
    uniform_[value] = {in_lanes, operands.front(), operands.back()};
}

// LLVM would make of a plain operation on two spread numbers one on the numbers again. Constrained
// ones beside plain ones are no concern here: no pass runs over the IR, and what they may not
// ignore (rounding, exceptions) is as everywhere.
Value* BodyEmitter::in_all_lanes(const Uniform& uniform, size_t depth) {
  Value* left = splat(uniform.left);
  Value* right = splat(uniform.right);
  return scopes_.at(depth, [&] {
    return builder_.CreateConstrainedFPBinOp(uniform.operation, left, right, nullptr, "", nullptr,
                                             llvm::RoundingMode::NearestTiesToEven,
                                             llvm::fp::ebIgnore);
  });
}

Value* BodyEmitter::splat(Emitted value) {
  if (value.value->getType()->isVectorTy()) return value.value;
  if (llvm::isa<llvm::Constant>(value.value))
    return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(index_.lanes()),
                                          llvm::cast<llvm::Constant>(value.value));
  const auto known = spread_.find(value.value);
  if (known != spread_.end() && scopes_.alive(known->second.emitted.depth, known->second.serial))
    return known->second.emitted.value;
  Value* lanes = nullptr;
  if (const auto uniform = uniform_.find(value.value); uniform != uniform_.end()) {
    lanes = in_all_lanes(uniform->second, value.depth);
  } else {
    lanes = scopes_.at(value.depth,
                       [&] { return builder_.CreateVectorSplat(index_.lanes(), value.value); });
  }
  spread_[value.value] = {{lanes, value.depth}, scopes_.serial(value.depth)};
  return lanes;
}

}  // namespace adjit::emit
