// jit/emit/operations/operations.cpp -- operations on machine values: floats through VectorMath,
// integers and casts here.
#include "jit/emit/operations/operations.hpp"

#include <cmath>
#include <string>

#include "jit/emit/math/elementary.hpp"
#include "jit/emit/operations/truncation.hpp"
#include "runtime/expr/error.hpp"

namespace adjit::emit {
namespace {

using llvm::Value;
using Builder = llvm::IRBuilder<>;
using Values = llvm::ArrayRef<Value*>;

bool is_unsigned(DType dtype) { return dtype == DType::UInt8 || dtype == DType::Bool; }

// The type of the same shape as `like` with another element type.
llvm::Type* shaped(llvm::Type* element, Value* like) {
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like->getType()))
    return llvm::FixedVectorType::get(element, vector->getNumElements());
  return element;
}

llvm::Type* element_type(Builder& builder, DType dtype) {
  if (dtype == DType::Bool) return builder.getInt1Ty();
  if (dtype == DType::Float64) return builder.getDoubleTy();
  if (is_float(dtype)) return builder.getFloatTy();
  return builder.getIntNTy(static_cast<unsigned>(8 * size_of(dtype)));
}

Value* zero_like(Value* v) { return llvm::Constant::getNullValue(v->getType()); }
Value* constant_like(Value* v, int64_t value) {
  return llvm::ConstantInt::getSigned(v->getType(), value);
}

// What is one instruction of LLVM; else null.
Value* float_instruction(Builder& b, Op op, Values v) {
  switch (op) {
    case Op::Neg: return b.CreateFNeg(v[0]);
    case Op::Add: return b.CreateFAdd(v[0], v[1]);
    case Op::Sub: return b.CreateFSub(v[0], v[1]);
    case Op::Mul: return b.CreateFMul(v[0], v[1]);
    case Op::Div: return b.CreateFDiv(v[0], v[1]);
    case Op::Eq: return b.CreateFCmpOEQ(v[0], v[1]);
    case Op::Ne: return b.CreateFCmpUNE(v[0], v[1]);
    case Op::Lt: return b.CreateFCmpOLT(v[0], v[1]);
    case Op::Le: return b.CreateFCmpOLE(v[0], v[1]);
    default: return nullptr;
  }
}

Value* float_operation(Builder& b, VectorMath& math, Op op, Values v) {
  if (Value* instruction = float_instruction(b, op, v)) return instruction;
  switch (op) {
    case Op::Abs: return math(emit::fabs, v[0]);
    case Op::Sign: return math(elementary::sign, v[0]);
    case Op::Exp: return math(elementary::exp, v[0]);
    case Op::Exp2: return math(elementary::exp2, v[0]);
    case Op::Expm1: return math(elementary::expm1, v[0]);
    case Op::Log: return math(elementary::log, v[0]);
    case Op::Log2: return math(elementary::log2, v[0]);
    case Op::Log10: return math(elementary::log10, v[0]);
    case Op::Log1p: return math(elementary::log1p, v[0]);
    case Op::Sqrt: return math(elementary::sqrt, v[0]);
    case Op::Rsqrt: return math(elementary::rsqrt, v[0]);
    case Op::Sin: return math(elementary::sin, v[0]);
    case Op::Cos: return math(elementary::cos, v[0]);
    case Op::Tan: return math(elementary::tan, v[0]);
    case Op::Asin: return math(elementary::asin, v[0]);
    case Op::Acos: return math(elementary::acos, v[0]);
    case Op::Atan: return math(elementary::atan, v[0]);
    case Op::Sinh: return math(elementary::sinh, v[0]);
    case Op::Cosh: return math(elementary::cosh, v[0]);
    case Op::Tanh: return math(elementary::tanh, v[0]);
    case Op::Asinh: return math(elementary::asinh, v[0]);
    case Op::Acosh: return math(elementary::acosh, v[0]);
    case Op::Atanh: return math(elementary::atanh, v[0]);
    case Op::Sigmoid: return math(elementary::sigmoid, v[0]);
    case Op::Erf: return math(elementary::erf, v[0]);
    case Op::Erfc: return math(elementary::erfc, v[0]);
    case Op::Erfinv: return math(elementary::erfinv, v[0]);
    case Op::Lgamma: return math(elementary::lgamma, v[0]);
    case Op::Digamma: return math(elementary::digamma, v[0]);
    case Op::Floor: return math(elementary::floor, v[0]);
    case Op::Ceil: return math(elementary::ceil, v[0]);
    case Op::Trunc: return math(elementary::trunc, v[0]);
    case Op::Round: return math(elementary::round, v[0]);
    case Op::IsNan: return math(emit::is_nan, v[0]);
    case Op::IsInf: return math(elementary::is_inf, v[0]);
    case Op::FloorDiv: return math(elementary::floor_div, v[0], v[1]);
    case Op::Mod: return math(elementary::floor_mod, v[0], v[1]);
    case Op::Fmod: return math(elementary::fmod, v[0], v[1]);
    case Op::Polygamma: return math(elementary::polygamma, v[0], v[1]);
    case Op::Min: return math(elementary::minimum, v[0], v[1]);
    case Op::Max: return math(elementary::maximum, v[0], v[1]);
    case Op::Pow: return math(elementary::pow, v[0], v[1]);
    case Op::Atan2: return math(elementary::atan2, v[0], v[1]);
    case Op::Hypot: return math(elementary::hypot, v[0], v[1]);
    case Op::Fma: return math(emit::multiply_add, v[0], v[1], v[2]);
    default: break;
  }
  throw Error(ErrorCode::Compile,
              "'" + std::string(info(op).name) + "' has no code for float types");
}

