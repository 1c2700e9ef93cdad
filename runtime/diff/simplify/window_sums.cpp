// runtime/diff/simplify/window_sums.cpp -- terms that read a window element by element as one sum
// over it.
//
// Worked example, bilinear interpolation at a place that data names (y, x, with weights f, g):
//   (1 - f) * ((1 - g) * t[y, x] + g * t[y, x + 1])
//     + f * ((1 - g) * t[y + 1, x] + g * t[y + 1, x + 1])
//   ->  sum over a, b < 2 of select(a == 0, 1 - f, f) * select(b == 0, 1 - g, g) * t[y + a, x + b]
// The terms may stand in stages of their own, as composed operators leave them
// (expanded_bodies.hpp). A reduction says that the four reads share their place; four terms do not.
// So the derivative has one scatter of the window instead of four scatters, and schedules take rows
// of windows at once.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "runtime/diff/conditions/condition.hpp"
#include "runtime/diff/rewrite/anti_unify.hpp"
#include "runtime/diff/rewrite/linear_form.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/simplify/expanded_bodies.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/expr/range_fold.hpp"
#include "runtime/graph/subgraphs.hpp"

namespace adjit::diff {
namespace {

// Terms of a window: 4 x 4 corners of a bicubic cell, 2^5 of a linear one in five dimensions.
constexpr size_t kMostWindowTerms = 32;

using Factors = std::vector<ExprId>;

// What all of the sets have, each set sorted; elements may repeat.
Factors common_to(const std::vector<const Factors*>& sets) {
  Factors common = *sets[0];
  for (const Factors* set : sets) {
    Factors both_have;
    std::ranges::set_intersection(common, *set, std::back_inserter(both_have));
    common = std::move(both_have);
  }
  return common;
}

Factors without(const Factors& all, const Factors& some) {
  Factors rest;
  std::ranges::set_difference(all, some, std::back_inserter(rest));
  return rest;
}

// A window: its reads as one over new axes, and what weighs them.
struct Window {
  AntiUnified read;
  std::vector<Factors> weights;  // per term, sorted
};

// Weights of a window as an expression of its axes.
class WindowWeights {
 public:
  WindowWeights(ExprPool& pool, const Window& window, size_t first_axis, DType dtype)
      : pool_(pool), window_(window), first_axis_(first_axis), dtype_(dtype) {}

  ExprId operator()() {
    const std::optional<ExprId> separated = by_axis();
    return separated ? *separated : by_term();
  }

 private:
  size_t axis_count() const { return window_.read.extents.size(); }

  // A product of one choice per axis, where the weights are such products.
  std::optional<ExprId> by_axis() {
    const Factors shared = common_to(terms_with(0, -1));
    std::vector<std::vector<Factors>> own(axis_count());  // per axis and value
    for (size_t a = 0; a < axis_count(); ++a)
      for (int64_t v = 0; v < window_.read.extents[a]; ++v)
        own[a].push_back(without(common_to(terms_with(a, v)), shared));
    for (size_t t = 0; t < window_.weights.size(); ++t) {
      Factors all = shared;
      for (size_t a = 0; a < axis_count(); ++a) {
        const Factors& part = own[a][static_cast<size_t>(window_.read.values[t][a])];
        all.insert(all.end(), part.begin(), part.end());
      }
      std::ranges::sort(all);
      if (all != window_.weights[t]) return std::nullopt;
    }
    Factors product = shared;
    for (size_t a = 0; a < axis_count(); ++a) {
      std::vector<ExprId> values;
      for (const Factors& part : own[a]) values.push_back(product_of_factors(pool_, part, dtype_));
      product.push_back(chosen(a, values));
    }
    return product_of_factors(pool_, product, dtype_);
  }

  // Every term's own weight, chosen by all axes.
  ExprId by_term() {
    std::map<std::vector<int64_t>, ExprId> of;
    for (size_t t = 0; t < window_.weights.size(); ++t)
      of[window_.read.values[t]] = product_of_factors(pool_, window_.weights[t], dtype_);
    std::vector<int64_t> prefix;
    return chosen_below(of, prefix);
  }

  ExprId chosen_below(const std::map<std::vector<int64_t>, ExprId>& of,
                      std::vector<int64_t>& prefix) {
    const size_t axis = prefix.size();
    if (axis == axis_count()) return of.at(prefix);
    std::vector<ExprId> values;
    for (int64_t v = 0; v < window_.read.extents[axis]; ++v) {
      prefix.push_back(v);
      values.push_back(chosen_below(of, prefix));
      prefix.pop_back();
    }
    return chosen(axis, values);
  }

  // values[v] where the axis is v.
  ExprId chosen(size_t axis, const std::vector<ExprId>& values) {
    ExprId result = values.back();
    for (size_t v = values.size() - 1; v-- > 0;) {
      const ExprId here = pool_.make(
          Op::Eq, {pool_.axis(first_axis_ + axis), pool_.constant_int(static_cast<int64_t>(v))});
      result = pool_.select(here, values[v], result);
    }
    return result;
  }

