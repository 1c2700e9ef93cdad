// runtime/diff/simplify/restrict.cpp -- structurally zero terms leave the domain of a sum.
//
// Worked example: sum_k select(k == j, 1, 0) * B[k, m] becomes B[j, m]: the guard turns into the
// row k - j == 0, and the row removes the axis k. A select against 0 and a bool cast to float count
// as structural zeros even under a product (zero times an infinite other factor is then no NaN); a
// guarded read does only where nothing multiplies it. An axis may also be fixed by data, k == I[j]:
// see one_hot.hpp.
#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/diff/conditions/condition.hpp"
#include "runtime/diff/conditions/disjunction.hpp"
#include "runtime/diff/conditions/guards.hpp"
#include "runtime/diff/conditions/prefix_reduction.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/simplify/one_hot.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/domain/count.hpp"
#include "runtime/domain/fibre.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::diff {
namespace {

class Restrictor {
 public:
  Restrictor(ExprPool& pool, Domain& domain) : pool_(pool), domain_(domain) {}

  /// The body without the guards that have become rows of the domain.
  ExprId strip(ExprId id, bool under_product = false, int depth = 0) {
    constexpr int kDeepest = 64;
    if (depth > kDeepest || !is_float(pool_.dtype(id))) return id;
    const auto inner = [&](size_t k, bool product) {
      return strip(pool_.operand(id, k), product, depth + 1);
    };
    switch (pool_[id].op) {
      case Op::Select: return select(id, under_product, depth);
      case Op::Mul: return pool_.mul(inner(0, true), inner(1, true));
      case Op::Div: return pool_.div(inner(0, true), pool_.operand(id, 1));
      case Op::Neg: return pool_.neg(inner(0, under_product));
      case Op::Cast:
        if (pool_.dtype(pool_.operand(id, 0)) == DType::Bool) return indicator(id);
        return pool_.cast(inner(0, under_product), pool_.dtype(id));
      case Op::Read: return under_product ? id : guarded_read(id);
      default: return id;
    }
  }

  /// An axis that data fixes, whose condition has left the body; at most one a walk.
  const std::optional<FixedAxis>& fixed() const { return fixed_; }

 private:
  ExprId restrict_to(ExprId condition) {
    const Restriction r = restrict_by(pool_, condition, domain_);
    return r.empty ? pool_.constant_int(0, DType::Bool) : without_fixed_axis(r.rest);
  }

  // A condition without the equality by which data fixes an axis, if it has one.
  ExprId without_fixed_axis(ExprId condition) {
    if (fixed_) return condition;
    const std::vector<ExprId> literals = conjuncts(pool_, condition);
    for (size_t k = 0; k < literals.size() && !fixed_; ++k) {
      ExprId others;
      for (size_t other = 0; other < literals.size(); ++other)
        if (other != k) others = both(pool_, others, literals[other]);
      fixed_ = fixed_axis(pool_, literals[k], both(pool_, path_, others), domain_);
      if (fixed_) return others;
    }
    return condition;
  }

  ExprId select(ExprId id, bool under_product, int depth) {
    const ExprId condition = pool_.operand(id, 0);
    for (size_t zero : {size_t{2}, size_t{1}}) {
      if (!pool_.is_zero(pool_.operand(id, zero))) continue;
      const ExprId value = pool_.operand(id, 3 - zero);
      const ExprId rest = restrict_to(zero == 2 ? condition : negation(pool_, condition));
      const ExprId path = std::exchange(path_, both(pool_, path_, rest));
      const ExprId stripped = strip(value, under_product, depth + 1);
      path_ = path;
      return guard(pool_, rest, stripped);
    }
    return id;
  }

  ExprId indicator(ExprId id) {
    const ExprId rest = restrict_to(pool_.operand(id, 0));
    return rest.valid() ? pool_.cast(rest, pool_.dtype(id)) : pool_.constant(1, pool_.dtype(id));
  }

  ExprId guarded_read(ExprId id) {
    const ExprId predicate = pool_.read_predicate(id);
    if (!predicate.valid()) return id;
    const std::vector<ExprId> index(pool_.read_index(id).begin(), pool_.read_index(id).end());
    const DType dtype = pool_.dtype(id);
    const TensorId tensor = pool_.read_tensor(id);
    return pool_.read(tensor, dtype, index, restrict_to(predicate));
  }