// The quotient, cut towards zero, of a divisor that is not 0. There is no vector instruction for
// it: lanes of up to 32 bits are divided as floats of twice as many. A quotient of n bits is exact
// or further from the next integer than the division rounds. A constant divisor is a
// multiplication; on a GPU lanes are numbers each by itself.
Value* quotient(Builder& b, bool gpu, bool is_unsigned, Value* a, Value* d) {
  const unsigned bits = a->getType()->getScalarSizeInBits();
  if (!a->getType()->isVectorTy() || bits > 32 || gpu || llvm::isa<llvm::Constant>(d))
    return is_unsigned ? b.CreateUDiv(a, d) : b.CreateSDiv(a, d);
  llvm::Type* real = shaped(bits == 32 ? b.getDoubleTy() : b.getFloatTy(), a);
  llvm::Type* whole = shaped(b.getInt32Ty(), a);
  const auto converted = [&](Value* v) {
    return b.CreateSIToFP(is_unsigned ? b.CreateZExt(v, whole) : b.CreateSExt(v, whole), real);
  };
  Value* divisor = converted(d);
  Value* ratio = b.CreateFDiv(converted(a), divisor);
  return b.CreateTrunc(b.CreateFPToSI(ratio, whole), a->getType());
}

// Quotient and remainder without traps: a zero divisor gives 0, and so does the one overflow,
// lowest / -1 (whose remainder is 0 and whose quotient wraps to itself).
Value* divide(Builder& b, bool gpu, Op op, DType dtype, Value* a, Value* d) {
  Value* by_zero = b.CreateICmpEQ(d, zero_like(d));
  if (is_unsigned(dtype)) {
    Value* safe = b.CreateSelect(by_zero, constant_like(d, 1), d);
    Value* whole = quotient(b, gpu, true, a, safe);
    Value* result = op == Op::FloorDiv ? whole : b.CreateSub(a, b.CreateMul(whole, safe));
    return b.CreateSelect(by_zero, zero_like(a), result);
  }
  Value* minus_one = b.CreateICmpEQ(d, constant_like(d, -1));
  Value* safe = b.CreateSelect(b.CreateOr(by_zero, minus_one), constant_like(d, 1), d);
  Value* whole = quotient(b, gpu, false, a, safe);
  Value* remainder = b.CreateSub(a, b.CreateMul(whole, safe));
  // The truncated remainder has the sign of a; the floored one that of d.
  Value* signs = b.CreateICmpSLT(b.CreateXor(remainder, safe), zero_like(a));
  Value* differs = b.CreateAnd(b.CreateICmpNE(remainder, zero_like(a)), signs);
  Value* result;
  if (op == Op::Fmod) {
    result = remainder;
  } else if (op == Op::Mod) {
    result = b.CreateSelect(differs, b.CreateAdd(remainder, safe), remainder);
  } else {
    Value* floored = b.CreateSelect(differs, b.CreateSub(whole, constant_like(a, 1)), whole);
    result = b.CreateSelect(minus_one, b.CreateNeg(a), floored);
  }
  return b.CreateSelect(by_zero, zero_like(a), result);
}

