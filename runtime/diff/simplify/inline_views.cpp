// runtime/diff/simplify/inline_views.cpp -- reading through stages that only rename indices.
//
// Worked example: T[i, j] = X[j, i] and Y[i] = sum_j T[j, i] * W[j] give Y[i] = sum_j X[i, j] *
// W[j]. A slice's or a pad's guard moves into the predicate of the composed read. So does a stage
// that holds one of two constants by what integers say, or one element a row: it may make terms of
// a sum zero.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "runtime/diff/conditions/condition.hpp"
#include "runtime/diff/conditions/guards.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/affine_constraint.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::diff {
namespace {

// What a view's element is, over its own axes: a read of another tensor, widened where that is of
// a half type, or under a guard a
// constant, an indicator, a number counted.
struct View {
  ExprId element;
  bool valid() const { return element.valid(); }
};

bool depends_on_data(const ExprPool& pool, std::span<const ExprId> roots) {
  return std::ranges::any_of(reachable(pool, roots),
                             [&](ExprId id) { return pool.is(id, Op::Read); });
}

// A few operations on axes and elements of integers.
bool is_small_and_whole(const ExprPool& pool, ExprId body) {
  constexpr size_t kMostNodes = 12;
  const std::vector<ExprId> nodes = reachable(pool, std::span(&body, 1));
  return nodes.size() <= kMostNodes && std::ranges::all_of(nodes, [&](ExprId id) {
           return !is_float(pool.dtype(id)) &&
                  (!pool.is(id, Op::Read) || !depends_on_data(pool, pool.operands(id)));
         });
}

// One of two constants by what a few integers say, as in a one-hot vector: a bool, or a choice cast
// to a number. Written out where it is read, it tells which terms of a sum are zero. Invalid when
// the body is nothing of that kind.
ExprId indicator_of(ExprPool& pool, ExprId body) {
  std::vector<DType> casts;
  while (pool.is(body, Op::Cast)) {
    casts.push_back(pool.dtype(body));
    body = pool.operand(body, 0);
  }
  const auto cast = [&](ExprId value) {
    for (size_t k = casts.size(); k-- > 0;) value = pool.cast(value, casts[k]);
    return value;
  };
  if (pool.is(body, Op::Read)) return {};
  if (pool.dtype(body) == DType::Bool && is_small_and_whole(pool, body))
    return casts.empty() ? body : pool.cast(body, casts.front());  // 0 and 1 are so in every dtype
  if (!pool.is(body, Op::Select)) return {};
  const ExprId test = pool.operand(body, 0);
  const ExprId a = pool.operand(body, 1), b = pool.operand(body, 2);
  if (!pool.is(a, Op::Constant) || !pool.is(b, Op::Constant) || !is_small_and_whole(pool, test))
    return {};
  return pool.select(test, cast(a), cast(b));
}

// An array of zeros with one element a row: select(j == t(i), a few operations, 0). A sum over such
// rows is that element.
bool is_one_of_a_row(const ExprPool& pool, ExprId body) {
  constexpr size_t kMostNodes = 40;
  if (!pool.is(body, Op::Select)) return false;
  const ExprId test = pool.operand(body, 0);
  const std::optional<double> otherwise = pool.value(pool.operand(body, 2));
  if (!pool.is(test, Op::Eq) || !otherwise || *otherwise != 0) return false;
  const bool picks = std::ranges::any_of(pool.operands(test),
                                         [&](ExprId side) { return pool.is(side, Op::Axis); });
  return picks && depends_on_data(pool, std::span(&test, 1)) && is_small_and_whole(pool, test) &&
         reachable(pool, std::span(&body, 1)).size() <= kMostNodes;
}

// The axes' own numbers, as of arange.
bool is_counting(const ExprPool& pool, ExprId body) {
  return pool.dtype(body) == DType::Int64 && is_small_and_whole(pool, body) &&
         !depends_on_data(pool, std::span(&body, 1));
}

// A half type as float32: half the bytes are read where it is read through.
bool is_widened(const ExprPool& pool, ExprId body) {
  if (!pool.is(body, Op::Cast)) return false;
  const DType from = pool.dtype(pool.operand(body, 0));
  return accumulator_of(from) != from && pool.dtype(body) == accumulator_of(from);
}

View view_of(ExprPool& pool, const Stage& stage, size_t k) {
  if (stage.kind != StageKind::Compute || stage.combiner.kind != CombinerKind::None) return {};
  if (stage.stop_gradient || stage.domain.reduction_rank() != 0) return {};
  const ExprId body = stage.bodies[k];
  const ExprId rows = rows_condition(pool, stage.domain);
  if (pool.is(body, Op::Constant) || is_counting(pool, body)) return {guard(pool, rows, body)};
  if (const ExprId indicator = indicator_of(pool, body); indicator.valid())
    return {guard(pool, rows, indicator)};
  if (is_one_of_a_row(pool, body)) return {guard(pool, rows, body)};
  const ExprId read = is_widened(pool, body) ? pool.operand(body, 0) : body;
  if (!pool.is(read, Op::Read) || depends_on_data(pool, pool.operands(read))) return {};
  const std::vector<ExprId> index(pool.read_index(read).begin(), pool.read_index(read).end());
  const ExprId moved = pool.read(pool.read_tensor(read), pool.dtype(read), index,
                                 both(pool, pool.read_predicate(read), rows));
  return {pool.cast(moved, pool.dtype(body))};
}

class ViewInliner {
 public:
  explicit ViewInliner(Graph graph)
      : graph_(std::move(graph)), pool_(graph_.pool), views_(graph_.tensors.size()) {}

