// runtime/expr/scalar.hpp -- the meaning of every operation on single values.
//
// Constant folding and the reference interpreter both use it; the emitter must agree with it (see
// op.hpp).
#pragma once

#include <cstdint>
#include <span>

#include "runtime/expr/dtype.hpp"
#include "runtime/expr/op.hpp"

namespace adjit::expr {

/// A value of some dtype (which travels beside it): integers and bool in `i` (sign-extended; uint8
/// zero-extended), every float type in `f` as the double of the same value.
struct Scalar {
  union {
    int64_t i;
    double f;
  };
  static Scalar of_int(int64_t v) {
    Scalar s;
    s.i = v;
    return s;
  }
  static Scalar of_float(double v) {
    Scalar s;
    s.f = v;
    return s;
  }
};

/// Rounds a double to the nearest value of a float dtype (half to even), or wraps an integer to its
/// width.
double round_to(double value, DType dtype);
int64_t wrap_to(int64_t value, DType dtype);
/// Saturating, truncating conversion of a float to an integer dtype; NaN gives 0.
int64_t saturate_to(double value, DType dtype);

/// The least and the greatest value of a dtype: the infinities of a float, the ends of an integer.
Scalar lowest_of(DType dtype);
Scalar highest_of(DType dtype);

/// Applies an operation. `operand` is the dtype of the operands (of the last for Select, of the
/// source for Cast), `result` that of the node. Float32 is computed in float, Float64 in double.
Scalar apply(Op op, DType operand, DType result, std::span<const Scalar> values);

/// Reads and writes one element of that dtype in memory.
Scalar load_element(const void* address, DType dtype);
void store_element(void* address, DType dtype, Scalar value);

}  // namespace adjit::expr