Value* shift(Builder& b, Op op, DType dtype, Value* a, Value* by) {
  const int64_t width = static_cast<int64_t>(8 * size_of(dtype));
  Value* inside = b.CreateICmpULT(by, constant_like(by, width));
  Value* safe = b.CreateSelect(inside, by, zero_like(by));
  if (op == Op::ShiftLeft) return b.CreateSelect(inside, b.CreateShl(a, safe), zero_like(a));
  if (is_unsigned(dtype)) return b.CreateSelect(inside, b.CreateLShr(a, safe), zero_like(a));
  Value* sign = b.CreateAShr(a, constant_like(a, width - 1));
  return b.CreateSelect(inside, b.CreateAShr(a, safe), sign);
}

// By squaring, unrolled over the bits of the exponent's width.
Value* power(Builder& b, DType dtype, Value* base, Value* exponent) {
  Value* one = constant_like(base, 1);
  Value* result = one;
  Value* square = base;
  const int bits = static_cast<int>(8 * size_of(dtype));
  for (int bit = 0; bit < bits; ++bit) {
    Value* wanted = b.CreateTrunc(b.CreateLShr(exponent, constant_like(exponent, bit)),
                                  shaped(b.getInt1Ty(), exponent));
    result = b.CreateSelect(wanted, b.CreateMul(result, square), result);
    square = b.CreateMul(square, square);
  }
  if (is_unsigned(dtype)) return result;
  Value* odd = b.CreateTrunc(exponent, shaped(b.getInt1Ty(), exponent));
  Value* minus_one = constant_like(base, -1);
  Value* of_minus_one = b.CreateSelect(odd, minus_one, one);
  Value* of_others = b.CreateSelect(b.CreateICmpEQ(base, minus_one), of_minus_one, zero_like(base));
  Value* negative = b.CreateSelect(b.CreateICmpEQ(base, one), one, of_others);
  return b.CreateSelect(b.CreateICmpSLT(exponent, zero_like(exponent)), negative, result);
}

Value* compare(Builder& b, Op op, DType dtype, Values v) {
  const bool u = is_unsigned(dtype);
  switch (op) {
    case Op::Eq: return b.CreateICmpEQ(v[0], v[1]);
    case Op::Ne: return b.CreateICmpNE(v[0], v[1]);
    case Op::Lt: return u ? b.CreateICmpULT(v[0], v[1]) : b.CreateICmpSLT(v[0], v[1]);
    default: return u ? b.CreateICmpULE(v[0], v[1]) : b.CreateICmpSLE(v[0], v[1]);
  }
}

