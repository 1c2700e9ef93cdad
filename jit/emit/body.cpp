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
namespace {

using llvm::Value;

Interval interval(const Affine& form, std::span<const Interval> variables) {
  Interval r{form.constant(), form.constant()};
  for (size_t k = 0; k < form.size(); ++k) {
    const int64_t c = form.coefficient(k);
    if (c == 0) continue;
    r.lo = checked_add(r.lo, checked_mul(c, c > 0 ? variables[k].lo : variables[k].hi));
    r.hi = checked_add(r.hi, checked_mul(c, c > 0 ? variables[k].hi : variables[k].lo));
  }
  return r;
}

}  // namespace

size_t BodyEmitter::KeyHash::operator()(const Key& k) const {
  return (k.expr * 0x9e3779b97f4a7c15ull) ^ (k.copy * 0xc2b2ae3d27d4eb4full) ^
         reinterpret_cast<uintptr_t>(k.active);
}

BodyEmitter::BodyEmitter(const Graph& graph, const Stage& stage, std::vector<Affine> axes,
                         std::vector<Interval> axis_ranges, std::vector<UnrolledVariable> unrolled,
                         std::optional<size_t> lane_variable, const TensorPlaces& places,
                         llvm::IRBuilder<>& builder, Scopes& scopes, IndexEmitter& index,
                         VectorMath& math)
    : graph_(graph),
      pool_(graph.pool),
      stage_(stage),
      axes_(std::move(axes)),
      places_(places),
      builder_(builder),
      scopes_(scopes),
      index_(index),
      math_(math),
      domain_(stage.domain),
      ranges_(std::move(axis_ranges)),
      unrolled_(std::move(unrolled)) {
  analyse(lane_variable);
}

const std::optional<Affine>& BodyEmitter::affine(ExprId id) {
  const auto found = affine_.find(id.value);
  if (found != affine_.end()) return found->second;
  const size_t divisions = domain_.divisions.size();
  std::optional<Affine> form = as_affine(pool_, id, domain_);
  if (form && !stays_small(*form)) {
    form.reset();
    domain_.divisions.resize(divisions);
    ranges_.resize(std::min(ranges_.size(), domain_.variable_count()));
  }
  return affine_.emplace(id.value, std::move(form)).first->second;
}

// Whether sums and differences of such forms stay inside 64 bits. Arithmetic that does not wraps,
// and is left to the operations.
bool BodyEmitter::stays_small(const Affine& form) {
  constexpr int64_t kLimit = int64_t{1} << 60;
  try {
    while (ranges_.size() < domain_.variable_count()) {
      const Division& division = domain_.divisions[ranges_.size() - domain_.rank()];
      const Interval n = interval(division.numerator, ranges_);
      ranges_.push_back({floor_div(n.lo, division.divisor), floor_div(n.hi, division.divisor)});
    }
    // A quotient is computed by sums of its numerator and its divisor.
    for (size_t k = domain_.rank(); k < form.size(); ++k) {
      if (form.coefficient(k) == 0) continue;
      const Division& division = domain_.divisions[k - domain_.rank()];
      if (division.divisor >= kLimit || !stays_small(division.numerator)) return false;
    }
    const Interval r = interval(form, ranges_);
    return r.lo > -kLimit && r.hi < kLimit;
  } catch (const Overflow&) {
    return false;
  }
}

bool BodyEmitter::in_bounds(ExprId read) {
  const TensorInfo& tensor = graph_.info(pool_.read_tensor(read));
  const auto inside_axes = [&] {  // which attached nests leave at the ends of a region
    for (size_t a = 0; a < domain_.rank(); ++a)
      if (ranges_[a].lo < 0 || ranges_[a].hi >= domain_.extents[a]) return false;
    return true;
  };
  const std::span<const ExprId> index = pool_.read_index(read);
  for (size_t d = 0; d < index.size(); ++d) {
    if (const std::optional<Affine> form = affine(index[d])) {
      const Interval r = interval(*form, ranges_);
      if (r.lo >= 0 && r.hi < tensor.shape[d]) continue;
    }
    // Of data, limited by min and max; or a remainder, which is x - n (x // n) as a form, and
    // forgets that both are of the same x.
    if (!inside_axes()) return false;
    const auto range = interval_of(pool_, index[d], domain_.extents);
    if (!range || range->lo < 0 || range->hi >= tensor.shape[d]) return false;
  }
  return true;
}

