// runtime/diff/simplify/reroll_sums.cpp -- terms that a loop of the user's wrote out become a sum
// again.
//
// Worked example, a stencil with weights:
//   y[i] = w[0] * x[i] + w[1] * x[i + 1] + w[2] * x[i + 2]
//     ->   y[i] = sum_{r < 3} w[r] * x[i + r]
// and, with a stage for each product, s_p[i, j] = sum_k a[i + p, k] * w[p, k, j] for p < 3:
//   y[i, j] = s_0[i, j] + s_1[i, j] + s_2[i, j]
//     ->   y[i, j] = sum_{k, p} a[i + p, k] * w[p, k, j]
// So the weights have one gradient, a sum over all points, and schedules know the contraction.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "runtime/diff/conditions/condition.hpp"
#include "runtime/diff/rewrite/anti_unify.hpp"
#include "runtime/diff/rewrite/factors.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/subgraphs.hpp"

namespace adjit::diff {
namespace {

// Below, the terms are as good as the sum.
constexpr size_t kLeastRolledTerms = 3;
// Axes that a set of them tells apart (factors.hpp).
constexpr size_t kMostAxes = 62;
// 15 x 15 weights.
constexpr size_t kMostRolledTerms = 256;

// A term of a stage's sum: over the stage's axes, and reduction axes of its own behind them.
struct Term {
  bool negative = false;
  ExprId value;                  // what is summed over `reduced`
  std::vector<int64_t> reduced;  // extents
  ExprId here;                   // the term as the stage has it
};
using Terms = std::vector<Term>;

class SumReroller {
 public:
  explicit SumReroller(Graph graph) : graph_(std::move(graph)), pool_(graph_.pool) {}

  Graph operator()() {
    find_absorbed();
    std::vector<Stage> stages = graph_.stages;
    std::vector<Stage> done;
    for (size_t s = 0; s < stages.size(); ++s) {
      if (!absorbed_[s] && may_apply(stages[s])) rewrite(stages[s], done);
      done.push_back(std::move(stages[s]));
    }
    graph_.stages = std::move(done);
    return std::move(graph_);
  }

 private:
  static bool is_sum_of_points(const Stage& stage) {
    return stage.kind == StageKind::Compute && stage.bodies.size() == 1 && stage.domain.is_box() &&
           stage.domain.divisions.empty() &&
           (stage.combiner.kind == CombinerKind::None ||
            stage.combiner.kind == CombinerKind::Sum) &&
           std::ranges::none_of(stage.domain.extents, [](int64_t e) { return e == 0; });
  }

  bool may_apply(const Stage& stage) const {
    if (!is_sum_of_points(stage)) return false;
    const DType dtype = pool_.dtype(stage.bodies[0]);
    return is_float(dtype) && accumulator_of(dtype) == dtype && is_additive(stage.bodies[0]);
  }

  bool is_additive(ExprId id) const {
    const Op op = pool_[id].op;
    return op == Op::Add || op == Op::Sub || op == Op::Neg || op == Op::Fma;
  }

  // The stages whose only reader takes them as a term of its sum.
  void find_absorbed() {
    const size_t count = graph_.stages.size();
    defined_by_ = defining_stages(graph_);
    absorbed_.assign(count, 0);
    std::vector<int> readers(graph_.tensors.size(), 0);
    for (TensorId output : graph_.outputs) readers[output.value] += 2;
    for (const Stage& stage : graph_.stages)
      for (TensorId tensor : tensors_read(graph_, stage)) ++readers[tensor.value];
    for (const Stage& stage : graph_.stages) {
      if (!may_apply(stage) || stage.combiner.kind != CombinerKind::None) continue;
      std::vector<Term> open{whole(stage.bodies[0])};
      size_t terms = 0;
      while (!open.empty() && ++terms <= 2 * kMostRolledTerms) {
        const Term term = open.back();
        open.pop_back();
        if (opened(term, open)) continue;
        const size_t s = inner_stage(stage, term.value);
        if (s != SIZE_MAX && readers[graph_.stages[s].results[0].value] == 1) absorbed_[s] = 1;
      }
    }
  }