// Bool arithmetic, where 0 and 1 are integers whose result is "not zero" again.
Value* bool_operation(Builder& b, Op op, Values v) {
  switch (op) {
    case Op::Neg:
    case Op::Abs:
    case Op::Sign: return v[0];
    case Op::Not:
    case Op::BitNot: return b.CreateNot(v[0]);
    case Op::Add:
    case Op::Max:
    case Op::Or:
    case Op::BitOr: return b.CreateOr(v[0], v[1]);
    case Op::Mul:
    case Op::Min:
    case Op::And:
    case Op::FloorDiv:
    case Op::BitAnd: return b.CreateAnd(v[0], v[1]);
    case Op::Sub:
    case Op::BitXor: return b.CreateXor(v[0], v[1]);
    case Op::Mod:
    case Op::Fmod: return zero_like(v[0]);
    case Op::Fma: return b.CreateOr(b.CreateAnd(v[0], v[1]), v[2]);
    case Op::Pow: return b.CreateOr(v[0], b.CreateNot(v[1]));
    case Op::ShiftLeft: return v[0];
    case Op::ShiftRight: return b.CreateAnd(v[0], b.CreateNot(v[1]));
    default: break;
  }
  throw Error(ErrorCode::Compile, "'" + std::string(info(op).name) + "' has no code for bool");
}

Value* integer_operation(Builder& b, bool gpu, Op op, DType dtype, Values v) {
  const bool u = is_unsigned(dtype);
  switch (op) {
    case Op::Neg: return b.CreateNeg(v[0]);
    case Op::Abs: {
      if (u) return v[0];
      Value* negated = b.CreateNeg(v[0]);
      return b.CreateSelect(b.CreateICmpSLT(v[0], zero_like(v[0])), negated, v[0]);
    }
    case Op::Sign: {
      Value* positive = b.CreateZExt(
          u ? b.CreateICmpNE(v[0], zero_like(v[0])) : b.CreateICmpSGT(v[0], zero_like(v[0])),
          v[0]->getType());
      if (u) return positive;
      return b.CreateSub(positive,
                         b.CreateZExt(b.CreateICmpSLT(v[0], zero_like(v[0])), v[0]->getType()));
    }
    case Op::BitNot: return b.CreateNot(v[0]);
    case Op::Add: return b.CreateAdd(v[0], v[1]);
    case Op::Sub: return b.CreateSub(v[0], v[1]);
    case Op::Mul: return b.CreateMul(v[0], v[1]);
    case Op::FloorDiv:
    case Op::Mod:
    case Op::Fmod: return divide(b, gpu, op, dtype, v[0], v[1]);
    case Op::Min: return b.CreateSelect(compare(b, Op::Lt, dtype, v), v[0], v[1]);
    case Op::Max: return b.CreateSelect(compare(b, Op::Lt, dtype, v), v[1], v[0]);
    case Op::Pow: return power(b, dtype, v[0], v[1]);
    case Op::BitAnd: return b.CreateAnd(v[0], v[1]);
    case Op::BitOr: return b.CreateOr(v[0], v[1]);
    case Op::BitXor: return b.CreateXor(v[0], v[1]);
    case Op::ShiftLeft:
    case Op::ShiftRight: return shift(b, op, dtype, v[0], v[1]);
    case Op::Fma: return b.CreateAdd(b.CreateMul(v[0], v[1]), v[2]);
    default: break;
  }
  throw Error(ErrorCode::Compile, "'" + std::string(info(op).name) + "' has no code for " +
                                      std::string(name_of(dtype)));
}

bool is_half(DType dtype) { return dtype == DType::Float16 || dtype == DType::BFloat16; }

// Half types live in float registers: rounding through memory form makes the value the half's.
Value* through_half(VectorMath& math, DType to, Value* v) {
  return to == DType::Float16 ? math.extend_half(math.truncate_half(v))
                              : math.extend_bfloat(math.truncate_bfloat(v));
}

