// runtime/trace/ops/elementwise.cpp -- common dtypes and shapes of operands, and the stage over
// them.
#include "runtime/trace/ops/elementwise.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/trace/promotion.hpp"

namespace adjit {
namespace {

bool is_weak(const Trace& trace, const Operand& operand) {
  return operand.scalar || trace.is_weak(operand.tensor);
}

DType dtype_of(const Trace& trace, const Operand& operand) {
  return operand.scalar ? operand.scalar->default_dtype() : trace.dtype(operand.tensor);
}

// 0 bool, 1 integer, 2 float: weak operands alone, or beside a strong one, agree on the highest.
int category(DType dtype) { return is_float(dtype) ? 2 : is_integer(dtype) ? 1 : 0; }

}  // namespace

DType common_dtype(const Trace& trace, std::span<const Operand> operands) {
  std::optional<DType> strong;
  DType weak = DType::Bool;
  for (const Operand& operand : operands) {
    const DType dtype = dtype_of(trace, operand);
    if (is_weak(trace, operand)) {
      if (category(dtype) > category(weak) || (category(dtype) == category(weak) && dtype > weak))
        weak = dtype;
      continue;
    }
    const std::optional<DType> both = strong ? promoted(*strong, dtype) : dtype;
    if (!both)
      throw Error(ErrorCode::DType, "the operands are " + std::string(name_of(*strong)) + " and " +
                                        std::string(name_of(dtype)) +
                                        "; there is no silent promotion: cast one with astype");
    strong = both;
  }
  if (!strong) return weak;
  if (category(weak) > category(*strong) && category(weak) == 2)
    throw Error(ErrorCode::DType, "a float scalar meets a tensor of " +
                                      std::string(name_of(*strong)) +
                                      ": cast the tensor to a float type with astype");
  return *strong;
}

Shape common_shape(const Trace& trace, std::span<const Operand> operands) {
  Shape shape;
  for (const Operand& operand : operands)
    if (operand.tensor.valid()) shape = broadcast(shape, trace.shape(operand.tensor));
  return shape;
}

Formula element(const Trace& trace, const StageBuilder& stage, const Operand& operand,
                DType dtype) {
  const DType held = accumulator_of(dtype);
  if (operand.scalar) {
    ExprPool& pool = stage.pool();
    return {pool, to_constant(pool, *operand.scalar, held)};
  }
  const Formula value = stage.read_broadcast(operand.tensor);
  if (trace.is_weak(operand.tensor) || value.dtype() != held) return value.cast(held);
  return value;
}

TensorId map(Trace& trace, std::string_view name, std::span<const Operand> operands,
             const ElementFormula& formula) {
  const DType dtype = common_dtype(trace, operands);
  StageBuilder stage(trace, name, common_shape(trace, operands));
  std::vector<Formula> elements;
  for (const Operand& operand : operands) elements.push_back(element(trace, stage, operand, dtype));
  const Formula body = formula(elements);
  const bool rounds = body.dtype() == accumulator_of(dtype);
  const TensorId result = stage.finish(body, rounds ? dtype : body.dtype());
  if (std::ranges::all_of(operands, [&](const Operand& o) { return is_weak(trace, o); }))
    trace.set_weak(result);
  return result;
}

TensorId astype(Trace& trace, TensorId x, DType dtype) {
  if (trace.dtype(x) == dtype && !trace.is_weak(x)) return x;
  StageBuilder stage(trace, "astype", trace.shape(x));
  return stage.finish(stage.read_broadcast(x), dtype);
}

TensorId widened(Trace& trace, TensorId x) {
  const DType dtype = accumulator_of(trace.dtype(x));
  return dtype == trace.dtype(x) ? x : astype(trace, x, dtype);
}

void require_float(const Trace& trace, TensorId x, std::string_view what) {
  if (!is_float(trace.dtype(x)))
    throw Error(ErrorCode::DType, std::string(what) + " is " +
                                      std::string(name_of(trace.dtype(x))) +
                                      "; it must be a float type: cast it with astype");
}

void require_integer(const Trace& trace, TensorId x, std::string_view what) {
  if (!is_integer(trace.dtype(x)))
    throw Error(ErrorCode::DType, std::string(what) + " is " +
                                      std::string(name_of(trace.dtype(x))) +
                                      "; it must be an integer type: cast it with astype");
}

}  // namespace adjit
