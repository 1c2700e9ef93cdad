// runtime/trace/promotion.hpp -- the dtype of what operands make together: the one rule behind
// operators and index notation (docs/promotion.md).
//
// Worked examples:
//   float32 with int64 gives float32       int8 with uint8 gives int16
//   float32 with a Python 0.5 gives float32     int64 with a Python 0.5 gives float64, weak
//   float32 with float64 is an error       Python 1 with Python 0.5 gives float64, weak
#pragma once

#include <span>
#include <string>

#include "runtime/expr/dtype.hpp"

namespace adjit::trace {

/// The dtype of an operand, and whether it gives way: Python numbers are weak, so is what is made
/// of weak operands only. Weak numbers are held as bool, int64, float64.
struct OperandType {
  DType dtype = DType::Bool;
  bool weak = false;
  bool operator==(const OperandType&) const = default;
};

/// The type that operands are brought to, bool < integers < floats: the float among them, whatever
/// integers, bools and weak numbers stand beside it; without a float the narrowest integer that
/// holds all that are not weak. Integers beside weak floats only make a weak float. No operands
/// make a bool. ErrorCode::DType for two float types that are not weak.
OperandType promoted(std::span<const OperandType> operands);

/// What averages of integers and bools are: a weak float64. Floats are as they are.
OperandType float_of(OperandType type);

/// What is stored of a weak number where a tensor is created from it: of a float, float32.
DType created_dtype(OperandType type);

}  // namespace adjit::trace