  static Term whole(ExprId body) { return {false, body, {}, body}; }

  // Opens the parts of a sum, a difference, a negation; false for anything else.
  bool opened(const Term& term, std::vector<Term>& open) {
    const ExprId id = term.value;
    const auto push = [&](ExprId part, bool negated) {
      open.push_back({term.negative != negated, part, {}, part});
    };
    switch (pool_[id].op) {
      case Op::Add:
      case Op::Sub:
        push(pool_.operand(id, 1), pool_.is(id, Op::Sub));
        push(pool_.operand(id, 0), false);
        return true;
      case Op::Neg: push(pool_.operand(id, 0), true); return true;
      case Op::Fma:
        push(pool_.operand(id, 2), false);
        push(pool_.mul(pool_.operand(id, 0), pool_.operand(id, 1)), false);
        return true;
      default: return false;
    }
  }

  // The stage of whose result a term reads the element at its own point; SIZE_MAX: none.
  size_t inner_stage(const Stage& stage, ExprId term) const {
    if (!pool_.is(term, Op::Read) || pool_.read_predicate(term).valid()) return SIZE_MAX;
    const size_t s = defined_by_[pool_.read_tensor(term).value];
    if (s == SIZE_MAX) return SIZE_MAX;
    const Stage& inner = graph_.stages[s];
    if (!is_sum_of_points(inner) || inner.stop_gradient != stage.stop_gradient ||
        inner.region != stage.region || inner.domain.output_rank != stage.domain.rank() ||
        !std::ranges::equal(std::span(inner.domain.extents).first(inner.domain.output_rank),
                            stage.domain.extents))
      return SIZE_MAX;
    const std::span<const ExprId> index = pool_.read_index(term);
    for (size_t d = 0; d < index.size(); ++d)
      if (stage.domain.extents[d] != 1 &&
          (!pool_.is(index[d], Op::Axis) || pool_.axis_number(index[d]) != d))
        return SIZE_MAX;
    return s;
  }

  // The terms of a stage's sum, through the stages that it absorbs; nullopt: too many.
  std::optional<Terms> terms_of(const Stage& stage) {
    Terms found;
    std::vector<Term> open{whole(stage.bodies[0])};
    const std::vector<int64_t> own(
        stage.domain.extents.begin() + static_cast<ptrdiff_t>(stage.domain.output_rank),
        stage.domain.extents.end());
    while (!open.empty()) {
      if (open.size() + found.size() > kMostRolledTerms) return std::nullopt;
      Term term = open.back();
      open.pop_back();
      if (opened(term, open)) continue;
      const size_t s =
          stage.combiner.kind == CombinerKind::None ? inner_stage(stage, term.value) : SIZE_MAX;
      if (s != SIZE_MAX && absorbed_[s]) {
        const Stage& inner = graph_.stages[s];
        term.value = inner.bodies[0];
        if (inner.combiner.kind == CombinerKind::None && is_additive(term.value)) {
          open.push_back(term);
          continue;
        }
        term.reduced.assign(
            inner.domain.extents.begin() + static_cast<ptrdiff_t>(inner.domain.output_rank),
            inner.domain.extents.end());
      } else {
        term.reduced = own;
      }
      // The start of a sum that a loop wrote is left out.
      if (!pool_.is_zero(term.value)) found.push_back(std::move(term));
    }
    return found;
  }

