// runtime/trace/ops/network/network.cpp -- linear layers, embeddings, attention.
#include <cmath>

#include "runtime/trace/ops/call/operator_call.hpp"
#include "runtime/trace/ops/contractions/einsum.hpp"
#include "runtime/trace/ops/network/families.hpp"
#include "runtime/trace/ops/reductions/reduction.hpp"
#include "runtime/trace/ops/reductions/softmax.hpp"
#include "runtime/trace/ops/stages/view.hpp"

namespace adjit::trace {
namespace {

// y = x w^T + b.
std::vector<TensorId> linear(OperatorCall& call) {
  Trace& trace = call.trace();
  if (call.rank(0) < 1 || call.rank(1) < 1 || call.rank(1) > 2 ||
      call.shape(0).back() != call.shape(1).back())
    fail_shape(call, "linear takes x (..., K) and w (N, K)");
  Labels x, w, out;
  for (size_t k = 0; k + 1 < call.rank(0); ++k) x.push_back(static_cast<int>(k));
  out = x;
  constexpr int kN = 100, kK = 101;
  x.push_back(kK);
  if (call.rank(1) == 2) {
    w.push_back(kN);
    out.push_back(kN);
  }
  w.push_back(kK);
  const TensorId operands[] = {call.tensor(0), call.tensor(1)};
  const Labels labels[] = {x, w};
  const TensorId y = contract(trace, call.name(), operands, labels, out);
  if (!call.has_operand(2)) return {y};
  const Shape wanted = call.rank(1) == 2 ? Shape{call.shape(1)[0]} : Shape{};
  if (call.shape(2) != wanted) fail_shape(call, "the bias needs the shape " + to_string(wanted));
  return {map(trace, "bias_add", {y, call.tensor(2)}, [](auto e) { return e[0] + e[1]; })};
}

std::vector<TensorId> bias_add(OperatorCall& call) {
  const size_t axis = axis_of(call, 0, 1);
  if (call.shape(1) != Shape{call.shape(0)[axis]})
    fail_shape(call, "the bias needs one element per index of axis " + std::to_string(axis));
  Shape stretched(call.rank(0) - axis, 1);
  stretched[0] = call.shape(0)[axis];
  const TensorId bias = reshape(call.trace(), call.tensor(1), stretched);
  return {
      map(call.trace(), call.name(), {call.tensor(0), bias}, [](auto e) { return e[0] + e[1]; })};
}

// Rows of the weight. The row at padding_idx is read through a copy that the derivative takes for a
// constant.
std::vector<TensorId> embedding(OperatorCall& call) {
  Trace& trace = call.trace();
  require_integer(trace, call.tensor(0), "input");
  if (call.rank(1) != 2) fail_shape(call, "the weight of an embedding is (rows, columns)");
  const int64_t rows = call.shape(1)[0], columns = call.shape(1)[1];
  Shape shape = call.shape(0);
  shape.push_back(columns);
  TensorId fixed;
  int64_t padding = call.attributes().integer("padding_idx", 0);
  if (call.attributes().has("padding_idx")) {
    if (padding < -rows || padding >= rows)
      throw Error(ErrorCode::Bounds, "padding_idx=" + std::to_string(padding) +
                                         " is out of range for " + std::to_string(rows) + " rows");
    padding = floor_mod(padding, rows);
    StageBuilder row(trace, "padding_row", {columns});
    row.stop_gradient();
    fixed = row.finish(row.read(call.tensor(1), {integer(row, padding), row.axis(0)}),
                       dtype_of(trace, call.tensor(1)));
  }
  StageBuilder stage(trace, call.name(), shape);
  std::vector<Formula> index = output_axes(stage);
  const Formula column = index.back();
  index.pop_back();
  const Formula row = stage.read(call.tensor(0), index).cast(DType::Int64);
  Formula value = stage.read(call.tensor(1), {row, column});
  if (fixed.valid()) value = select(row == padding, stage.read(fixed, {column}), value);
  return {stage.finish(value, dtype_of(trace, call.tensor(1)))};
}

Labels attention_labels(size_t batch, int row, int column) {
  Labels labels;
  for (size_t k = 0; k < batch; ++k) labels.push_back(-static_cast<int>(batch - k));
  labels.push_back(row);
  labels.push_back(column);
  return labels;
}

// Every head of k and v serves `times` heads of q (grouped-query attention).
TensorId repeated_heads(Trace& trace, TensorId x, int64_t times) {
  Shape shape = shape_of(trace, x);
  const size_t heads = shape.size() - 3;
  shape[heads] = Exact(shape[heads]) * times;
  return view(trace, "repeat_heads", x, shape, [&](auto index) {
    std::vector<Formula> from(index.begin(), index.end());
    from[heads] = floor_div(from[heads], times);
    return from;
  });
}

// scale q k^T, masked: False or a future position is -inf, a float mask is added.
TensorId masked_scores(OperatorCall& call, TensorId scores, double scale) {
  Trace& trace = call.trace();
  const Shape shape = shape_of(trace, scores);
  const bool causal = call.attributes().flag("is_causal", false), masked = call.has_operand(3);
  StageBuilder stage(trace, "masked", shape);
  const size_t rank = shape.size();
  Formula s = stage.read(scores, output_axes(stage)) * scale;
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  if (masked) {
    if (broadcast(call.shape(3), shape) != shape)
      fail_shape(call, "attn_mask does not broadcast to the scores " + to_string(shape));
    const Formula mask = read_broadcast(stage, call.tensor(3));
    s = mask.dtype() == DType::Bool ? select(mask, s, kNever) : s + mask.cast(s.dtype());
  }
  if (causal) s = select(stage.axis(rank - 1) <= stage.axis(rank - 2), s, kNever);
  return stage.finish(s);
}

std::vector<TensorId> attention(OperatorCall& call) {
  Trace& trace = call.trace();
  require_float(trace, call.tensor(0), "query");
  call.promote({0, 1, 2});
  if (call.attributes().real("dropout_p", 0) != 0)
    throw Error(ErrorCode::Invalid,
                "dropout_p must be 0: random numbers need a key; use nn.dropout on the weights");
  const TensorId q = widened(trace, call.tensor(0));
  TensorId k = widened(trace, call.tensor(1)), v = widened(trace, call.tensor(2));
  const size_t rank = rank_of(trace, q);
  if (rank < 2 || rank_of(trace, k) != rank || rank_of(trace, v) != rank)
    fail_shape(call, "query, key and value need one rank of at least 2");
  if (call.attributes().flag("enable_gqa", false)) {
    const int64_t own = rank < 3 ? 1 : shape_of(trace, q)[rank - 3];
    const int64_t other = rank < 3 ? 1 : shape_of(trace, k)[rank - 3];
    if (other == 0 || own % other != 0)
      fail_shape(call, "with enable_gqa the heads of query are a multiple of those of key");
    if (own != other) {
      k = repeated_heads(trace, k, own / other);
      v = repeated_heads(trace, v, own / other);
    }
  }
  if (shape_of(trace, q).back() != shape_of(trace, k).back() ||
      shape_of(trace, k)[rank - 2] != shape_of(trace, v)[rank - 2])
    fail_shape(call, "attention takes query (..., L, E), key (..., S, E), value (..., S, V)");
  constexpr int kL = 1, kS = 2, kE = 3, kV = 4;
  const size_t batch = rank - 2;
  const TensorId qk[] = {q, k};
  const Labels qk_labels[] = {attention_labels(batch, kL, kE), attention_labels(batch, kS, kE)};
  const TensorId scores = contract(trace, "scores", qk, qk_labels, attention_labels(batch, kL, kS));
  const double width = static_cast<double>(shape_of(trace, q).back());
  const TensorId masked =
      masked_scores(call, scores, call.attributes().real("scale", 1 / std::sqrt(width)));
  // Without a mask of the caller's every query sees a key.
  const TensorId weights = call.has_operand(3) ? masked_softmax(trace, masked, rank - 1)
                                               : softmax(trace, masked, rank - 1);
  const TensorId wv[] = {weights, v};
  const Labels wv_labels[] = {attention_labels(batch, kL, kS), attention_labels(batch, kS, kV)};
  const TensorId y = contract(trace, call.name(), wv, wv_labels, attention_labels(batch, kL, kV));
  return {astype(trace, y, dtype_of(trace, call.tensor(0)))};
}

const Operator kNetworkOperators[] = {
    {"nn.linear", "(x, w, bias=None)", "(..., K), (N, K), (N,) -> (..., N)",
     "g w; g^T x; g summed over rows", linear},
    {"nn.bias_add", "(x, bias, *, axis=1)", "(N, C, ...), (C,) -> (N, C, ...)",
     "g; g summed over the other axes", bias_add},
    {"nn.embedding", "(input, weight, *, padding_idx=None)", "(...), (R, D) -> (..., D)",
     "g added up at the rows read; the row padding_idx gets none", embedding},
    {"nn.scaled_dot_product_attention",
     "(query, key, value, attn_mask=None, *, dropout_p=0.0, is_causal=False, scale=None, "
     "enable_gqa=False)",
     "(..., L, E), (..., S, E), (..., S, V), (..., L, S) -> (..., L, V)", "by the chain rule",
     attention},
};

}  // namespace

std::span<const Operator> network_operators() { return kNetworkOperators; }

}  // namespace adjit::trace
