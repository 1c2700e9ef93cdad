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

// A read at a place that data names, widened where it is of a half type.
ExprId read_of(const ExprPool& pool, ExprId element) {
  return pool.is(element, Op::Cast) ? pool.operand(element, 0) : element;
}

TensorId tensor_of(const ExprPool& pool, ExprId element) {
  return pool.read_tensor(read_of(pool, element));
}

// The reads of the body whose index names data, ascending.
std::vector<ExprId> data_reads(const ExprPool& pool, ExprId body) {
  std::vector<ExprId> reads;
  for (ExprId id : reachable(pool, std::span(&body, 1)))
    if (pool.is(id, Op::Read) && is_float(pool.dtype(id)) &&
        contains_read(pool, pool.read_index(id)))
      reads.push_back(id);
  return reads;
}

using LinearTerms = std::vector<LinearTerm>;

bool has_zero(const ExprPool& pool, const LinearTerm& term) {
  return std::ranges::any_of(term.factors, [&](ExprId factor) { return pool.is_zero(factor); });
}

// The start of a sum that a loop wrote.
bool is_zero(const ExprPool& pool, const LinearTerm& term) {
  return !term.element.valid() && term.factors.size() == 1 && has_zero(pool, term);
}

// The term without its element.
ExprId weight_of(ExprPool& pool, const LinearTerm& term, DType dtype) {
  const ExprId product = product_of_factors(pool, term.factors, dtype);
  return term.negative ? pool.neg(product) : product;
}

ExprId product_of(ExprPool& pool, LinearTerm term, DType dtype) {
  if (term.element.valid()) term.factors.push_back(term.element);
  return weight_of(pool, term, dtype);
}

// Terms that read the same tensor, in the order of their first ones; the others last.
std::vector<LinearTerms> by_tensor(const ExprPool& pool, const LinearTerms& terms) {
  std::vector<LinearTerms> groups;
  for (const LinearTerm& term : terms) {
    const auto same = std::ranges::find_if(groups, [&](const LinearTerms& group) {
      const ExprId element = group[0].element;
      return element.valid() == term.element.valid() &&
             (!term.element.valid() || tensor_of(pool, element) == tensor_of(pool, term.element));
    });
    if (same == groups.end()) {
      groups.push_back({term});
    } else {
      same->push_back(term);
    }
  }
  return groups;
}

// Terms of one element as one, weighed by the sum of their weights: a + f * (b - a) has two
// of a.
LinearTerms with_elements_apart(ExprPool& pool, const LinearTerms& terms) {
  LinearTerms apart;
  std::map<ExprId, std::vector<const LinearTerm*>> of;
  for (const LinearTerm& term : terms) of[term.element].push_back(&term);
  for (const LinearTerm& term : terms) {
    const std::vector<const LinearTerm*>& all = of[term.element];
    if (all[0] != &term) continue;
    apart.push_back(term);
    if (all.size() == 1) continue;
    const DType dtype = pool.dtype(term.element);
    std::vector<ExprId> weights;
    for (const LinearTerm* one : all) weights.push_back(weight_of(pool, *one, dtype));
    apart.back() = {false, {balanced_sum(pool, weights)}, term.element};
  }
  return apart;
}

// The terms of one tensor as a window, if they read each of its places once.
std::optional<Window> window_of(Graph& graph, const LinearTerms& terms, size_t first_axis) {
  ExprPool& pool = graph.pool;
  if (terms.size() < 2 || !terms[0].element.valid()) return std::nullopt;
  for (int64_t extent : graph.info(tensor_of(pool, terms[0].element)).shape)
    if (extent > kLargestGeneralized) return std::nullopt;
  const LinearTerms own = with_elements_apart(pool, terms);
  // Weighed by nothing it would be read nowhere, in range or not.
  if (std::ranges::any_of(own, [&](const LinearTerm& term) { return has_zero(pool, term); }))
    return std::nullopt;
  std::vector<ExprId> elements;
  for (const LinearTerm& term : own) elements.push_back(term.element);
  std::optional<AntiUnified> read = anti_unify(pool, elements, first_axis);
  if (!read || !is_whole_box(*read)) return std::nullopt;
  Window window{std::move(*read), {}};
  for (const LinearTerm& term : own) {
    Factors factors = term.factors;
    if (term.negative) factors.push_back(pool.constant(-1, pool.dtype(term.element)));
    std::ranges::sort(factors);
    window.weights.push_back(std::move(factors));
  }
  return window;
}

// A sum as the windows in it and the terms that are in none.
struct WindowedSum {
  std::vector<Window> windows;
  LinearTerms rest;
};

