// runtime/trace/ops/contractions/einsum.cpp -- contractions by labelled dimensions.
#include "runtime/trace/ops/contractions/einsum.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "runtime/trace/ops/contractions/contraction_order.hpp"
#include "runtime/trace/ops/stages/elementwise.hpp"

namespace adjit::trace {
namespace {

bool contains(const Labels& labels, int label) {
  return std::ranges::find(labels, label) != labels.end();
}

LabelledExtents extents_of(const Trace& trace, std::span<const TensorId> operands,
                           std::span<const Labels> labels) {
  LabelledExtents extents;
  for (size_t k = 0; k < operands.size(); ++k) {
    const Shape& shape = shape_of(trace, operands[k]);
    invariant(shape.size() == labels[k].size(), "one label per dimension");
    for (size_t d = 0; d < shape.size(); ++d) {
      const auto [at, fresh] = extents.try_emplace(labels[k][d], shape[d]);
      if (fresh || at->second == shape[d] || shape[d] == 1) continue;
      if (at->second != 1) {
        std::string shapes;
        for (TensorId x : operands) shapes += " " + to_string(shape_of(trace, x));
        throw Error(ErrorCode::Shape, "the contracted extents " + std::to_string(at->second) +
                                          " and " + std::to_string(shape[d]) +
                                          " differ (shapes:" + shapes + ")");
      }
      at->second = shape[d];
    }
  }
  return extents;
}

// The labels of `from` that something outside still needs.
Labels needed(const std::vector<Labels>& from, const std::vector<Labels>& outside,
              const Labels& out) {
  Labels kept;
  for (const Labels& labels : from)
    for (int label : labels) {
      const bool used = contains(out, label) || std::ranges::any_of(outside, [&](const Labels& l) {
                          return contains(l, label);
                        });
      if (used && !contains(kept, label)) kept.push_back(label);
    }
  return kept;
}

}  // namespace

TensorId contract(Trace& trace, std::string_view name, std::span<const TensorId> operands,
                  std::span<const Labels> labels, const Labels& out) {
  const std::vector<Operand> all(operands.begin(), operands.end());
  const DType dtype = common_dtype(trace, all);
  if (dtype == DType::Bool)
    throw Error(ErrorCode::DType, "a contraction of bool: cast to a number with astype");
  const LabelledExtents extents = extents_of(trace, operands, labels);
  Shape shape;
  for (int label : out) shape.push_back(extents.at(label));
  StageBuilder stage(trace, name, shape);
  std::map<int, Formula> axis;
  for (size_t k = 0; k < out.size(); ++k) axis.emplace(out[k], stage.axis(k));
  bool reduces = false;
  for (const Labels& own : labels)
    for (int label : own)
      if (!axis.contains(label)) {
        axis.emplace(label, stage.reduce(extents.at(label)));
        reduces = true;
      }
  std::optional<Formula> product;
  for (size_t k = 0; k < operands.size(); ++k) {
    std::vector<Formula> index;
    for (size_t d = 0; d < labels[k].size(); ++d)
      index.push_back(shape_of(trace, operands[k])[d] == 1 ? integer(stage, 0)
                                                           : axis.at(labels[k][d]));
    const Formula value = stage.read(operands[k], index).cast(accumulator_of(dtype));
    product = product ? *product * value : value;
  }
  if (!reduces) return stage.finish(*product, dtype);
  return stage.finish(CombinerKind::Sum, *product, dtype);
}

TensorId einsum(Trace& trace, std::span<const TensorId> operands, std::vector<Labels> labels,
                const Labels& out) {
  extents_of(trace, operands, labels);  // all labels agree before anything is built
  std::vector<TensorId> left(operands.begin(), operands.end());
  if (left.size() > 2) {  // in whatever order they are joined, they meet in the dtype of all
    const DType dtype = common_dtype(trace, std::vector<Operand>(left.begin(), left.end()));
    for (TensorId& operand : left) operand = astype(trace, operand, dtype);
  }
  for (size_t k = 0; left.size() > 1 && k < left.size(); ++k) {
    std::vector<Labels> others = labels;
    others.erase(others.begin() + static_cast<long>(k));
    const Labels kept = needed({labels[k]}, others, out);
    Labels distinct;
    for (int label : labels[k])
      if (!contains(distinct, label)) distinct.push_back(label);
    if (kept.size() == distinct.size()) continue;
    left[k] = contract(trace, "einsum", {&left[k], 1}, {&labels[k], 1}, kept);
    labels[k] = kept;
  }
  if (left.size() < 2) return contract(trace, "einsum", left, labels, out);
  std::vector<LabelledExtents> extents;
  for (size_t k = 0; k < left.size(); ++k)
    extents.push_back(extents_of(trace, {&left[k], 1}, {&labels[k], 1}));
  for (const Join& join : contraction_order(extents, out)) {
    const TensorId pair[] = {left[join.first], left[join.second]};
    const Labels of_pair[] = {labels[join.first], labels[join.second]};
    left.erase(left.begin() + static_cast<long>(join.second));
    labels.erase(labels.begin() + static_cast<long>(join.second));
    std::vector<Labels> others = labels;
    others.erase(others.begin() + static_cast<long>(join.first));
    labels[join.first] = others.empty() ? out : needed({of_pair[0], of_pair[1]}, others, out);
    left[join.first] = contract(trace, "einsum", pair, of_pair, labels[join.first]);
  }
  return left.front();
}

}  // namespace adjit::trace