  // The weights of terms at a value of an axis; of all terms for a negative value.
  std::vector<const Factors*> terms_with(size_t axis, int64_t value) const {
    std::vector<const Factors*> sets;
    for (size_t t = 0; t < window_.weights.size(); ++t)
      if (value < 0 || window_.read.values[t][axis] == value) sets.push_back(&window_.weights[t]);
    return sets;
  }

  ExprPool& pool_;
  const Window& window_;
  size_t first_axis_;
  DType dtype_;
};

class WindowSums {
 public:
  explicit WindowSums(Graph graph) : graph_(std::move(graph)), pool_(graph_.pool) {}

  Graph operator()() {
    ExpandedBodies bodies(graph_);
    const size_t count = graph_.stages.size();
    std::vector<std::vector<Stage>> now(count);  // what takes a stage's place
    std::vector<char> dead(count, 0);
    bool any = false;
    // From the last stage on: a sum may take in the stages that it reads.
    for (size_t s = count; s-- > 0;) {
      const Stage& stage = graph_.stages[s];
      if (!dead[s] && bodies.gathers_twice(s) && may_apply(stage)) {
        const ExpandedBodies::Expansion expansion = bodies(s);
        now[s] = rewritten(stage, expansion.body);
        if (!now[s].empty()) {
          for (size_t inner : expansion.taken) dead[inner] = 1;
          take_lines(now[s], expansion.taken);
        }
      }
      any = any || !now[s].empty();
    }
    if (!any) return std::move(graph_);
    std::vector<Stage> stages = std::move(graph_.stages);
    graph_.stages.clear();
    for (size_t s = 0; s < count; ++s) {
      if (now[s].empty()) now[s].push_back(std::move(stages[s]));
      std::ranges::move(now[s], std::back_inserter(graph_.stages));
    }
    return compact(std::move(graph_));
  }

 private:
  using Terms = std::vector<LinearTerm>;

  // What has taken other stages in has their lines, too.
  void take_lines(std::vector<Stage>& stages, const std::vector<size_t>& taken) const {
    for (Stage& stage : stages)
      for (size_t inner : taken)
        for (const SourceLine& line : graph_.stages[inner].lines)
          if (std::ranges::find(stage.lines, line) == stage.lines.end())
            stage.lines.push_back(line);
  }

  static bool may_apply(const Stage& stage) {
    const CombinerKind kind = stage.combiner.kind;
    return stage.kind == StageKind::Compute && stage.bodies.size() == 1 &&
           (kind == CombinerKind::None || kind == CombinerKind::Sum) && stage.domain.is_box() &&
           stage.domain.divisions.empty() &&
           std::ranges::none_of(stage.domain.extents, [](int64_t e) { return e == 0; });
  }

  // The stage with windows in place of terms, behind their sums; nothing where it has none.
  std::vector<Stage> rewritten(const Stage& stage, ExprId expanded) {
    const DType dtype = pool_.dtype(expanded);
    if (!is_float(dtype) || accumulator_of(dtype) != dtype) return {};
    const ExprId body =
        with_weighed_ends(pool_, folded_by_ranges(pool_, expanded, stage.domain.extents));
    find_data_reads(body);
    if (data_reads_.size() < 2) return {};
    const std::optional<Terms> terms = linear_form(
        pool_, body, [&](ExprId id) { return is_element(id, dtype); }, kMostWindowTerms);
    if (!terms) return {};
    std::vector<Terms> groups = by_tensor(*terms);
    std::vector<std::pair<Window, Terms>> windows;
    Terms rest;
    for (Terms& group : groups) {
      std::optional<Window> window = window_of(group, stage.domain.rank());
      if (window) {
        windows.emplace_back(std::move(*window), std::move(group));
      } else {
        std::ranges::remove_copy_if(group, std::back_inserter(rest),
                                    [&](const LinearTerm& term) { return is_zero(term); });
      }
    }
    if (windows.empty()) return {};
    if (windows.size() == 1 && rest.empty()) return {reduced(stage, windows[0].first, dtype)};
    if (stage.combiner.kind != CombinerKind::None) return {};
    return with_sums(stage, windows, rest, dtype);
  }

  bool has_zero(const LinearTerm& term) const {
    return std::ranges::any_of(term.factors, [&](ExprId factor) { return pool_.is_zero(factor); });
  }

  // The start of a sum that a loop wrote.
  bool is_zero(const LinearTerm& term) const {
    return !term.element.valid() && term.factors.size() == 1 && has_zero(term);
  }

  // The reads of the body whose index names data.
  void find_data_reads(ExprId body) {
    data_reads_.clear();
    for (ExprId id : reachable(pool_, std::span(&body, 1)))
      if (pool_.is(id, Op::Read) && is_float(pool_.dtype(id)) &&
          contains_read(pool_, pool_.read_index(id)))
        data_reads_.push_back(id);
  }

  // A read at a place that data names, widened where it is of a half type.
  bool is_element(ExprId id, DType dtype) const {
    const ExprId read = pool_.is(id, Op::Cast) ? pool_.operand(id, 0) : id;
    return pool_.dtype(id) == dtype && std::ranges::binary_search(data_reads_, read);
  }

