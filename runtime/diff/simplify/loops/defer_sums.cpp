// runtime/diff/simplify/loops/defer_sums.cpp -- sums over the steps of a scan, formed once after
// the loop.
#include "runtime/diff/simplify/loops/defer_sums.hpp"

#include <algorithm>
#include <utility>

#include "runtime/diff/rewrite/rewrite.hpp"

namespace adjit::diff {
namespace {

// Gradients of more addends than this stay in the loop: it bounds the walk through sums of sums.
constexpr size_t kMostTerms = 16;

// Half types are added up in float32: what a step would have rounded need not be.
ExprId without_rounding(const ExprPool& pool, ExprId body) {
  const DType wide = accumulator_of(pool.dtype(body));
  if (!pool.is(body, Op::Cast) || wide == pool.dtype(body)) return body;
  const ExprId inner = pool.operand(body, 0);
  return pool.dtype(inner) == wide ? inner : body;
}

bool sums_up(const Stage& stage) {
  if (stage.kind == StageKind::Scatter) return stage.combiner.kind == CombinerKind::Sum;
  return stage.kind == StageKind::Compute && stage.bodies.size() == 1 &&
         (stage.combiner.kind == CombinerKind::Sum || stage.combiner.kind == CombinerKind::None);
}

}  // namespace

SumsOverTime::SumsOverTime(Graph& step, Graph& graph, int64_t trips,
                           std::vector<std::optional<Outside>> outside,
                           std::vector<SourceLine> lines)
    : step_(step),
      graph_(graph),
      trips_(trips),
      outside_(std::move(outside)),
      lines_(std::move(lines)),
      stage_of_(defining_stages(step)) {
  outside_.resize(step.tensors.size());
}

bool SumsOverTime::take(TensorId gradient) {
  const std::optional<std::vector<Term>> terms = terms_of(gradient);
  if (!terms) return false;
  const std::vector<TensorId> fresh = to_stack(*terms);
  double per_step = 0;
  for (TensorId t : fresh) per_step += step_.info(t).bytes();
  const double size = step_.info(gradient).bytes(), steps = static_cast<double>(trips_);
  if (2 * steps * per_step + size >= 2 * steps * size) return false;
  stacked_.insert(stacked_.end(), fresh.begin(), fresh.end());
  return true;
}

void SumsOverTime::lies(TensorId step_tensor, TensorId outer) {
  outside_[step_tensor.value] = Outside{outer, true};
}

TensorId SumsOverTime::sum(TensorId gradient) {
  const std::optional<std::vector<Term>> terms = terms_of(gradient);
  invariant(terms.has_value(), "a sum over time that was not taken");
  const TensorInfo like = step_.info(gradient);
  std::vector<TensorId> parts;
  for (const Term& term : *terms) parts.push_back(emit(term, like));
  if (parts.size() == 1 && graph_.info(parts[0]).dtype == like.dtype) return parts[0];
  ExprPool& pool = graph_.pool;
  const DType wide = accumulator_of(like.dtype);
  const std::vector<ExprId> point = axes(pool, like.shape.size());
  ExprId total;
  for (TensorId part : parts) {
    const ExprId value = pool.cast(read(graph_, part, point), wide);
    total = total.valid() ? pool.add(total, value) : value;
  }
  if (!total.valid()) total = pool.constant(0, wide);
  return add_compute(graph_, like.name, shape_box(like.shape), Combiner{},
                     {pool.cast(total, like.dtype)}, lines_)[0];
}

// The addends of a gradient; nullopt when something in it is no sum over what can be stacked.
std::optional<std::vector<SumsOverTime::Term>> SumsOverTime::terms_of(TensorId gradient) {
  std::vector<Term> terms;
  std::vector<TensorId> open{gradient};
  while (!open.empty()) {
    const TensorId tensor = open.back();
    open.pop_back();
    const size_t s = stage_of_[tensor.value];
    if (s == SIZE_MAX || known(tensor)) {  // itself, every step
      const TensorInfo info = step_.info(tensor);
      const ExprId value = read(step_, tensor, axes(step_.pool, info.shape.size()));
      terms.push_back({nullptr, shape_box(info.shape), value});
    } else if (!add_terms(step_.stages[s], terms, open)) {
      return std::nullopt;
    }
    if (terms.size() > kMostTerms) return std::nullopt;
  }
  return terms;
}

bool SumsOverTime::add_terms(const Stage& stage, std::vector<Term>& terms,
                             std::vector<TensorId>& further) {
  if (!sums_up(stage)) return false;
  if (stage.kind == StageKind::Compute && stage.combiner.kind == CombinerKind::None &&
      stage.domain.is_box()) {
    split_sum(stage, terms, further);
    return true;
  }
  terms.push_back({&stage, stage.domain, stage.bodies[0]});
  if (stage.initial.valid()) further.push_back(stage.initial);
  return true;
}

// a + b + rest, where a and b are whole stages of the same shape: each is an addend of its own.
void SumsOverTime::split_sum(const Stage& stage, std::vector<Term>& terms,
                             std::vector<TensorId>& further) {
  ExprPool& pool = step_.pool;
  const DType wide = accumulator_of(pool.dtype(stage.bodies[0]));
  const std::vector<ExprId> point = axes(pool, stage.domain.rank());
  std::vector<ExprId> open{stage.bodies[0]};
  ExprId rest;
  size_t leaves = 0;
  while (!open.empty()) {
    const ExprId id = open.back();
    open.pop_back();
    const bool cast = pool.is(id, Op::Cast) && is_float(pool.dtype(id)) &&
                      is_float(pool.dtype(pool.operand(id, 0)));
    if (++leaves <= kMostTerms && (cast || pool.is(id, Op::Add))) {
      for (ExprId operand : pool.operands(id)) open.push_back(operand);
      continue;
    }
    const TensorId tensor = pool.is(id, Op::Read) ? pool.read_tensor(id) : TensorId{};
    if (tensor.valid() && step_.info(tensor).shape == stage.domain.extents &&
        stage_of_[tensor.value] != SIZE_MAX && sums_up(step_.stages[stage_of_[tensor.value]]) &&
        id == read(step_, tensor, point)) {
      further.push_back(tensor);
      continue;
    }
    const ExprId value = pool.cast(id, wide);
    rest = rest.valid() ? pool.add(rest, value) : value;
  }
  if (rest.valid()) terms.push_back({&stage, stage.domain, rest});
}

bool SumsOverTime::known(TensorId tensor) const {
  const auto listed = [&](const std::vector<TensorId>& list) {
    return std::ranges::find(list, tensor) != list.end();
  };
  return outside_[tensor.value].has_value() || listed(anyway_) || listed(stacked_);
}

// What the terms read that lies nowhere outside yet.
std::vector<TensorId> SumsOverTime::to_stack(const std::vector<Term>& terms) const {
  std::vector<TensorId> fresh;
  std::vector<char> constant(step_.tensors.size(), 0);
  for (const ConstantData& c : step_.constants) constant[c.tensor.value] = 1;
  for (const Term& term : terms) {
    std::vector<ExprId> roots{term.body};
    if (term.stage != nullptr && term.stage->kind == StageKind::Scatter)
      roots.insert(roots.end(), term.stage->target.begin(), term.stage->target.end());
    for (ExprId id : reachable(step_.pool, roots)) {
      if (!step_.pool.is(id, Op::Read)) continue;
      const TensorId t = step_.pool.read_tensor(id);
      if (!known(t) && !constant[t.value] && std::ranges::find(fresh, t) == fresh.end())
        fresh.push_back(t);
    }
  }
  return fresh;
}

TensorId SumsOverTime::outer_tensor(TensorId step_tensor) {
  std::optional<Outside>& known = outside_[step_tensor.value];
  if (known) return known->tensor;
  const auto at = std::ranges::find(step_.constants, step_tensor, &ConstantData::tensor);
  invariant(at != step_.constants.end(), "a sum over time reads what was not stacked");
  const TensorInfo info = step_.info(step_tensor);
  known = Outside{add_constant(graph_, info.name, info.dtype, info.shape, at->bytes), false};
  return known->tensor;
}

ExprId SumsOverTime::outer_expression(const Domain& domain, ExprId body) {
  return over_time_axis(step_, graph_, body, domain.output_rank, [&](TensorId inside) {
    const TensorId outer = outer_tensor(inside);
    return Outside{outer, outside_[inside.value]->sliced};
  });
}

TensorId SumsOverTime::emit(const Term& term, const TensorInfo& like) {
  Stage stage;
  stage.domain = with_time_axis(term.domain, term.domain.output_rank, trips_, true);
  stage.combiner.kind = CombinerKind::Sum;
  stage.bodies = {outer_expression(term.domain, without_rounding(step_.pool, term.body))};
  stage.lines = lines_;
  if (term.stage != nullptr && term.stage->kind == StageKind::Scatter) {
    stage.kind = StageKind::Scatter;
    stage.out_of_range = term.stage->out_of_range;
    for (ExprId index : term.stage->target)
      stage.target.push_back(outer_expression(term.domain, index));
  }
  const TensorId result =
      add_tensor(graph_, like.name, graph_.pool.dtype(stage.bodies[0]), like.shape);
  stage.results = {result};
  graph_.stages.push_back(std::move(stage));
  return result;
}

}  // namespace adjit::diff
