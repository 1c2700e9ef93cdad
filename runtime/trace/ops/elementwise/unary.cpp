// runtime/trace/ops/elementwise/unary.cpp -- elementwise functions of one tensor.
#include <algorithm>
#include <array>

#include "runtime/trace/ops/call/operator_call.hpp"
#include "runtime/trace/ops/elementwise/families.hpp"
#include "runtime/trace/ops/stages/elementwise.hpp"

namespace adjit::trace {
namespace {

struct UnaryRow {
  std::string_view name;
  Op op;
  std::string_view gradient;
};

constexpr std::string_view kUnaryNone = "zero: piecewise constant";

// Functions that are one operation of scalar expressions (runtime/expr/op.hpp).
constexpr UnaryRow kUnaryOperators[] = {
    {"negative", Op::Neg, "-g"},
    {"abs", Op::Abs, "g sign(x), 0 at 0"},
    {"sign", Op::Sign, kUnaryNone},
    {"exp", Op::Exp, "g y"},
    {"exp2", Op::Exp2, "g y log(2)"},
    {"expm1", Op::Expm1, "g (y + 1)"},
    {"log", Op::Log, "g / x"},
    {"log2", Op::Log2, "g / (x log(2))"},
    {"log10", Op::Log10, "g / (x log(10))"},
    {"log1p", Op::Log1p, "g / (1 + x)"},
    {"sqrt", Op::Sqrt, "g / (2 y), inf at 0"},
    {"rsqrt", Op::Rsqrt, "-g y^3 / 2"},
    {"sin", Op::Sin, "g cos(x)"},
    {"cos", Op::Cos, "-g sin(x)"},
    {"tan", Op::Tan, "g (1 + y^2)"},
    {"asin", Op::Asin, "g / sqrt(1 - x^2)"},
    {"acos", Op::Acos, "-g / sqrt(1 - x^2)"},
    {"atan", Op::Atan, "g / (1 + x^2)"},
    {"sinh", Op::Sinh, "g cosh(x)"},
    {"cosh", Op::Cosh, "g sinh(x)"},
    {"tanh", Op::Tanh, "g (1 - y^2)"},
    {"asinh", Op::Asinh, "g / sqrt(x^2 + 1)"},
    {"acosh", Op::Acosh, "g / sqrt(x^2 - 1)"},
    {"atanh", Op::Atanh, "g / (1 - x^2)"},
    {"sigmoid", Op::Sigmoid, "g y (1 - y)"},
    {"nn.sigmoid", Op::Sigmoid, "g y (1 - y)"},
    {"nn.tanh", Op::Tanh, "g (1 - y^2)"},
    {"erf", Op::Erf, "g 2/sqrt(pi) exp(-x^2)"},
    {"erfc", Op::Erfc, "-g 2/sqrt(pi) exp(-x^2)"},
    {"erfinv", Op::Erfinv, "g sqrt(pi)/2 exp(y^2)"},
    {"lgamma", Op::Lgamma, "g digamma(x)"},
    {"digamma", Op::Digamma, "g polygamma(1, x)"},
    {"floor", Op::Floor, kUnaryNone},
    {"ceil", Op::Ceil, kUnaryNone},
    {"trunc", Op::Trunc, kUnaryNone},
    {"round", Op::Round, kUnaryNone},
    {"logical_not", Op::Not, kNotAFloat},
    {"bitwise_invert", Op::BitNot, kNotAFloat},
};

bool keeps_integers(Op op) {
  return op == Op::Floor || op == Op::Ceil || op == Op::Trunc || op == Op::Round;
}

std::vector<TensorId> apply_unary(OperatorCall& call) {
  const Op op = std::ranges::find(kUnaryOperators, call.name(), &UnaryRow::name)->op;
  const auto formula = [op](std::span<const Formula> x) {
    if (op == Op::Not) return !as_bool(x[0]);
    if (keeps_integers(op) && !is_float(x[0].dtype())) return x[0];
    if (op == Op::BitNot && x[0].dtype() == DType::Bool) return !x[0];
    return x[0].make(op);
  };
  const bool floats = info(op).rule == TypeRule::FloatSame && !keeps_integers(op);
  return {map(call.trace(), call.name(), call.operands(), formula,
              floats ? Takes::Floats : Takes::Numbers)};
}

// Functions that are a formula.

std::vector<TensorId> apply_formula(OperatorCall& call, const ElementFormula& formula) {
  return {map(call.trace(), call.name(), call.operands(), formula)};
}

std::vector<TensorId> square(OperatorCall& call) {
  return apply_formula(call, [](auto x) { return x[0] * x[0]; });
}
std::vector<TensorId> reciprocal(OperatorCall& call) {
  return {map(
      call.trace(), call.name(), call.operands(), [](auto x) { return 1.0 / x[0]; },
      Takes::Floats)};
}
std::vector<TensorId> positive(OperatorCall& call) {
  return apply_formula(call, [](auto x) { return x[0]; });
}

// Tests of floats; integers are always finite.
Formula float_test(Formula x, Op op) {
  return is_float(x.dtype()) ? x.make(op)
                             : Formula(x.pool(), x.pool().constant_int(0, DType::Bool));
}
std::vector<TensorId> isnan(OperatorCall& call) {
  return apply_formula(call, [](auto x) { return float_test(x[0], Op::IsNan); });
}
std::vector<TensorId> isinf(OperatorCall& call) {
  return apply_formula(call, [](auto x) { return float_test(x[0], Op::IsInf); });
}
std::vector<TensorId> isfinite(OperatorCall& call) {
  return apply_formula(
      call, [](auto x) { return !(float_test(x[0], Op::IsNan) || float_test(x[0], Op::IsInf)); });
}

std::vector<TensorId> astype_operator(OperatorCall& call) {
  const std::optional<DType> dtype = call.attributes().dtype("dtype");
  if (!dtype) throw Error(ErrorCode::Invalid, "dtype is missing");
  return {astype(call.trace(), call.tensor(0), *dtype)};
}

// An identity the derivative does not look through.
std::vector<TensorId> stop_gradient(OperatorCall& call) {
  StageBuilder stage(call.trace(), call.name(), call.shape(0));
  stage.stop_gradient();
  return {
      stage.finish(read_broadcast(stage, call.tensor(0)), dtype_of(call.trace(), call.tensor(0)))};
}

constexpr std::string_view kUnaryShapes = "(...) -> (...)";

const Operator kFormulas[] = {
    {"square", "(x)", kUnaryShapes, "2 g x", square},
    {"reciprocal", "(x)", kUnaryShapes, "-g y^2", reciprocal},
    {"positive", "(x)", kUnaryShapes, "g", positive},
    {"isnan", "(x)", kUnaryShapes, kNotAFloat, isnan},
    {"isinf", "(x)", kUnaryShapes, kNotAFloat, isinf},
    {"isfinite", "(x)", kUnaryShapes, kNotAFloat, isfinite},
    {"astype", "(x, *, dtype)", kUnaryShapes, "g cast back between floats; zero through an integer",
     astype_operator},
    {"stop_gradient", "(x)", kUnaryShapes, "zero, by request", stop_gradient},
};

std::vector<Operator> all_unary() {
  std::vector<Operator> all(std::begin(kFormulas), std::end(kFormulas));
  for (const UnaryRow& row : kUnaryOperators)
    all.push_back({row.name, "(x)", kUnaryShapes, row.gradient, apply_unary});
  return all;
}

}  // namespace

std::span<const Operator> unary_operators() {
  static const std::vector<Operator> kAll = all_unary();
  return kAll;
}

}  // namespace adjit::trace
