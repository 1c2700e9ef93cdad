// adjit/operators.hpp -- operators by name, on tensors and on expressions; apply() knows the rest.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "index_notation.hpp"

namespace adjit::inline cpp {

// What is one operation on a scalar is there for both, under the name of the array API.
#define ADJIT_UNARY(name)                                               \
  inline Tensor name(const Tensor& x, Where where = Where::current()) { \
    return apply(#name, {x}, {}, where);                                \
  }                                                                     \
  inline Expr name(const Expr& x, Where where = Where::current()) {     \
    return apply_expr(#name, {{x, where}});                             \
  }
ADJIT_UNARY(abs)
ADJIT_UNARY(sign)
ADJIT_UNARY(exp)
ADJIT_UNARY(exp2)
ADJIT_UNARY(expm1)
ADJIT_UNARY(log)
ADJIT_UNARY(log2)
ADJIT_UNARY(log10)
ADJIT_UNARY(log1p)
ADJIT_UNARY(sqrt)
ADJIT_UNARY(rsqrt)
ADJIT_UNARY(sin)
ADJIT_UNARY(cos)
ADJIT_UNARY(tan)
ADJIT_UNARY(asin)
ADJIT_UNARY(acos)
ADJIT_UNARY(atan)
ADJIT_UNARY(sinh)
ADJIT_UNARY(cosh)
ADJIT_UNARY(tanh)
ADJIT_UNARY(asinh)
ADJIT_UNARY(acosh)
ADJIT_UNARY(atanh)
ADJIT_UNARY(sigmoid)
ADJIT_UNARY(erf)
ADJIT_UNARY(erfc)
ADJIT_UNARY(erfinv)
ADJIT_UNARY(lgamma)
ADJIT_UNARY(digamma)
ADJIT_UNARY(floor)
ADJIT_UNARY(ceil)
ADJIT_UNARY(trunc)
ADJIT_UNARY(round)
ADJIT_UNARY(isnan)
ADJIT_UNARY(isinf)
#undef ADJIT_UNARY

#define ADJIT_BINARY(name, expression)                           \
  inline Tensor name(const Operand& x, const Operand& y) {       \
    return apply(#name, {x, y}, {}, x.where());                  \
  }                                                              \
  inline Expr name(const ExprOperand& x, const ExprOperand& y) { \
    return apply_expr(expression, {x, y});                       \
  }
ADJIT_BINARY(maximum, "max")
ADJIT_BINARY(minimum, "min")
ADJIT_BINARY(pow, "pow")
ADJIT_BINARY(atan2, "atan2")
ADJIT_BINARY(fmod, "fmod")
#undef ADJIT_BINARY

#define ADJIT_TENSOR(name)                                              \
  inline Tensor name(const Tensor& x, Where where = Where::current()) { \
    return apply(#name, {x}, {}, where);                                \
  }
ADJIT_TENSOR(square)
ADJIT_TENSOR(reciprocal)
ADJIT_TENSOR(isfinite)
ADJIT_TENSOR(matrix_transpose)
ADJIT_TENSOR(stop_gradient)
ADJIT_TENSOR(zeros_like)
ADJIT_TENSOR(ones_like)
#undef ADJIT_TENSOR

/// Axes that are summed away; none for all of them.
using ReducedAxes = std::optional<Shape>;

#define ADJIT_REDUCTION(name)                                                              \
  inline Tensor name(const Tensor& x, const ReducedAxes& axis = {}, bool keepdims = false, \
                     Where where = Where::current()) {                                     \
    return apply(#name, {x}, {{"axis", axis}, {"keepdims", keepdims}}, where);             \
  }
ADJIT_REDUCTION(sum)
ADJIT_REDUCTION(mean)
ADJIT_REDUCTION(prod)
ADJIT_REDUCTION(max)
ADJIT_REDUCTION(min)
ADJIT_REDUCTION(any)
ADJIT_REDUCTION(all)
ADJIT_REDUCTION(logsumexp)
#undef ADJIT_REDUCTION
#define ADJIT_POSITION(name)                                                                   \
  inline Tensor name(const Tensor& x, std::optional<int64_t> axis = {}, bool keepdims = false, \
                     Where where = Where::current()) {                                         \
    return apply(#name, {x}, {{"axis", axis}, {"keepdims", keepdims}}, where);                 \
  }
ADJIT_POSITION(argmax)
ADJIT_POSITION(argmin)
#undef ADJIT_POSITION

inline Tensor where(const Operand& condition, const Operand& x, const Operand& y) {
  return apply("where", {condition, x, y}, {}, condition.where());
}
inline Tensor matmul(const Tensor& a, const Tensor& b, Where where = Where::current()) {
  return apply("matmul", {a, b}, {}, where);
}
inline Tensor einsum(const std::string& subscripts, const std::vector<Tensor>& operands,
                     Where where = Where::current()) {
  return apply("einsum", {operands.begin(), operands.end()}, {{"subscripts", subscripts}}, where);
}
inline Tensor reshape(const Tensor& x, const Shape& shape, Where where = Where::current()) {
  return apply("reshape", {x}, {{"shape", shape}}, where);
}
inline Tensor permute_dims(const Tensor& x, const Shape& axes, Where where = Where::current()) {
  return apply("permute_dims", {x}, {{"axes", axes}}, where);
}
inline Tensor broadcast_to(const Tensor& x, const Shape& shape, Where where = Where::current()) {
  return apply("broadcast_to", {x}, {{"shape", shape}}, where);
}
inline Tensor expand_dims(const Tensor& x, int64_t axis, Where where = Where::current()) {
  return apply("expand_dims", {x}, {{"axis", axis}}, where);
}
inline Tensor concat(const std::vector<Tensor>& tensors, int64_t axis = 0,
                     Where where = Where::current()) {
  return apply("concat", {tensors.begin(), tensors.end()}, {{"axis", axis}}, where);
}
inline Tensor stack(const std::vector<Tensor>& tensors, int64_t axis = 0,
                    Where where = Where::current()) {
  return apply("stack", {tensors.begin(), tensors.end()}, {{"axis", axis}}, where);
}
/// x[starts[0]:stops[0]:steps[0], ...]
inline Tensor strided_slice(const Tensor& x, const Shape& starts, const Shape& stops,
                            const std::optional<Shape>& steps = {},
                            Where where = Where::current()) {
  return apply("strided_slice", {x}, {{"starts", starts}, {"stops", stops}, {"steps", steps}},
               where);
}
inline Tensor take(const Tensor& x, const Tensor& indices, std::optional<int64_t> axis = {},
                   Where where = Where::current()) {
  return apply("take", {x, indices}, {{"axis", axis}}, where);
}

/// Names and meaning of torch.nn.functional; NCHW, OIHW.
namespace nn {

inline Tensor relu(const Tensor& x, Where where = Where::current()) {
  return apply("nn.relu", {x}, {}, where);
}
inline Tensor gelu(const Tensor& x, Where where = Where::current()) {
  return apply("nn.gelu", {x}, {}, where);
}
inline Tensor silu(const Tensor& x, Where where = Where::current()) {
  return apply("nn.silu", {x}, {}, where);
}
inline Tensor softmax(const Tensor& x, int64_t dim = -1, Where where = Where::current()) {
  return apply("nn.softmax", {x}, {{"dim", dim}}, where);
}
inline Tensor log_softmax(const Tensor& x, int64_t dim = -1, Where where = Where::current()) {
  return apply("nn.log_softmax", {x}, {{"dim", dim}}, where);
}
inline Tensor linear(const Tensor& x, const Tensor& w, Where where = Where::current()) {
  return apply("nn.linear", {x, w}, {}, where);
}
inline Tensor linear(const Tensor& x, const Tensor& w, const Tensor& bias,
                     Where where = Where::current()) {
  return apply("nn.linear", {x, w, bias}, {}, where);
}
/// attributes: stride, padding, dilation, groups (one integer or one per dimension), layout
inline Tensor conv2d(const Tensor& x, const Tensor& w, const Attributes& attributes = {},
                     Where where = Where::current()) {
  return apply("nn.conv2d", {x, w}, attributes, where);
}
/// attributes: kernel_size, stride, padding, dilation, ceil_mode
inline Tensor max_pool2d(const Tensor& x, const Attributes& attributes,
                         Where where = Where::current()) {
  return apply("nn.max_pool2d", {x}, attributes, where);
}
inline Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, double eps = 1e-5,
                         Where where = Where::current()) {
  return apply("nn.layer_norm", {x}, {{"normalized_shape", normalized_shape}, {"eps", eps}}, where);
}
/// target: class numbers; the mean over the batch
inline Tensor cross_entropy(const Tensor& input, const Tensor& target,
                            Where where = Where::current()) {
  return apply("nn.cross_entropy", {input, target}, {}, where);
}
inline Tensor mse_loss(const Tensor& input, const Tensor& target, Where where = Where::current()) {
  return apply("nn.mse_loss", {input, target}, {}, where);
}
/// attributes: is_causal, scale, dropout_p, enable_gqa
inline Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key,
                                           const Tensor& value, const Attributes& attributes = {},
                                           Where where = Where::current()) {
  return apply("nn.scaled_dot_product_attention", {query, key, value}, attributes, where);
}

}  // namespace nn
}  // namespace adjit::inline cpp