// The body of a stage as such a sum, over its axes and, behind these, those of a window. Without
// windows where it has none.
WindowedSum windowed_sum(Graph& graph, const Domain& domain, ExprId body) {
  ExprPool& pool = graph.pool;
  const DType dtype = pool.dtype(body);
  body = with_weighed_ends(pool, folded_by_ranges(pool, body, domain.extents));
  const std::vector<ExprId> reads = data_reads(pool, body);
  if (reads.size() < 2) return {};
  const auto is_element = [&](ExprId id) {
    return pool.dtype(id) == dtype && std::ranges::binary_search(reads, read_of(pool, id));
  };
  const std::optional<LinearTerms> terms = linear_form(pool, body, is_element, kMostWindowTerms);
  if (!terms) return {};
  WindowedSum sum;
  for (const LinearTerms& group : by_tensor(pool, *terms)) {
    if (std::optional<Window> window = window_of(graph, group, domain.rank())) {
      sum.windows.push_back(std::move(*window));
    } else {
      std::ranges::remove_copy_if(group, std::back_inserter(sum.rest),
                                  [&](const LinearTerm& term) { return is_zero(pool, term); });
    }
  }
  return sum;
}

// The stage as a sum over the window, too.
Stage reduced(ExprPool& pool, Stage stage, const Window& window) {
  const size_t first_axis = stage.domain.rank();
  const DType dtype = pool.dtype(window.read.expr);
  const ExprId weight = WindowWeights(pool, window, first_axis, dtype)();
  stage.bodies[0] = pool.mul(weight, window.read.expr);
  stage.combiner.kind = CombinerKind::Sum;
  stage.domain.extents.insert(stage.domain.extents.end(), window.read.extents.begin(),
                              window.read.extents.end());
  return stage;
}

// A stage for every window's sum, and the stage, which reads them in place of the terms.
std::vector<Stage> with_sums(Graph& graph, Stage stage, const WindowedSum& windowed, DType dtype) {
  ExprPool& pool = graph.pool;
  std::vector<Stage> stages;
  std::vector<ExprId> sum;
  const std::vector<ExprId> point = axes(pool, stage.domain.rank());
  for (const Window& window : windowed.windows) {
    stages.push_back(reduced(pool, stage, window));
    stages.back().results = {add_tensor(graph, graph.info(stage.results[0]).name + "_window", dtype,
                                        stage.domain.extents)};
    sum.push_back(read(graph, stages.back().results[0], point));
  }
  for (const LinearTerm& term : windowed.rest) sum.push_back(product_of(pool, term, dtype));
  stage.bodies[0] = balanced_sum(pool, sum);
  stages.push_back(std::move(stage));
  return stages;
}

bool may_apply(const Stage& stage) {
  const CombinerKind kind = stage.combiner.kind;
  return stage.kind == StageKind::Compute && stage.bodies.size() == 1 &&
         (kind == CombinerKind::None || kind == CombinerKind::Sum) && stage.domain.is_box() &&
         stage.domain.divisions.empty() &&
         std::ranges::none_of(stage.domain.extents, [](int64_t e) { return e == 0; });
}

// The stage with windows in place of terms, behind their sums; nothing where it has none.
std::vector<Stage> with_windows(Graph& graph, const Stage& stage, ExprId expanded) {
  const DType dtype = graph.pool.dtype(expanded);
  if (!is_float(dtype) || accumulator_of(dtype) != dtype) return {};
  const WindowedSum sum = windowed_sum(graph, stage.domain, expanded);
  if (sum.windows.empty()) return {};
  if (sum.windows.size() == 1 && sum.rest.empty())
    return {reduced(graph.pool, stage, sum.windows[0])};
  if (stage.combiner.kind != CombinerKind::None) return {};
  return with_sums(graph, stage, sum, dtype);
}

// What has taken other stages in has their lines, too.
void take_lines(const Graph& graph, std::vector<Stage>& stages, const std::vector<size_t>& taken) {
  for (Stage& stage : stages)
    for (size_t inner : taken)
      for (const SourceLine& line : graph.stages[inner].lines)
        if (std::ranges::find(stage.lines, line) == stage.lines.end()) stage.lines.push_back(line);
}

}  // namespace

Graph window_sums(Graph source) {
  Graph graph = with_subgraphs(std::move(source), window_sums);
  ExpandedBodies bodies(graph);
  const size_t count = graph.stages.size();
  std::vector<std::vector<Stage>> now(count);  // what takes a stage's place
  std::vector<char> dead(count, 0);
  bool any = false;
  // From the last stage on: a sum may take in the stages that it reads.
  for (size_t s = count; s-- > 0;) {
    const Stage& stage = graph.stages[s];
    if (dead[s] || !bodies.gathers_twice(s) || !may_apply(stage)) continue;
    const ExpandedBodies::Expansion expansion = bodies(s);
    now[s] = with_windows(graph, stage, expansion.body);
    if (now[s].empty()) continue;
    any = true;
    for (size_t inner : expansion.taken) dead[inner] = 1;
    take_lines(graph, now[s], expansion.taken);
  }
  if (!any) return graph;
  std::vector<Stage> stages = std::move(graph.stages);
  graph.stages.clear();
  for (size_t s = 0; s < count; ++s) {
    if (now[s].empty()) now[s].push_back(std::move(stages[s]));
    std::ranges::move(now[s], std::back_inserter(graph.stages));
  }
  return compact(std::move(graph));
}

}  // namespace adjit::diff