  void rewrite(Stage& stage, std::vector<Stage>& done) {
    const std::optional<Terms> terms = terms_of(stage);
    if (!terms || terms->size() < kLeastRolledTerms) return;
    Terms rest;
    std::vector<std::pair<Terms, AntiUnified>> rolled;
    for (Terms& group : alike(*terms)) {
      std::optional<AntiUnified> sum = rolled_up(group, stage.domain.output_rank);
      if (sum) {
        rolled.emplace_back(std::move(group), std::move(*sum));
      } else {
        rest.insert(rest.end(), group.begin(), group.end());
      }
    }
    if (rolled.empty()) return;
    if (rolled.size() == 1 && rest.empty())
      return make_sum(stage, rolled[0].first[0], rolled[0].second);
    if (stage.combiner.kind != CombinerKind::None) return;
    std::vector<ExprId> parts;
    for (const auto& [group, sum] : rolled) {
      Stage part = stage;
      make_sum(part, group[0], sum);
      part.results = {add_tensor(graph_, graph_.info(stage.results[0]).name + "_terms",
                                 pool_.dtype(stage.bodies[0]), stage.domain.extents)};
      parts.push_back(read(graph_, part.results[0], axes(pool_, stage.domain.rank())));
      done.push_back(std::move(part));
    }
    for (const Term& term : rest) parts.push_back(term.negative ? pool_.neg(term.here) : term.here);
    stage.bodies = {balanced_sum(pool_, parts)};
  }

  // Terms that may be one, in the order of their first ones: of a sign, over the same axes, made of
  // the same tensors.
  std::vector<Terms> alike(const Terms& terms) const {
    std::vector<Terms> groups;
    std::map<std::tuple<bool, std::vector<int64_t>, std::vector<TensorId>>, size_t> known;
    for (const Term& term : terms) {
      std::vector<TensorId> tensors;
      for (ExprId id : reachable(pool_, std::span(&term.value, 1)))
        if (pool_.is(id, Op::Read)) tensors.push_back(pool_.read_tensor(id));
      std::ranges::sort(tensors);
      const auto [at, fresh] =
          known.try_emplace({term.negative, term.reduced, std::move(tensors)}, groups.size());
      if (fresh) groups.emplace_back();
      groups[at->second].push_back(term);
    }
    return groups;
  }

  // The terms as one over new axes, of which they are each point once. Two different reads at least
  // move along them: sums of one tensor's neighbours are no contraction, and stay terms.
  std::optional<AntiUnified> rolled_up(const Terms& terms, size_t output_rank) {
    if (terms.size() < kLeastRolledTerms) return std::nullopt;
    std::vector<ExprId> values;
    for (const Term& term : terms) values.push_back(term.value);
    const size_t first_axis = output_rank + terms[0].reduced.size();
    std::optional<AntiUnified> sum = anti_unify(pool_, values, first_axis);
    if (!sum || !is_whole_box(*sum)) return std::nullopt;
    if (first_axis + sum->extents.size() > kMostAxes) return std::nullopt;
    const AxisSet fresh = ~(bit(first_axis) - 1);
    size_t moving = 0;
    for (ExprId id : reachable(pool_, std::span(&sum->expr, 1))) {
      if (!pool_.is(id, Op::Read)) continue;
      for (int64_t extent : graph_.info(pool_.read_tensor(id)).shape)
        if (extent > kLargestGeneralized) return std::nullopt;
      moving += (axes_used(pool_, id) & fresh) != 0 ? 1 : 0;
    }
    return moving >= 2 ? sum : std::nullopt;
  }

  // The stage as a sum over the axes of a term and those of all terms.
  void make_sum(Stage& stage, const Term& first, const AntiUnified& sum) {
    std::vector<int64_t>& extents = stage.domain.extents;
    extents.resize(stage.domain.output_rank);
    extents.insert(extents.end(), first.reduced.begin(), first.reduced.end());
    extents.insert(extents.end(), sum.extents.begin(), sum.extents.end());
    stage.combiner.kind = CombinerKind::Sum;
    stage.bodies = {first.negative ? pool_.neg(sum.expr) : sum.expr};
  }

  Graph graph_;
  ExprPool& pool_;
  std::vector<size_t> defined_by_;  // per tensor
  std::vector<char> absorbed_;      // per stage
};

}  // namespace

Graph reroll_sums(Graph graph) {
  return SumReroller(with_subgraphs(std::move(graph), reroll_sums))();
}

}  // namespace adjit::diff
