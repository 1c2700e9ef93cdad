// jit/emit/index.cpp -- affine forms over loop variables as machine values.
#include "jit/emit/index.hpp"

#include <algorithm>
#include <bit>

#include "runtime/expr/floor_form.hpp"

namespace adjit::emit {
namespace {

using llvm::Value;

std::vector<int64_t> key_of(const Affine& form) {
  std::vector<int64_t> key(form.coefficients().begin(), form.coefficients().end());
  key.push_back(form.constant());
  return key;
}

}  // namespace

IndexEmitter::IndexEmitter(llvm::IRBuilder<>& builder, Scopes& scopes, size_t loop_variables)
    : builder_(builder),
      scopes_(scopes),
      variables_(loop_variables),
      sums_(scopes),
      not_negative_(scopes),
      zero_(scopes),
      addresses_(scopes) {}

size_t IndexEmitter::FormHash::operator()(const Affine& form) const {
  auto hash = static_cast<uint64_t>(form.constant());
  for (const int64_t c : form.coefficients())
    hash = (hash ^ static_cast<uint64_t>(c)) * 0x9e3779b97f4a7c15ull + (hash >> 29);
  return hash;
}

size_t IndexEmitter::FormHash::operator()(const std::pair<Value*, Affine>& from) const {
  return (*this)(from.second) ^ reinterpret_cast<uintptr_t>(from.first) * 0xc2b2ae3d27d4eb4full;
}

void IndexEmitter::bind_scalar(size_t variable, Value* trip, Interval trips, int64_t step) {
  const size_t depth = scopes_.depth();
  variables_[variable] = {Kind::Scalar, trip, trips, depth, scopes_.serial(depth), 0, step};
}

void IndexEmitter::bind_lanes(size_t variable, unsigned lanes) {
  lanes_ = lanes;
  lane_variable_ = variable;
  variables_[variable] = {Kind::Lanes, nullptr, {0, int64_t{lanes} - 1}, 0, scopes_.serial(0),
                          0,           1};
}

void IndexEmitter::bind_fixed(size_t variable, int64_t value) {
  variables_[variable] = {Kind::Fixed, nullptr, {value, value}, 0, 0, value, 1};
}

void IndexEmitter::unbind(size_t variable) {
  if (lane_variable_ == variable) {
    lane_variable_.reset();
    lanes_ = 1;
  }
  variables_[variable] = {};
}

Affine IndexEmitter::resolve(const Affine& form) const {
  Affine resolved(form.constant());
  for (size_t k = 0; k < form.size(); ++k) {
    const int64_t c = form.coefficient(k);
    if (c == 0) continue;
    invariant(variables_[k].kind != Kind::Unbound, "a loop variable is used outside its loop");
    if (variables_[k].kind == Kind::Fixed) {
      resolved += checked_mul(c, variables_[k].fixed);
    } else {
      resolved.set_coefficient(k, checked_mul(c, variables_[k].step));
    }
  }
  return resolved;
}

Interval IndexEmitter::range(const Affine& form) const {
  Interval r{form.constant(), form.constant()};
  for (size_t k = 0; k < form.size(); ++k) {
    const int64_t c = form.coefficient(k);
    if (c == 0) continue;
    const Interval v = variables_[k].range;
    r.lo = checked_add(r.lo, checked_mul(c, c > 0 ? v.lo : v.hi));
    r.hi = checked_add(r.hi, checked_mul(c, c > 0 ? v.hi : v.lo));
  }
  return r;
}

bool IndexEmitter::in_lanes(const Affine& form) const {
  for (size_t k = 0; k < form.size(); ++k)
    if (form.coefficient(k) != 0 && variables_[k].kind == Kind::Lanes) return true;
  return false;
}

std::optional<int64_t> IndexEmitter::lane_stride(const Affine& form) const {
  int64_t stride = 0;
  for (size_t k = 0; k < form.size(); ++k) {
    if (form.coefficient(k) == 0 || variables_[k].kind != Kind::Lanes) continue;
    if (variables_[k].value) return std::nullopt;
    stride = form.coefficient(k);
  }
  return stride;
}

std::optional<std::vector<int64_t>> IndexEmitter::lane_pattern(const Affine& form) const {
  std::vector<int64_t> pattern(lanes_, 0);
  for (size_t k = 0; k < form.size(); ++k) {
    const int64_t c = form.coefficient(k);
    if (c == 0 || variables_[k].kind != Kind::Lanes) continue;
    const auto* known = llvm::dyn_cast_or_null<llvm::Constant>(variables_[k].value);
    if (variables_[k].value && !known) return std::nullopt;
    for (unsigned lane = 0; lane < lanes_; ++lane) {
      int64_t value = lane;
      if (known) {
        const auto* element =
            llvm::dyn_cast_or_null<llvm::ConstantInt>(known->getAggregateElement(lane));
        if (!element) return std::nullopt;
        value = element->getSExtValue();
      }
      pattern[lane] = checked_add(pattern[lane], checked_mul(c, value));
    }
  }
  return pattern;
}

size_t IndexEmitter::depth(const Affine& form) const {
  size_t depth = 0;
  for (size_t k = 0; k < form.size(); ++k)
    if (form.coefficient(k) != 0) depth = std::max(depth, variables_[k].depth);
  return depth;
}

Affine IndexEmitter::floor_div(const Affine& form, int64_t divisor) {
  const FloorForm floor = floor_form(form, divisor, [&](const Affine& f) { return range(f); });
  if (floor.rest.is_constant()) return floor.whole;
  return floor.whole + Affine::variable(derived(floor.rest, floor.divisor));
}

size_t IndexEmitter::derived(const Affine& numerator, int64_t divisor) {
  const auto key = std::pair(divisor, key_of(numerator));
  const auto found = divisions_.find(key);
  if (found != divisions_.end()) {
    // A variable bound again further inside holds everything that depends on it there.
    const Variable& v = variables_[found->second];
    if (v.depth == depth(numerator) && scopes_.alive(v.depth, v.serial)) return found->second;
  }
  const Interval r = range(numerator);
  Variable v;
  v.depth = depth(numerator);
  v.serial = scopes_.serial(v.depth);
  v.range = {expr::floor_div(r.lo, divisor), expr::floor_div(r.hi, divisor)};
  if (in_lanes(numerator)) {
    v.kind = Kind::Lanes;
    // The quotient of a numerator that may be negative needs head room for its shift (see divide).
    const bool small = fits_32(r) && divisor <= INT32_MAX &&
                       fits_32({r.lo, r.hi - std::min<int64_t>(r.lo, 0) + divisor});
    Value* lanes = vector(numerator, small ? 32 : 64);
    v.value = scopes_.at(v.depth, [&] {
      Value* quotient = divide(lanes, r, divisor);
      return builder_.CreateSExt(quotient,
                                 llvm::FixedVectorType::get(builder_.getInt64Ty(), lanes_));
    });
  } else {
    v.kind = Kind::Scalar;
    Value* value = scalar(numerator);
    v.value = scopes_.at(v.depth, [&] { return divide(value, r, divisor); });
  }
  // A dead division's number is not reused: forms that mention it are dead, too.
  variables_.push_back(v);
  divisions_[key] = variables_.size() - 1;
  return variables_.size() - 1;
}

// floor(value / divisor) on i32 or i64, scalar or vector.
Value* IndexEmitter::divide(Value* value, Interval range, int64_t divisor) {
  llvm::Type* type = value->getType();
  const bool power = std::has_single_bit(static_cast<uint64_t>(divisor));
  if (power)
    return builder_.CreateAShr(
        value, llvm::ConstantInt::get(
                   type, static_cast<uint64_t>(std::countr_zero(static_cast<uint64_t>(divisor)))));
  Value* d = llvm::ConstantInt::get(type, static_cast<uint64_t>(divisor));
  if (range.lo >= 0) return builder_.CreateUDiv(value, d);
  if (range.lo < divisor - INT64_MAX) {
    // The shift below may leave 64 bits. With s = -1 where x < 0, else 0: ~floor(x / d) = ~x / d.
    Value* sign = builder_.CreateAShr(value, type->getScalarSizeInBits() - 1);
    return builder_.CreateXor(builder_.CreateUDiv(builder_.CreateXor(value, sign), d), sign);
  }
  // floor(x / d) = (x + shift) / d - shift / d for a multiple `shift` of d that makes the numerator
  // non-negative. The sum has at most 64 bits, which the division takes without a sign.
  const int64_t shift = checked_mul(ceil_div(-range.lo, divisor), divisor);
  invariant(type->getScalarSizeInBits() == 64 || range.hi + shift <= INT32_MAX,
            "a lane division leaves 32 bits");
  Value* moved =
      builder_.CreateAdd(value, llvm::ConstantInt::get(type, static_cast<uint64_t>(shift)));
  return builder_.CreateSub(builder_.CreateUDiv(moved, d),
                            llvm::ConstantInt::get(type, static_cast<uint64_t>(shift / divisor)));
}

Affine IndexEmitter::without_lanes(const Affine& form) const {
  Affine plain(form.constant());
  for (size_t k = 0; k < form.size(); ++k)
    if (form.coefficient(k) != 0 && variables_[k].kind != Kind::Lanes)
      plain.set_coefficient(k, form.coefficient(k));
  return plain;
}

// The form's terms grouped by the depth of their variables, outermost first.
std::vector<std::pair<size_t, Affine>> IndexEmitter::by_depth(const Affine& form) const {
  std::map<size_t, Affine> groups;
  for (size_t k = 0; k < form.size(); ++k)
    if (form.coefficient(k) != 0)
      groups[variables_[k].depth].set_coefficient(k, form.coefficient(k));
  return {groups.begin(), groups.end()};
}

Value* IndexEmitter::scalar(const Affine& form) {
  Value* total = nullptr;
  Affine prefix;
  for (const auto& [depth, terms] : by_depth(form)) {
    prefix += terms;
    if (Value* const* known = sums_.find(prefix)) {
      total = *known;
      continue;
    }
    Value* sum = scopes_.at(depth, [&, &group = terms, outer = total] {
      Value* sum = outer;
      for (size_t k = 0; k < group.size(); ++k) {
        const int64_t c = group.coefficient(k);
        if (c == 0) continue;
        Value* term = variables_[k].value;
        if (c != 1)
          term = builder_.CreateMul(term, builder_.getInt64(static_cast<uint64_t>(c)), "", false,
                                    true);
        sum = sum ? builder_.CreateAdd(sum, term, "", false, true) : term;
      }
      return sum;
    });
    total = sums_.remember(prefix, sum, depth);
  }
  Value* constant = builder_.getInt64(static_cast<uint64_t>(form.constant()));
  if (!total) return constant;
  if (form.constant() == 0) return total;
  return scopes_.at(depth(form),
                    [&] { return builder_.CreateAdd(total, constant, "", false, true); });
}

Value* IndexEmitter::vector(const Affine& form, std::optional<unsigned> bits) {
  const unsigned width = bits ? *bits : fits_32(range(form)) ? 32 : 64;
  llvm::IntegerType* element = builder_.getIntNTy(width);
  auto* type = llvm::FixedVectorType::get(element, lanes_);
  Value* base = scalar(without_lanes(form));
  return scopes_.at(depth(form), [&] {
    Value* narrow = builder_.CreateTrunc(base, element);
    Value* total = builder_.CreateVectorSplat(lanes_, narrow);
    for (size_t k = 0; k < form.size(); ++k) {
      const int64_t c = form.coefficient(k);
      if (c == 0 || variables_[k].kind != Kind::Lanes) continue;
      Value* lanes;
      if (variables_[k].value) {
        lanes = builder_.CreateMul(builder_.CreateTrunc(variables_[k].value, type),
                                   llvm::ConstantInt::get(type, static_cast<uint64_t>(c), true));
      } else {
        llvm::SmallVector<llvm::Constant*, 64> steps;
        for (unsigned lane = 0; lane < lanes_; ++lane)
          steps.push_back(llvm::ConstantInt::getSigned(element, c * int64_t{lane}));
        lanes = llvm::ConstantVector::get(steps);
      }
      total = builder_.CreateAdd(total, lanes);
    }
    return total;
  });
}

Value* IndexEmitter::address(Value* pointer, size_t pointer_depth, llvm::Type* element,
                             const Affine& form) {
  Value* at = pointer;
  size_t depth_so_far = pointer_depth;
  Affine prefix;
  for (const auto& [depth, terms] : by_depth(without_lanes(form))) {
    prefix += terms;
    depth_so_far = std::max(depth_so_far, depth);
    const std::pair key(pointer, prefix);
    if (Value* const* known = addresses_.find(key)) {
      at = *known;
      continue;
    }
    Value* offset = scalar(terms);
    Value* moved = scopes_.at(
        depth_so_far, [&, from = at] { return builder_.CreateInBoundsGEP(element, from, offset); });
    at = addresses_.remember(key, moved, depth_so_far);
  }
  if (form.constant() == 0) return at;
  return scopes_.at(depth_so_far, [&] {
    return builder_.CreateInBoundsGEP(element, at,
                                      builder_.getInt64(static_cast<uint64_t>(form.constant())));
  });
}

// Instances ask the same of many points: one value, so that what it masks is one value, too.
Value* IndexEmitter::condition(const Affine& form, bool equality) {
  const Interval r = range(form);
  if (equality ? (r.lo == 0 && r.hi == 0) : r.lo >= 0) return builder_.getTrue();
  if (equality ? (r.lo > 0 || r.hi < 0) : r.hi < 0) return builder_.getFalse();
  FormMemo& memo = equality ? zero_ : not_negative_;
  if (Value* const* known = memo.find(form)) return *known;
  const auto [left, right] = compared_with_zero(form);
  const auto predicate = equality ? llvm::CmpInst::ICMP_EQ : llvm::CmpInst::ICMP_SGE;
  const size_t known_from = depth(form);
  Value* holds = scopes_.at(known_from, [&, left = left, right = right] {
    Value* with = right ? builder_.CreateVectorSplat(
                              lanes_, builder_.CreateTrunc(right, builder_.getInt32Ty()))
                        : llvm::Constant::getNullValue(left->getType());
    return builder_.CreateICmp(predicate, left, with);
  });
  return memo.remember(form, holds, known_from);
}

// A form as a value to compare with zero; or, where the lanes' part is a constant, that part and
// the number of the loops to compare it with.
std::pair<Value*, Value*> IndexEmitter::compared_with_zero(const Affine& form) {
  if (!in_lanes(form)) return {scalar(form), nullptr};
  const auto stride = lane_stride(form);
  if (!stride || !fits_32(Interval{*stride, *stride}) || !fits_32(range(-without_lanes(form))) ||
      !fits_32(Interval{-std::abs(*stride) * lanes_, std::abs(*stride) * lanes_}))
    return {vector(form), nullptr};
  llvm::SmallVector<llvm::Constant*, 64> steps;
  for (unsigned lane = 0; lane < lanes_; ++lane)
    steps.push_back(llvm::ConstantInt::getSigned(builder_.getInt32Ty(), *stride * lane));
  return {llvm::ConstantVector::get(steps), scalar(-without_lanes(form))};
}

Value* IndexEmitter::at_least_zero(const Affine& form) { return condition(form, false); }
Value* IndexEmitter::equals_zero(const Affine& form) { return condition(form, true); }

}  // namespace adjit::emit
