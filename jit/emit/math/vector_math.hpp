// jit/emit/math/vector_math.hpp -- elementary functions as IR: polynomials on vectors of any
// length.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "jit/emit/ir/lanes.hpp"
#include "jit/emit/ir/target.hpp"

namespace adjit::emit {

/// Emits elementary functions at the builder's position. Arguments are float or double, scalars or
/// fixed vectors of any length, and the result has the type of the argument. A function of one
/// argument gives the same bits for a value whatever the vector length and position, so that a
/// value recomputed is the value saved.
///
/// No fast-math flags are used or needed. NaN gives NaN; infinities and signed zeros, as arguments
/// and as results, follow C's Annex F, and so do subnormal numbers unless the mode flushes them
/// (jit/cpu/float_mode.hpp). The builder stays in its basic block.
/// sin, cos and tan become calls of functions that they add to the module, because they
/// branch (outlined.hpp): arguments beyond 2^15 (float) or 2^30 (double) are left to the C library.
/// So do fmod and floor_mod, for quotients that no number of the type holds. lgamma, digamma,
/// polygamma and erfinv have no polynomial: they store the vector, call
/// `adjit_math_<name>_f32|f64(values, count)` of our own table (jit/cpu/math_symbols.hpp) and load
/// it back. Where the features say that there is no library, all of these become calls, lane by
/// lane, of scalar functions of the module (scalar_functions.hpp) with the same bounds, which need
/// FMA.
///
/// Error bounds in units in the last place, which the tests assert; the largest
/// found among all floats of the exponents where a function bends and 12 million doubles is in
/// brackets. Without FMA add up
/// to 0.9. Nanoseconds per element on Zen 4 (AVX-512, CodegenLevel::Less, from
/// L1).
///
///              float            double           ns f32  f64
///     exp      1.0 (0.99)       1.0 (0.98)       0.20    0.59    float with AVX-512: a table
///     exp2     1.0 (0.80)       1.0 (0.81)       0.15    0.47
///     expm1    1.5 (1.44)       1.8 (1.43)       0.23    0.68
///     log      1.0 (0.92)       1.0 (0.88)       0.38    1.00
///     log2     1.5 (0.95)       1.0 (0.91)       0.40    1.01
///     log10    1.0 (0.91)       1.0 (0.92)       0.43    1.08
///     log1p    1.6 (1.27)       1.5 (1.41)       0.46    1.14
///     pow      0.6 (0.51)       1.2 (1.09)
///     sigmoid  2.5 (2.22)       1.5 (1.37)       0.29    1.13
///     rsqrt    1.5 (1.50)       1.5 (1.48)       0.28    0.85
///     sin      1.6 (1.53)       1.0 (0.83)       0.33    1.11
///     cos      1.6 (1.53)       1.0 (0.83)       0.33    1.11
///     tan      3.0 (2.76)       2.5 (2.35)       0.38    1.24
///     asin     1.8 (1.68)       1.6 (1.60)       0.27    0.87
///     acos     1.5 (1.14)       1.5 (1.12)       0.31    0.98
///     atan     1.5 (1.21)       1.5 (1.20)       0.33    1.20
///     atan2    2.0 (1.46)       2.0 (1.47)
///     hypot    1.5              1.5
///     sinh     1.8 (1.62)       1.8 (1.62)       0.38    1.11
///     cosh     1.6 (1.45)       1.6 (1.44)       0.27    0.79
///     tanh     1.5 (1.37)       1.3 (1.27)       0.40    1.11
///     asinh    2.0 (1.82)       1.8 (1.77)       0.88    2.40
///     acosh    2.0 (1.82)       1.8 (1.38)       0.74    1.86
///     atanh    2.2 (1.72)       2.0 (1.79)       0.70    1.73
///     erf      1.2 (1.12)       1.2 (0.99)       0.57    2.39
///     erfc     3.5 (3.29)       3.5 (3.41)       0.66    2.40
///
/// Constant exponents that are quarters from -1.75 to 1.75 make square roots: at most 4.0 (3.84).
/// Square root, fma, the roundings and fmod are exact or correctly rounded.
class VectorMath {
 public:
  /// The builder must outlive this.
  VectorMath(llvm::IRBuilder<>& builder, const TargetFeatures& features);
  VectorMath(const VectorMath&) = delete;
  VectorMath& operator=(const VectorMath&) = delete;

  const TargetFeatures& features() const { return features_; }

  /// A formula of elementary.hpp, or of the operators on lanes.
  using Unary = Floats (*)(Floats);
  using Binary = Floats (*)(Floats, Floats);
  using Ternary = Floats (*)(Floats, Floats, Floats);
  using Test = Mask (*)(Floats);  // gives i1
  llvm::Value* operator()(Unary formula, llvm::Value* x);
  llvm::Value* operator()(Test formula, llvm::Value* x);
  llvm::Value* operator()(Binary formula, llvm::Value* a, llvm::Value* b);
  llvm::Value* operator()(Ternary formula, llvm::Value* a, llvm::Value* b, llvm::Value* c);

  /// What many numerators are divided by, made ready once: multiples of it and its reciprocal.
  struct Divisor {
    llvm::Value* scale;  // of numerators: a power of two with the divisor's sign; null: 1
    llvm::Value* magnitude;
    llvm::Value* reciprocal;
  };
  /// Needs FMA.
  Divisor divisor(llvm::Value* d);
  /// x / d, the same bits as by a division: a product with the reciprocal, corrected by its own
  /// remainder (Markstein, IBM J. Res. Dev. 34, 1990). Where numerator or quotient is below 2^-100
  /// (float) or 2^-967 (double) it is within 1.5 units, and the largest finite quotient may be
  /// infinite.
  llvm::Value* divided(llvm::Value* x, const Divisor& divisor);

  // Half types lie in memory as i16. Widening is exact; narrowing rounds to nearest, half to even,
  // and keeps NaN.
  llvm::Value* extend_half(llvm::Value* bits);       // i16 to float
  llvm::Value* extend_bfloat(llvm::Value* bits);     // i16 to float
  llvm::Value* truncate_half(llvm::Value* value);    // float or double to i16; rounds once
  llvm::Value* truncate_bfloat(llvm::Value* value);  // the same

 private:
  TargetFeatures features_;
  LaneContext context_;
};

}  // namespace adjit::emit
