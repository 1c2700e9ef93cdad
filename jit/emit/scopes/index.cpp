// jit/emit/scopes/index.cpp -- affine forms over loop variables as machine values.
#include "jit/emit/scopes/index.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "runtime/expr/floor_form.hpp"

namespace adjit::emit {

using llvm::Value;

namespace {

// floor(value / divisor) on i32 or i64, scalar or vector.
Value* divide(llvm::IRBuilder<>& builder, Value* value, Interval range, int64_t divisor) {
  llvm::Type* type = value->getType();
  const bool power = std::has_single_bit(static_cast<uint64_t>(divisor));
  if (power)
    return builder.CreateAShr(
        value, llvm::ConstantInt::get(
                   type, static_cast<uint64_t>(std::countr_zero(static_cast<uint64_t>(divisor)))));
  Value* d = llvm::ConstantInt::get(type, static_cast<uint64_t>(divisor));
  if (range.lo >= 0) return builder.CreateUDiv(value, d);
  if (range.lo < divisor - INT64_MAX) {
    // The shift below may leave 64 bits. With s = -1 where x < 0, else 0: ~floor(x / d) = ~x / d.
    Value* sign = builder.CreateAShr(value, type->getScalarSizeInBits() - 1);
    return builder.CreateXor(builder.CreateUDiv(builder.CreateXor(value, sign), d), sign);
  }
  // floor(x / d) = (x + shift) / d - shift / d for a multiple `shift` of d that makes the numerator
  // non-negative. The sum has at most 64 bits, which the division takes without a sign.
  const int64_t shift = checked_mul(ceil_div(-range.lo, divisor), divisor);
  invariant(type->getScalarSizeInBits() == 64 || range.hi + shift <= INT32_MAX,
            "a division leaves 32 bits");
  Value* moved =
      builder.CreateAdd(value, llvm::ConstantInt::get(type, static_cast<uint64_t>(shift)));
  return builder.CreateSub(builder.CreateUDiv(moved, d),
                           llvm::ConstantInt::get(type, static_cast<uint64_t>(shift / divisor)));
}

// 0, step, 2 * step, ...: a number in each lane.
llvm::Constant* lane_steps(unsigned lanes, int64_t step, llvm::IntegerType* type) {
  llvm::SmallVector<llvm::Constant*, 64> steps;
  for (unsigned lane = 0; lane < lanes; ++lane)
    steps.push_back(llvm::ConstantInt::getSigned(type, step * int64_t{lane}));
  return llvm::ConstantVector::get(steps);
}

}  // namespace

IndexEmitter::IndexEmitter(llvm::IRBuilder<>& builder, Scopes& scopes, KernelVariables& variables,
                           bool narrow)
    : builder_(builder),
      scopes_(scopes),
      variables_(variables),
      narrow_(narrow),
      loop_variables_(variables.count()),
      values_(variables.count()),
      quotients_(scopes),
      sums_(scopes),
      narrow_sums_(scopes),
      widened_(scopes),
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

size_t IndexEmitter::FormHash::operator()(const std::pair<int64_t, Affine>& divided) const {
  return (*this)(divided.second) ^ static_cast<uint64_t>(divided.first) * 0xc2b2ae3d27d4eb4full;
}

void IndexEmitter::bind_scalar(size_t variable, Value* trip, Interval trips, int64_t step) {
  variables_.bind_scalar(variable, trips, step, scopes_.depth());
  values_[variable] = trip;
}

Affine IndexEmitter::floor_div(const Affine& form, int64_t divisor) {
  const FloorForm floor =
      floor_form(form, divisor, [&](const Affine& f) { return variables_.range(f); });
  if (floor.rest.is_constant()) return floor.whole;
  return floor.whole + Affine::variable(quotient(floor.rest, floor.divisor));
}

size_t IndexEmitter::quotient(const Affine& numerator, int64_t divisor) {
  const std::pair key(divisor, numerator);
  const size_t known_from = variables_.depth(numerator);
  // A variable bound again further inside holds everything that depends on it there.
  if (const size_t* known = quotients_.find(key);
      known && variables_.depth(Affine::variable(*known)) == known_from)
    return *known;
  const Interval r = variables_.range(numerator);
  // The quotient of a numerator that may be negative needs head room for its shift (see divide).
  const bool small = fits_32(r) && divisor <= INT32_MAX &&
                     fits_32({r.lo, r.hi - std::min<int64_t>(r.lo, 0) + divisor});
  if (variables_.in_lanes(numerator)) {
    Value* numerators = vector(numerator, small ? 32 : 64);
    values_.push_back(scopes_.at(known_from, [&] {
      Value* quotients = divide(builder_, numerators, r, divisor);
      return builder_.CreateSExt(
          quotients, llvm::FixedVectorType::get(builder_.getInt64Ty(), variables_.lanes()));
    }));
  } else {
    Value* value = sum(numerator, narrow_ && small ? 32 : 64);
    values_.push_back(scopes_.at(known_from, [&] { return divide(builder_, value, r, divisor); }));
  }
  // A dead quotient's number is not reused: forms that mention it are dead, too.
  return quotients_.remember(key, variables_.add_quotient(numerator, divisor), known_from);
}

Value* IndexEmitter::number(const Affine& form) {
  return sum(form, narrow_ && fits_32(variables_.range(form)) ? 32 : 64);
}

Value* IndexEmitter::scalar(const Affine& form) {
  Value* value = number(form);
  if (value->getType()->isIntegerTy(64)) return value;
  if (Value* const* known = widened_.find(form)) return *known;
  const size_t depth = variables_.depth(form);
  const bool positive = variables_.range(form).lo >= 0;
  Value* wide = scopes_.at(depth, [&] {
    return positive ? builder_.CreateZExt(value, builder_.getInt64Ty())
                    : builder_.CreateSExt(value, builder_.getInt64Ty());
  });
  return widened_.remember(form, wide, depth);
}

// The value of a variable as another type.
Value* IndexEmitter::as_wide_as(size_t variable, llvm::IntegerType* type) {
  if (values_[variable]->getType() == type) return values_[variable];
  const bool positive = variables_.range(Affine::variable(variable)).lo >= 0;
  return positive ? builder_.CreateZExtOrTrunc(values_[variable], type)
                  : builder_.CreateSExtOrTrunc(values_[variable], type);
}

// A form in so many bits. Terms may leave 32 of them where the form does not: they come back.
Value* IndexEmitter::sum(const Affine& form, unsigned bits) {
  FormMemo& sums = bits == 32 ? narrow_sums_ : sums_;
  llvm::IntegerType* type = builder_.getIntNTy(bits);
  const bool exact = bits == 64;
  const auto constant_of = [&](int64_t number) {
    return llvm::ConstantInt::get(type, static_cast<uint64_t>(number), true);
  };
  Value* total = nullptr;
  Affine prefix;
  for (const auto& [depth, terms] : by_depth(variables_, form)) {
    prefix += terms;
    if (Value* const* known = sums.find(prefix)) {
      total = *known;
      continue;
    }
    Value* sum = scopes_.at(depth, [&, &group = terms, outer = total] {
      Value* sum = outer;
      for (size_t k = 0; k < group.size(); ++k) {
        const int64_t c = group.coefficient(k);
        if (c == 0) continue;
        Value* term = as_wide_as(k, type);
        if (c != 1) term = builder_.CreateMul(term, constant_of(c), "", false, exact);
        sum = sum ? builder_.CreateAdd(sum, term, "", false, exact) : term;
      }
      return sum;
    });
    total = sums.remember(prefix, sum, depth);
  }
  Value* constant = constant_of(form.constant());
  if (!total) return constant;
  if (form.constant() == 0) return total;
  return scopes_.at(variables_.depth(form),
                    [&] { return builder_.CreateAdd(total, constant, "", false, exact); });
}

Value* IndexEmitter::vector(const Affine& form, std::optional<unsigned> bits) {
  const unsigned width = bits ? *bits : fits_32(variables_.range(form)) ? 32 : 64;
  llvm::IntegerType* element = builder_.getIntNTy(width);
  auto* type = llvm::FixedVectorType::get(element, variables_.lanes());
  const Affine same = variables_.without_lanes(form), different = form - same;
  Value* base = number(same);
  return scopes_.at(variables_.depth(form), [&] {
    Value* sized = builder_.CreateSExtOrTrunc(base, element);
    Value* total = builder_.CreateVectorSplat(variables_.lanes(), sized);
    for (size_t k = 0; k < different.size(); ++k)
      if (const int64_t c = different.coefficient(k); c != 0)
        total = builder_.CreateAdd(
            total,
            k < loop_variables_
                ? lane_steps(variables_.lanes(), c, element)
                : builder_.CreateMul(builder_.CreateTrunc(values_[k], type),
                                     llvm::ConstantInt::get(type, static_cast<uint64_t>(c), true)));
    return total;
  });
}

Value* IndexEmitter::address(Value* pointer, size_t pointer_depth, llvm::Type* element,
                             const Affine& form) {
  Value* at = pointer;
  size_t depth_so_far = pointer_depth;
  Affine prefix;
  for (const auto& [depth, terms] : by_depth(variables_, variables_.without_lanes(form))) {
    prefix += terms;
    depth_so_far = std::max(depth_so_far, depth);
    const std::pair key(pointer, prefix);
    if (Value* const* known = addresses_.find(key)) {
      at = *known;
      continue;
    }
    Value* offset = number(terms);
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
  const Interval r = variables_.range(form);
  if (equality ? (r.lo == 0 && r.hi == 0) : r.lo >= 0) return builder_.getTrue();
  if (equality ? (r.lo > 0 || r.hi < 0) : r.hi < 0) return builder_.getFalse();
  FormMemo& memo = equality ? zero_ : not_negative_;
  if (Value* const* known = memo.find(form)) return *known;
  const auto [left, right] = compared_with_zero(form);
  const auto predicate = equality ? llvm::CmpInst::ICMP_EQ : llvm::CmpInst::ICMP_SGE;
  const size_t known_from = variables_.depth(form);
  Value* holds = scopes_.at(known_from, [&, left = left, right = right] {
    Value* with = right
                      ? builder_.CreateVectorSplat(
                            variables_.lanes(), builder_.CreateTrunc(right, builder_.getInt32Ty()))
                      : llvm::Constant::getNullValue(left->getType());
    return builder_.CreateICmp(predicate, left, with);
  });
  return memo.remember(form, holds, known_from);
}

// A form as a value to compare with zero; or, where the lanes' part is a constant, that part and
// the number of the loops to compare it with.
std::pair<Value*, Value*> IndexEmitter::compared_with_zero(const Affine& form) {
  if (!variables_.in_lanes(form)) return {number(form), nullptr};
  const auto stride = variables_.lane_stride(form);
  if (!stride || !fits_32(Interval{*stride, *stride}) ||
      !fits_32(variables_.range(-variables_.without_lanes(form))) ||
      !fits_32(Interval{-std::abs(*stride) * variables_.lanes(),
                        std::abs(*stride) * variables_.lanes()}))
    return {vector(form), nullptr};
  return {lane_steps(variables_.lanes(), *stride, builder_.getInt32Ty()),
          number(-variables_.without_lanes(form))};
}

Value* IndexEmitter::at_least_zero(const Affine& form) { return condition(form, false); }
Value* IndexEmitter::equals_zero(const Affine& form) { return condition(form, true); }

}  // namespace adjit::emit