  Graph operator()() {
    for (Stage& stage : graph_.stages) {
      rewrite(stage);
      for (TensorId& operand : stage.operands) operand = original(operand);
      if (stage.initial.valid()) stage.initial = original(stage.initial);
      if (stage.kind != StageKind::Compute) continue;
      for (size_t k = 0; k < stage.results.size(); ++k)
        views_[stage.results[k].value] = view_of(pool_, stage, k);
    }
    for (TensorId& output : graph_.outputs) output = original(output);
    return std::move(graph_);
  }

 private:
  // The tensor that this one is a whole, unchanged copy of; itself when there is none.
  TensorId original(TensorId tensor) {
    const View& view = views_[tensor.value];
    if (!view.valid() || !pool_.is(view.element, Op::Read)) return tensor;
    const TensorId base = pool_.read_tensor(view.element);
    const TensorInfo& info = graph_.info(tensor);
    if (graph_.info(base).shape != info.shape) return tensor;
    const std::vector<ExprId> point = axes(pool_, info.shape.size());
    return view.element == read(graph_, base, point) ? base : tensor;
  }

  void rewrite(Stage& stage) {
    const std::vector<ExprId> roots = expressions_of(stage);
    const bool is_view = stage.bodies.size() == 1 && pool_.is(stage.bodies[0], Op::Read) &&
                         stage.combiner.kind == CombinerKind::None;
    std::unordered_map<uint32_t, ExprId> replacements;
    for (ExprId id : reachable(pool_, roots)) {
      if (!pool_.is(id, Op::Read) || !views_[pool_.read_tensor(id).value].valid()) continue;
      const ExprId now = composed(id, stage.domain, is_view);
      if (now.valid()) replacements.emplace(id.value, now);
    }
    if (replacements.empty()) return;
    const std::vector<ExprId> rewritten = replace_nodes(pool_, roots, replacements);
    std::copy_n(rewritten.begin(), stage.bodies.size(), stage.bodies.begin());
    std::copy(rewritten.begin() + static_cast<long>(stage.bodies.size()), rewritten.end(),
              stage.target.begin());
  }

  // The read through the view; invalid when it depends on data (its bounds check would be lost) or
  // needs more floor divisions than it saves.
  ExprId composed(ExprId id, const Domain& domain, bool reader_is_view) {
    if (depends_on_data(pool_, pool_.operands(id))) return {};
    const View& view = views_[pool_.read_tensor(id).value];
    const std::vector<ExprId> index(pool_.read_index(id).begin(), pool_.read_index(id).end());
    const ExprId predicate = pool_.read_predicate(id);
    const ExprId element = substitute_axes(pool_, view.element, index);
    if (!pool_.is(element, Op::Read)) return guard(pool_, predicate, element);
    const IndexMap map = index_map(pool_, pool_.read_index(element), domain);
    if (!map.is_affine()) return {};
    size_t allowed = divisions_of(index, domain);
    if (reader_is_view)
      allowed =
          std::max(allowed, divisions_of(pool_.read_index(view.element),
                                         shape_box(graph_.info(pool_.read_tensor(id)).shape)));
    if (map.domain.divisions.size() > allowed) return {};
    std::vector<ExprId> coordinates;
    for (const std::optional<Affine>& form : map.forms)
      coordinates.push_back(to_expr(pool_, *form, map.domain));
    return pool_.read(pool_.read_tensor(element), pool_.dtype(element), coordinates,
                      both(pool_, predicate, pool_.read_predicate(element)));
  }

  size_t divisions_of(std::span<const ExprId> index, const Domain& domain) const {
    return index_map(pool_, index, domain).domain.divisions.size();
  }

  Graph graph_;
  ExprPool& pool_;
  std::vector<View> views_;
};

}  // namespace

Graph inline_views(Graph graph) { return ViewInliner(std::move(graph))(); }

}  // namespace adjit::diff