void BodyEmitter::analyse(std::optional<size_t> lane_variable) {
  if (unrolled_.size() > kMaxUnrolledLoops)
    throw Error(ErrorCode::Schedule, "stage '" + graph_.info(stage_.results[0]).name + "' has " +
                                         std::to_string(unrolled_.size()) +
                                         " unrolled loops; at most " +
                                         std::to_string(kMaxUnrolledLoops) + " fit one nest");
  const auto copies_of_axis = [&](size_t axis) {
    uint64_t mask = 0;
    for (size_t k = 0; k < unrolled_.size(); ++k)
      if (axes_[axis].coefficient(unrolled_[k].variable) != 0) mask |= trip_bits(k);
    return mask;
  };
  std::vector<ExprId> roots = stage_.bodies;
  roots.insert(roots.end(), stage_.target.begin(), stage_.target.end());
  for (ExprId id : reachable(pool_, roots)) {
    Dependence d;
    for (ExprId operand : pool_.operands(id)) {
      d.copies |= dependence_[operand.value].copies;
      d.masked |= dependence_[operand.value].masked;
      d.lanes |= dependence_[operand.value].lanes;
    }
    if (pool_.is(id, Op::Axis)) {
      const size_t axis = pool_.axis_number(id);
      d.copies = copies_of_axis(axis);
      d.lanes = lane_variable && axes_[axis].coefficient(*lane_variable) != 0;
    }
    if (pool_.is(id, Op::Read)) {
      const bool safe = in_bounds(id);
      safe_[id.value] = safe;
      // A safe read that is equal in all lanes is loaded whatever lanes are active.
      d.masked |= !safe || d.lanes;
    }
    dependence_[id.value] = d;
    if (pool_.dtype(id) != DType::Int64) work_ += operation_cost(pool_, id);
  }
}

bool BodyEmitter::reads_anywhere() const {
  return std::ranges::all_of(safe_, [&](const auto& read) {
    return read.second && places_[pool_.read_tensor(ExprId{read.first})].origin.empty();
  });
}