  ExprPool& pool_;
  Domain& domain_;
  ExprId path_;  // conditions of the selects around; invalid: none
  std::optional<FixedAxis> fixed_;
};

bool equality_on_reduction(const Domain& domain) {
  return std::ranges::any_of(domain.equalities, [&](const Affine& row) {
    for (size_t k = domain.output_rank; k < row.size(); ++k)
      if (row.coefficient(k) != 0) return true;
    return false;
  });
}

// Removes reduction axes that equalities fix: the fibre of the output axes themselves.
void eliminate_fixed_axes(ExprPool& pool, Stage& stage) {
  if (!equality_on_reduction(stage.domain)) return;
  std::vector<Affine> index;
  for (size_t k = 0; k < stage.domain.output_rank; ++k) index.push_back(Affine::variable(k));
  const std::span shape(stage.domain.extents.data(), stage.domain.output_rank);
  auto pieces = fibre(stage.domain, index, shape);
  if (!pieces || pieces->size() != 1) return;
  FibrePiece& piece = pieces->front();
  stage.bodies = substitute_axes(pool, stage.bodies, to_exprs(pool, piece.original, piece.domain));
  if (piece.domain.is_box()) piece.domain.divisions.clear();
  stage.domain = std::move(piece.domain);
  if (stage.domain.reduction_rank() == 0) stage.combiner.kind = CombinerKind::None;
}

// A disjunction that decides whether the body is zero: a literal of a select against 0 or of a bool
// cast to float, under products only. Invalid when there is none.
ExprId deciding_disjunction(const ExprPool& pool, ExprId body) {
  std::vector<ExprId> stack{body};
  constexpr size_t kMostNodes = 64;
  for (size_t visited = 0; !stack.empty() && visited < kMostNodes; ++visited) {
    const ExprId id = stack.back();
    stack.pop_back();
    ExprId condition;
    switch (pool[id].op) {
      case Op::Mul: stack.push_back(pool.operand(id, 1)); [[fallthrough]];
      case Op::Div:
      case Op::Neg: stack.push_back(pool.operand(id, 0)); break;
      case Op::Cast:
        if (pool.dtype(pool.operand(id, 0)) == DType::Bool) condition = pool.operand(id, 0);
        break;
      case Op::Select:
        if (const auto other = pool.value(pool.operand(id, 2)); other && *other == 0) {
          condition = pool.operand(id, 0);
          stack.push_back(pool.operand(id, 1));
        }
        break;
      default: break;
    }
    for (ExprId literal : conjuncts(pool, condition)) {
      if (pool.is(literal, Op::Or)) return literal;
      if (pool.is(literal, Op::Not) && pool.is(pool.operand(literal, 0), Op::And)) return literal;
    }
  }
  return {};
}

// The domains that a Sum's deciding disjunction leaves, where they have clearly fewer points.
std::vector<Domain> alternatives(ExprPool& pool, const Stage& stage, ExprId disjunction) {
  constexpr double kWorthIt = 0.75;
  constexpr int64_t kBudget = 10'000;
  auto domains = disjoint_domains(pool, disjunction, stage.domain);
  const std::optional<int64_t> all = count_points(stage.domain, kBudget);
  if (!domains || !all) return {};
  int64_t points = 0;
  for (const Domain& domain : *domains) {
    const std::optional<int64_t> count = count_points(domain, kBudget);
    if (!count) return {};
    points += *count;
  }
  if (static_cast<double>(points) > kWorthIt * static_cast<double>(*all)) return {};
  return std::move(*domains);
}

class DomainRestrictor {
 public:
  explicit DomainRestrictor(Graph graph) : graph_(std::move(graph)) {}

  Graph operator()() {
    std::vector<Stage> stages = std::move(graph_.stages);
    graph_.stages.clear();
    for (Stage& stage : stages) {
      const bool single_sum = stage.kind == StageKind::Compute && stage.bodies.size() == 1 &&
                              stage.combiner.kind == CombinerKind::Sum;
      if (!single_sum || !split(stage)) {
        if (single_sum) restrict(stage);
        graph_.stages.push_back(std::move(stage));
      }
    }
    return std::move(graph_);
  }

 private:
  void restrict(Stage& stage) {
    const bool runs_on = prefix_reduction(graph_.pool, stage).has_value();
    const Stage before = runs_on ? stage : Stage{};
    take_rows(stage);
    if (runs_on && stage.domain.reduction_rank() > 0 && !prefix_reduction(graph_.pool, stage))
      stage = before;
  }

  void take_rows(Stage& stage) {
    // Every axis that data fixes takes a walk of its own: what fixes the next may have known it.
    for (bool more = true; more && stage.combiner.kind == CombinerKind::Sum;) {
      Restrictor restrictor(graph_.pool, stage.domain);
      stage.bodies[0] = restrictor.strip(stage.bodies[0]);
      more = restrictor.fixed().has_value();
      if (more) fix_axis(graph_, stage, *restrictor.fixed());
      eliminate_fixed_axes(graph_.pool, stage);
    }
  }

  // One sum per domain of a disjunction, and a stage that adds them up.
  bool split(const Stage& stage) {
    ExprPool& pool = graph_.pool;
    if (stage.stop_gradient || stage.domain.reduction_rank() == 0) return false;
    const ExprId disjunction = deciding_disjunction(pool, stage.bodies[0]);
    if (!disjunction.valid()) return false;
    const std::vector<Domain> domains = alternatives(pool, stage, disjunction);
    if (domains.empty()) return false;
    const ExprId body = replace_nodes(pool, stage.bodies,
                                      {{disjunction.value, pool.constant_int(1, DType::Bool)}})[0];
    const TensorInfo info = graph_.info(stage.results[0]);
    const std::vector<ExprId> point = axes(pool, stage.domain.output_rank);
    std::vector<ExprId> terms;
    for (const Domain& domain : domains) {
      Stage part = stage;
      part.domain = domain;
      part.bodies = {body};
      part.results = {add_tensor(graph_, info.name + "_part", info.dtype, info.shape)};
      restrict(part);
      terms.push_back(read(graph_, part.results[0], point));
      graph_.stages.push_back(std::move(part));
    }
    Stage total = stage;
    total.domain = Domain{};
    total.domain.extents = info.shape;
    total.domain.output_rank = info.shape.size();
    total.combiner = Combiner{};
    total.bodies = {balanced_sum(pool, terms)};
    graph_.stages.push_back(std::move(total));
    return true;
  }

  Graph graph_;
};

}  // namespace

Graph restrict_domains(Graph graph) { return DomainRestrictor(std::move(graph))(); }

}  // namespace adjit::diff
