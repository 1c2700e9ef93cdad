// runtime/trace/ops/stages/elementwise.cpp -- common dtypes and shapes of operands, and the stage
// over them.
#include "runtime/trace/ops/stages/elementwise.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace adjit::trace {
OperandType common_type(const Trace& trace, std::span<const Operand> operands) {
  std::vector<OperandType> types;
  for (const Operand& operand : operands)
    if (operand.given()) types.push_back(type_of(trace, operand));
  try {
    return promoted(types);
  } catch (const Error& e) {
    if (std::ranges::none_of(operands, [](const Operand& o) { return o.scalar_dtype.has_value(); }))
      throw;
    throw Error(e.code(), std::string(e.what()) +
                              " (a scalar of NumPy keeps its dtype: float() makes it a number that "
                              "adapts)");
  }
}

DType common_dtype(const Trace& trace, std::span<const Operand> operands) {
  return common_type(trace, operands).dtype;
}

Shape common_shape(const Trace& trace, std::span<const Operand> operands) {
  Shape shape;
  for (const Operand& operand : operands)
    if (operand.tensor.valid()) shape = broadcast(shape, shape_of(trace, operand.tensor));
  return shape;
}

Formula element(const Trace& trace, const StageBuilder& stage, const Operand& operand,
                DType dtype) {
  const DType held = accumulator_of(dtype);
  if (operand.scalar) {
    ExprPool& pool = stage.trace().pool();
    return {pool, to_constant(pool, *operand.scalar, held)};
  }
  const Formula value = read_broadcast(stage, operand.tensor);
  if (trace.is_weak(operand.tensor) || value.dtype() != held) return value.cast(held);
  return value;
}

TensorId map(Trace& trace, std::string_view name, std::span<const Operand> operands,
             const ElementFormula& formula, Takes takes) {
  OperandType type = common_type(trace, operands);
  if (takes == Takes::Floats && type.weak) type = float_of(type);
  const DType dtype = type.dtype;
  StageBuilder stage(trace, name, common_shape(trace, operands));
  std::vector<Formula> elements;
  for (const Operand& operand : operands) elements.push_back(element(trace, stage, operand, dtype));
  const Formula body = formula(elements);
  const bool rounds = body.dtype() == accumulator_of(dtype);
  const TensorId result = stage.finish(body, rounds ? dtype : body.dtype());
  if (type.weak && rounds) trace.set_weak(result);
  return result;
}

TensorId astype(Trace& trace, TensorId x, DType dtype) {
  if (dtype_of(trace, x) == dtype && !trace.is_weak(x)) return x;
  StageBuilder stage(trace, "astype", shape_of(trace, x));
  return stage.finish(read_broadcast(stage, x), dtype);
}

TensorId widened(Trace& trace, TensorId x) {
  const DType dtype = accumulator_of(dtype_of(trace, x));
  return dtype == dtype_of(trace, x) ? x : astype(trace, x, dtype);
}

void require_float(const Trace& trace, TensorId x, std::string_view what) {
  if (!is_float(dtype_of(trace, x)))
    throw Error(ErrorCode::DType, std::string(what) + " is " +
                                      std::string(name_of(dtype_of(trace, x))) +
                                      "; it must be a float type: cast it with astype");
}

void require_integer(const Trace& trace, TensorId x, std::string_view what) {
  if (!is_integer(dtype_of(trace, x)))
    throw Error(ErrorCode::DType, std::string(what) + " is " +
                                      std::string(name_of(dtype_of(trace, x))) +
                                      "; it must be an integer type: cast it with astype");
}

}  // namespace adjit::trace
