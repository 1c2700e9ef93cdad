// runtime/trace/promotion.cpp -- bool < integers < floats, weak operands last.
#include "runtime/trace/promotion.hpp"

#include <algorithm>
#include <optional>

#include "runtime/expr/error.hpp"

namespace adjit::trace {
namespace {

// uint8 has no signed type of its width: int16 holds both. Signed types are numbered by width.
DType wider_integer(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::UInt8 || b == DType::UInt8) return std::max({a, b, DType::Int16});
  return std::max(a, b);
}

// Of operands that are all weak or all not.
std::optional<DType> widest(std::span<const OperandType> operands, bool weak) {
  std::optional<DType> found;
  for (const OperandType& operand : operands) {
    if (operand.weak != weak) continue;
    const DType dtype = operand.dtype;
    if (!found || *found == DType::Bool || (is_float(dtype) && !is_float(*found)))
      found = dtype;
    else if (is_float(dtype) && is_float(*found) && dtype != *found && !weak)
      throw Error(ErrorCode::DType, "the operands are " + std::string(name_of(*found)) + " and " +
                                        std::string(name_of(dtype)) +
                                        "; there is no silent promotion of one float type to "
                                        "another: cast one with astype");
    else if (is_float(dtype) && is_float(*found))
      found = std::max(dtype, *found);
    else if (is_integer(dtype) && is_integer(*found))
      found = wider_integer(dtype, *found);
  }
  return found;
}

}  // namespace

OperandType promoted(std::span<const OperandType> operands) {
  const std::optional<DType> strong = widest(operands, false), weak = widest(operands, true);
  if (!weak) return {strong.value_or(DType::Bool), false};
  if (!strong) return {*weak, true};
  const auto kind = [](DType dtype) { return is_float(dtype) ? 2 : is_integer(dtype) ? 1 : 0; };
  return kind(*weak) > kind(*strong) ? OperandType{*weak, true} : OperandType{*strong, false};
}

OperandType float_of(OperandType type) {
  return is_float(type.dtype) ? type : OperandType{DType::Float64, true};
}

DType created_dtype(OperandType type) {
  return type.weak && is_float(type.dtype) ? DType::Float32 : type.dtype;
}

}  // namespace adjit::trace
