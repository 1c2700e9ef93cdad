// runtime/trace/ops/contractions/contraction.cpp -- matmul, tensordot, einsum, outer, dot, vecdot.
#include <algorithm>
#include <cctype>
#include <map>

#include "runtime/process/json.hpp"
#include "runtime/trace/ops/call/operator_call.hpp"
#include "runtime/trace/ops/contractions/einsum.hpp"
#include "runtime/trace/ops/contractions/families.hpp"

namespace adjit::trace {
namespace {

// Labels of the last `count` batch dimensions of `most`: negative, so that they meet from the end.
Labels batch_labels(size_t count) {
  Labels labels;
  for (size_t k = count; k-- > 0;) labels.push_back(-1 - static_cast<int>(k));
  return labels;
}
Labels followed_by(Labels labels, std::initializer_list<int> more) {
  labels.insert(labels.end(), more);
  return labels;
}

constexpr int kM = 1, kN = 2, kK = 3;

// (M, K) @ (K, N), leading dimensions broadcast, vectors as one row or one column that is dropped
// again.
std::vector<TensorId> matmul(OperatorCall& call) {
  const size_t rank_a = call.rank(0), rank_b = call.rank(1);
  if (rank_a == 0 || rank_b == 0)
    fail_shape(call,
               "matmul needs at least one dimension on both sides; multiply by a scalar with *");
  const size_t batch_a = rank_a > 2 ? rank_a - 2 : 0, batch_b = rank_b > 2 ? rank_b - 2 : 0;
  const int64_t k_a = call.shape(0).back(), k_b = call.shape(1)[rank_b == 1 ? 0 : rank_b - 2];
  if (k_a != k_b)
    fail_shape(call, "the inner extents " + std::to_string(k_a) + " and " + std::to_string(k_b) +
                         " differ; transpose one of the operands");
  Labels a = batch_labels(batch_a), b = batch_labels(batch_b);
  Labels out = batch_labels(std::max(batch_a, batch_b));
  a = rank_a == 1 ? Labels{kK} : followed_by(a, {kM, kK});
  b = rank_b == 1 ? Labels{kK} : followed_by(b, {kK, kN});
  if (rank_a > 1) out.push_back(kM);
  if (rank_b > 1) out.push_back(kN);
  const Labels labels[] = {a, b};
  return {contract(call.trace(), call.name(), tensors_of(call), labels, out)};
}

// axes: an int (that many trailing against leading), or two lists of axes.
std::vector<TensorId> tensordot(OperatorCall& call) {
  const size_t rank_a = call.rank(0), rank_b = call.rank(1);
  std::vector<size_t> of_a, of_b;
  const Json* axes = call.attributes().find("axes");
  if (axes && axes->is_array() && axes->size() == 2) {
    const auto list = [&](size_t k, size_t rank) {
      const Json& item = (*axes)[k];
      Shape given;
      for (const Json& axis : item.is_array() ? item : Json::array({item})) {
        const std::optional<int64_t> number = integer_of(axis);
        if (!number) throw Error(ErrorCode::Invalid, "axes holds ints, not " + axis.dump());
        given.push_back(*number);
      }
      return normalized_axes(given, rank, "axes");
    };
    of_a = list(0, rank_a);
    of_b = list(1, rank_b);
  } else {
    const int64_t count = call.attributes().integer("axes", 2);
    if (count < 0 || static_cast<size_t>(count) > std::min(rank_a, rank_b))
      fail_shape(call, "axes=" + std::to_string(count) + " exceeds the ranks");
    for (size_t k = 0; k < static_cast<size_t>(count); ++k) {
      of_a.push_back(rank_a - static_cast<size_t>(count) + k);
      of_b.push_back(k);
    }
  }
  if (of_a.size() != of_b.size()) fail_shape(call, "axes must pair up");
  Labels a(rank_a), b(rank_b), out;
  int next = 0;
  for (int& label : a) label = next++;
  for (int& label : b) label = next++;
  for (size_t k = 0; k < of_a.size(); ++k) {
    if (call.shape(0)[of_a[k]] != call.shape(1)[of_b[k]])
      fail_shape(call, "axis " + std::to_string(of_a[k]) + " of a and axis " +
                           std::to_string(of_b[k]) + " of b have different extents");
    b[of_b[k]] = a[of_a[k]];
  }
  const auto summed = [&](int label) {
    return std::ranges::any_of(of_a, [&](size_t axis) { return a[axis] == label; });
  };
  for (const Labels* own : {&a, &b})
    for (int label : *own)
      if (!summed(label)) out.push_back(label);
  const Labels labels[] = {a, b};
  return {contract(call.trace(), call.name(), tensors_of(call), labels, out)};
}

std::vector<TensorId> outer(OperatorCall& call) {
  if (call.rank(0) != 1 || call.rank(1) != 1) fail_shape(call, "outer takes two vectors");
  const Labels labels[] = {{0}, {1}};
  return {contract(call.trace(), call.name(), tensors_of(call), labels, {0, 1})};
}

// numpy.dot: the last axis of a against the last but one (or only) of b, no broadcasting.
std::vector<TensorId> dot(OperatorCall& call) {
  const size_t rank_a = call.rank(0), rank_b = call.rank(1);
  Labels a(rank_a), b(rank_b), out;
  int next = 0;
  for (int& label : a) label = next++;
  for (int& label : b) label = next++;
  if (rank_a > 0 && rank_b > 0) {
    const size_t inner = rank_b == 1 ? 0 : rank_b - 2;
    if (call.shape(0).back() != call.shape(1)[inner]) fail_shape(call, "the inner extents differ");
    b[inner] = a.back();
    out.assign(a.begin(), a.end() - 1);
    for (int label : b)
      if (label != a.back()) out.push_back(label);
  } else {
    out = a;
    out.insert(out.end(), b.begin(), b.end());
  }
  const Labels labels[] = {a, b};
  return {contract(call.trace(), call.name(), tensors_of(call), labels, out)};
}

std::vector<TensorId> vecdot(OperatorCall& call) {
  const int64_t axis = call.attributes().integer("axis", -1);
  const size_t axis_a = normalized_axis(axis, call.rank(0)),
               axis_b = normalized_axis(axis, call.rank(1));
  if (call.shape(0)[axis_a] != call.shape(1)[axis_b])
    fail_shape(call, "the contracted extents differ");
  Labels a = batch_labels(call.rank(0) - 1), b = batch_labels(call.rank(1) - 1);
  const Labels out = a.size() > b.size() ? a : b;
  a.insert(a.begin() + static_cast<long>(axis_a), kK);
  b.insert(b.begin() + static_cast<long>(axis_b), kK);
  const Labels labels[] = {a, b};
  return {contract(call.trace(), call.name(), tensors_of(call), labels, out)};
}

// The subscripts of one operand; "..." takes the dimensions that no letter names, counted from the
// end.
Labels parse_term(const OperatorCall& call, std::string_view term, size_t rank) {
  const size_t letters = static_cast<size_t>(std::ranges::count_if(
      term, [](char c) { return std::isalpha(static_cast<unsigned char>(c)); }));
  const size_t dots = term.find("...");
  if (letters > rank || (dots == std::string_view::npos && letters != rank))
    fail_shape(call, "the subscripts '" + std::string(term) + "' do not fit a tensor of rank " +
                         std::to_string(rank));
  Labels labels;
  for (size_t k = 0; k < term.size(); ++k) {
    if (k == dots) {
      for (int label : batch_labels(rank - letters)) labels.push_back(label);
      k += 2;
    } else if (std::isalpha(static_cast<unsigned char>(term[k]))) {
      labels.push_back(term[k]);
    } else {
      throw Error(ErrorCode::Invalid, "'" + std::string(1, term[k]) + "' is not a subscript");
    }
  }
  return labels;
}

// Without "->": the ellipsis, then the letters that occur once, in alphabetical order.
Labels implicit_output(const std::vector<Labels>& operands) {
  std::map<int, int> uses;
  for (const Labels& labels : operands)
    for (int label : labels) ++uses[label];
  Labels out;
  for (const auto& [label, count] : uses)
    if (label < 0 || count == 1) out.push_back(label);
  return out;
}

Labels explicit_output(const OperatorCall& call, std::string_view term,
                       const std::vector<Labels>& operands) {
  size_t ellipsis = 0, letters = 0;
  for (const Labels& labels : operands)
    ellipsis = std::max(ellipsis, static_cast<size_t>(std::ranges::count_if(
                                      labels, [](int label) { return label < 0; })));
  for (char c : term) letters += std::isalpha(static_cast<unsigned char>(c)) ? 1 : 0;
  const bool dots = term.find("...") != std::string_view::npos;
  const Labels out = parse_term(call, term, letters + (dots ? ellipsis : 0));
  for (size_t k = 0; k < out.size(); ++k) {
    const bool known = std::ranges::any_of(operands, [&](const Labels& labels) {
      return std::ranges::find(labels, out[k]) != labels.end();
    });
    if (!known || std::ranges::count(out, out[k]) != 1)
      throw Error(ErrorCode::Invalid,
                  "each output subscript must occur once there and in some operand: '" +
                      std::string(term) + "'");
  }
  return out;
}

std::vector<TensorId> einsum_operator(OperatorCall& call) {
  std::string text = call.attributes().text("subscripts", "");
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  std::string_view inputs = std::string_view(text).substr(0, arrow);
  std::vector<Labels> labels;
  for (size_t k = 0; k < call.operands().size(); ++k) {
    const size_t comma = inputs.find(',');
    if ((comma == std::string_view::npos) != (k + 1 == call.operands().size()))
      throw Error(ErrorCode::Invalid, "'" + text + "' does not name " +
                                          std::to_string(call.operands().size()) + " operands");
    labels.push_back(parse_term(call, inputs.substr(0, comma), call.rank(k)));
    inputs = comma == std::string_view::npos ? "" : inputs.substr(comma + 1);
  }
  if (labels.empty()) throw Error(ErrorCode::Invalid, "einsum needs at least one operand");
  const Labels out = arrow == std::string::npos
                         ? implicit_output(labels)
                         : explicit_output(call, std::string_view(text).substr(arrow + 2), labels);
  return {einsum(call.trace(), tensors_of(call), std::move(labels), out)};
}

constexpr std::string_view kContractionGradient = "two contractions of the same kind";

const Operator kContractionOperators[] = {
    {"matmul", "(a, b)", "(..., M, K), (..., K, N) -> (..., M, N)",
     "g @ b^T; a^T @ g; broadcast dimensions summed", matmul},
    {"tensordot", "(a, b, *, axes=2)", "(A..., K...), (K..., B...) -> (A..., B...)",
     kContractionGradient, tensordot},
    {"einsum", "(operands..., *, subscripts)", "by subscripts", kContractionGradient,
     einsum_operator},
    {"outer", "(a, b)", "(M,), (N,) -> (M, N)", kContractionGradient, outer},
    {"dot", "(a, b)", "(A..., K), (B..., K, N) -> (A..., B..., N)", kContractionGradient, dot},
    {"vecdot", "(a, b, *, axis=-1)", "(..., K), (..., K) -> (...)", kContractionGradient, vecdot},
};

}  // namespace

std::span<const Operator> contraction_operators() { return kContractionOperators; }

}  // namespace adjit::trace