  TensorId tensor_of(ExprId element) const {
    return pool_.read_tensor(pool_.is(element, Op::Cast) ? pool_.operand(element, 0) : element);
  }

  // Terms that read the same tensor, in the order of their first ones; the others last.
  std::vector<Terms> by_tensor(const Terms& terms) const {
    std::vector<Terms> groups;
    for (const LinearTerm& term : terms) {
      const auto same = std::ranges::find_if(groups, [&](const Terms& group) {
        return group[0].element.valid() == term.element.valid() &&
               (!term.element.valid() || tensor_of(group[0].element) == tensor_of(term.element));
      });
      if (same == groups.end()) {
        groups.push_back({term});
      } else {
        same->push_back(term);
      }
    }
    return groups;
  }

  // The terms of one tensor as a window, if they read each of its places once.
  std::optional<Window> window_of(const Terms& terms, size_t first_axis) {
    if (terms.size() < 2 || !terms[0].element.valid()) return std::nullopt;
    for (int64_t extent : graph_.info(tensor_of(terms[0].element)).shape)
      if (extent > kLargestGeneralized) return std::nullopt;
    const Terms own = with_elements_apart(terms);
    // Weighed by nothing it would be read nowhere, in range or not.
    if (std::ranges::any_of(own, [&](const LinearTerm& term) { return has_zero(term); }))
      return std::nullopt;
    std::vector<ExprId> elements;
    for (const LinearTerm& term : own) elements.push_back(term.element);
    std::optional<AntiUnified> read = anti_unify(pool_, elements, first_axis);
    if (!read || !is_whole_box(*read)) return std::nullopt;
    Window window{std::move(*read), {}};
    for (const LinearTerm& term : own) {
      Factors factors = term.factors;
      if (term.negative) factors.push_back(pool_.constant(-1, pool_.dtype(term.element)));
      std::ranges::sort(factors);
      window.weights.push_back(std::move(factors));
    }
    return window;
  }

  // Terms of one element as one, weighed by the sum of their weights: a + f * (b - a) has two of a.
  Terms with_elements_apart(const Terms& terms) {
    Terms apart;
    std::map<ExprId, std::vector<const LinearTerm*>> of;
    for (const LinearTerm& term : terms) of[term.element].push_back(&term);
    for (const LinearTerm& term : terms) {
      const std::vector<const LinearTerm*>& all = of[term.element];
      if (all[0] != &term) continue;
      apart.push_back(term);
      if (all.size() == 1) continue;
      const DType dtype = pool_.dtype(term.element);
      std::vector<ExprId> weights;
      for (const LinearTerm* one : all) weights.push_back(product_of(*one, dtype, false));
      apart.back() = {false, {balanced_sum(pool_, weights)}, term.element};
    }
    return apart;
  }

  ExprId body_of(const Window& window, size_t first_axis, DType dtype) {
    const ExprId weight = WindowWeights(pool_, window, first_axis, dtype)();
    return pool_.mul(weight, window.read.expr);
  }

  // The stage as a sum over the window, too.
  Stage reduced(Stage stage, const Window& window, DType dtype) {
    const size_t first_axis = stage.domain.rank();
    stage.bodies[0] = body_of(window, first_axis, dtype);
    stage.combiner.kind = CombinerKind::Sum;
    stage.domain.extents.insert(stage.domain.extents.end(), window.read.extents.begin(),
                                window.read.extents.end());
    return stage;
  }

  // A stage for every window's sum, and the stage, which reads them in place of the terms.
  std::vector<Stage> with_sums(Stage stage, const std::vector<std::pair<Window, Terms>>& windows,
                               const Terms& rest, DType dtype) {
    std::vector<Stage> stages;
    std::vector<ExprId> sum;
    const std::vector<ExprId> point = axes(pool_, stage.domain.rank());
    for (const auto& [window, terms] : windows) {
      stages.push_back(reduced(stage, window, dtype));
      stages.back().results = {add_tensor(graph_, graph_.info(stage.results[0]).name + "_window",
                                          dtype, stage.domain.extents)};
      sum.push_back(read(graph_, stages.back().results[0], point));
    }
    for (const LinearTerm& term : rest) sum.push_back(product_of(term, dtype));
    stage.bodies[0] = balanced_sum(pool_, sum);
    stages.push_back(std::move(stage));
    return stages;
  }

  // The term as an expression; without its element if `whole` is false.
  ExprId product_of(const LinearTerm& term, DType dtype, bool whole = true) {
    Factors factors = term.factors;
    if (whole && term.element.valid()) factors.push_back(term.element);
    const ExprId product = product_of_factors(pool_, factors, dtype);
    return term.negative ? pool_.neg(product) : product;
  }

  Graph graph_;
  ExprPool& pool_;
  std::vector<ExprId> data_reads_;  // of the body looked at, ascending
};

}  // namespace

Graph window_sums(Graph graph) {
  return WindowSums(with_subgraphs(std::move(graph), window_sums))();
}

}  // namespace adjit::diff