// Towards zero; what is too large or too small gives the last integer, NaN gives 0. (LLVM takes its
// own saturating conversions of vectors apart into lanes.)
Value* truncate_saturating(Builder& b, bool gpu, DType to, llvm::Type* type, Value* v) {
  if (gpu && !type->isVectorTy() && (to == DType::Int32 || to == DType::Int64))
    return truncated_on_gpu(b, v, type);
  const auto bits = static_cast<int>(8 * size_of(to));
  const bool is_signed = !is_unsigned(to);
  Value* limit = llvm::ConstantFP::get(v->getType(), std::ldexp(1.0, is_signed ? bits - 1 : bits));
  Value* lowest = llvm::ConstantFP::get(v->getType(), is_signed ? -std::ldexp(1.0, bits - 1) : 0.0);
  Value* above = b.CreateFCmpOGE(v, limit);
  Value* below = b.CreateFCmpOLT(v, lowest);
  Value* unordered = b.CreateFCmpUNO(v, v);
  Value* outside = b.CreateOr(b.CreateOr(above, below), unordered);
  Value* inside = b.CreateSelect(outside, zero_like(v), v);
  Value* result = is_signed ? b.CreateFPToSI(inside, type) : b.CreateFPToUI(inside, type);
  const auto end = [&](const llvm::APInt& value) { return llvm::ConstantInt::get(type, value); };
  const auto width = static_cast<unsigned>(bits);
  result = b.CreateSelect(
      above,
      end(is_signed ? llvm::APInt::getSignedMaxValue(width) : llvm::APInt::getMaxValue(width)),
      result);
  return b.CreateSelect(
      below, end(is_signed ? llvm::APInt::getSignedMinValue(width) : llvm::APInt(width, 0)),
      result);
}

Value* cast(Builder& b, VectorMath& math, DType from, DType to, Value* v) {
  llvm::Type* type = shaped(element_type(b, to), v);
  if (is_float(from)) {
    if (to == DType::Bool) return b.CreateFCmpUNE(v, zero_like(v));
    if (!is_float(to)) return truncate_saturating(b, math.features().gpu, to, type, v);
    if (is_half(to)) return through_half(math, to, v);
    if (to == DType::Float64 && from != DType::Float64) return b.CreateFPExt(v, type);
    return from == DType::Float64 && to != DType::Float64 ? b.CreateFPTrunc(v, type) : v;
  }
  if (to == DType::Bool) return b.CreateICmpNE(v, zero_like(v));
  if (is_float(to)) {
    // By way of double, where float would round before the half type does.
    if (is_half(to) && size_of(from) > 2) type = shaped(b.getDoubleTy(), v);
    Value* value = is_unsigned(from) ? b.CreateUIToFP(v, type) : b.CreateSIToFP(v, type);
    return is_half(to) ? through_half(math, to, value) : value;
  }
  return is_unsigned(from) ? b.CreateZExtOrTrunc(v, type) : b.CreateSExtOrTrunc(v, type);
}

}  // namespace

namespace {

// The number of 32 bits that one of 64 is made of, or that a constant fits; else null.
Value* in_32_bits(Builder& b, Value* v) {
  if (auto* widened = llvm::dyn_cast<llvm::SExtInst>(v);
      widened && widened->getOperand(0)->getType()->isIntegerTy(32))
    return widened->getOperand(0);
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(v);
  return constant && constant->getValue().isSignedIntN(32)
             ? b.getInt32(static_cast<uint32_t>(constant->getSExtValue()))
             : nullptr;
}

// GPUs compare 64 bits with two instructions.
Value* compare_on_gpu(Builder& b, Op op, DType dtype, Values v) {
  Value* const near[] = {in_32_bits(b, v[0]), in_32_bits(b, v[1])};
  if (dtype == DType::Int64 && near[0] && near[1]) return compare(b, op, DType::Int32, near);
  return compare(b, op, dtype, v);
}

}  // namespace

Value* emit_operation(Builder& builder, VectorMath& math, Op op, DType operand, DType result,
                      Values values) {
  if (op == Op::Cast) return cast(builder, math, operand, result, values[0]);
  if (op == Op::Select) return builder.CreateSelect(values[0], values[1], values[2]);
  if (is_float(operand)) return float_operation(builder, math, op, values);
  if (info(op).rule == TypeRule::Comparison)
    return math.features().gpu ? compare_on_gpu(builder, op, operand, values)
                               : compare(builder, op, operand, values);
  if (operand == DType::Bool) return bool_operation(builder, op, values);
  return integer_operation(builder, math.features().gpu, op, operand, values);
}

}  // namespace adjit::emit