Affine BodyEmitter::place(const Affine& domain_form) {
  Affine placed(domain_form.constant());
  for (size_t k = 0; k < domain_form.size(); ++k) {
    const int64_t c = domain_form.coefficient(k);
    if (c == 0) continue;
    if (k < domain_.rank()) {
      placed += index_.resolve(axes_[k]) * c;
    } else {
      const Division division = domain_.divisions[k - domain_.rank()];
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
  const Dependence& d = dependence_.at(id.value);
  return {id.value, point.instance & d.copies, d.masked ? point.active.value : nullptr};
}

const Emitted* BodyEmitter::find(ExprId id, const Point& point) const {
  const auto found = memo_.find(key(id, point));
  if (found == memo_.end()) return nullptr;
  const Memo& memo = found->second;
  return scopes_.alive(memo.emitted.depth, memo.serial) ? &memo.emitted : nullptr;
}

// The nodes whose values `evaluate` needs: operands, except where an affine form says all.
std::vector<ExprId> BodyEmitter::inputs_of(ExprId id) {
  const Node& node = pool_[id];
  const std::span<const ExprId> operands = pool_.operands(id);
  if (node.dtype == DType::Int64 && node.op != Op::Read && affine(id)) return {};
  if (info(node.op).rule == TypeRule::Comparison && pool_.dtype(operands[0]) == DType::Int64 &&
      affine(operands[0]) && affine(operands[1]))
    return {};
  if (const std::optional<size_t> position = compares_position(id))
    return {operands[1 - *position]};
  if (join_at(id)) return {};
  if (node.op == Op::Cast && pool_.dtype(operands[0]) == DType::Int64 && affine(operands[0]))
    return {};
  if (node.op != Op::Read) return {operands.begin(), operands.end()};
  std::vector<ExprId> inputs;
  for (ExprId coordinate : pool_.read_index(id))
    if (!affine(coordinate)) coordinate_inputs(coordinate, inputs);
  if (const ExprId predicate = pool_.read_predicate(id); predicate.valid())
    inputs.push_back(predicate);
  return inputs;
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
    const std::vector<ExprId> inputs = inputs_of(id);
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
  const Node& node = pool_[id];
  if (node.op == Op::Constant) {
    llvm::Type* type = register_type(builder_, node.dtype);
    if (is_float(node.dtype)) return {llvm::ConstantFP::get(type, *pool_.value(id)), 0};
    return {llvm::ConstantInt::get(type, static_cast<uint64_t>(*pool_.int_value(id))), 0};
  }
  if (node.op == Op::Read) return read(id, point);
  if (const Join* join = join_at(id)) return load_joined(*join, point);
  if (node.dtype == DType::Int64 && affine(id)) return index_value(place(*affine(id)));
  const std::span<const ExprId> operands = pool_.operands(id);
  if (info(node.op).rule == TypeRule::Comparison && pool_.dtype(operands[0]) == DType::Int64 &&
      affine(operands[0]) && affine(operands[1]))
    return comparison(node.op, place(*affine(operands[0])), place(*affine(operands[1])));
  if (const std::optional<size_t> position = compares_position(id)) {
    const Affine form = place(*affine(operands[*position]));
    return position_comparison(node.op, form, *find(operands[1 - *position], point), *position);
  }
  std::vector<Emitted> values;
  if (node.op == Op::Cast && pool_.dtype(operands[0]) == DType::Int64 && affine(operands[0])) {
    const Affine form = place(*affine(operands[0]));
    if (index_.in_lanes(form) && node.dtype != DType::Bool && fits_32(index_.range(form))) {
      const size_t depth = index_.depth(form);
      Value* lanes = index_.vector(form, 32);
      return {scopes_.at(depth,
                         [&] {
                           return emit_operation(builder_, math_, Op::Cast, DType::Int32,
                                                 node.dtype, {lanes});
                         }),
              depth};
    }
    values.push_back(index_value(form));
  } else {
    for (ExprId operand : operands) values.push_back(*find(operand, point));
  }
  return operation(id, values);
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

// Which operand of a comparison is a position that differs between lanes and fits 32 bits, where
// the other one is a number of 64 bits that is equal in all lanes.
std::optional<size_t> BodyEmitter::compares_position(ExprId id) {
  if (info(pool_[id].op).rule != TypeRule::Comparison) return std::nullopt;
  const std::span<const ExprId> operands = pool_.operands(id);
  if (pool_.dtype(operands[0]) != DType::Int64) return std::nullopt;
  const auto [found, fresh] = positions_.try_emplace(id.value);
  if (!fresh) return found->second;
  for (const size_t k : {size_t{0}, size_t{1}}) {
    if (dependence_.at(operands[1 - k].value).lanes || !dependence_.at(operands[k].value).lanes)
      continue;
    const std::optional<Interval> range = affine_range(operands[k]);
    if (range && range->lo > INT32_MIN && range->hi < INT32_MAX) found->second = k;
  }
  return found->second;
}

// The values of an affine form where the axes are in their ranges.
Interval BodyEmitter::range_of(const Affine& form) const { return interval(form, ranges_); }

std::optional<Interval> BodyEmitter::affine_range(ExprId id) {
  const std::optional<Affine>& form = affine(id);
  return form ? std::optional(range_of(*form)) : std::nullopt;
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
  const uint64_t shared = dependence_.at(id.value).copies & ~dependence_.at(divisor.value).copies;
  int64_t divisions =
      scopes_.trips(operands[1].depth, std::max(operands[0].depth, operands[1].depth));
  for (size_t k = 0; k < unrolled_.size(); ++k)
    if (shared & trip_bits(k)) divisions *= unrolled_[k].trips;
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
