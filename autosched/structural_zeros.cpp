// autosched/structural_zeros.cpp -- the paths through selects that lead to other values than 0.
#include "autosched/structural_zeros.hpp"

#include <algorithm>

#include "autosched/moves.hpp"
#include "autosched/rewriting.hpp"
#include "runtime/diff/condition.hpp"
#include "runtime/diff/factors.hpp"
#include "runtime/diff/guards.hpp"
#include "runtime/domain/bounds.hpp"

namespace adjit {
namespace {

class Zeros {
 public:
  explicit Zeros(const Graph& graph)
      : graph_(graph), pool_(graph.pool), producers_(defining_stages(graph)) {}

  /// Whether the value is 0 at every point of the domain.
  bool is_zero(ExprId value, const Domain& domain) {
    if (--budget_ < 0) return false;
    if (provably_empty(domain)) return true;
    if (pool_.value(value) == 0.0) return true;
    switch (pool_[value].op) {
      case Op::Cast: return is_zero(pool_.operand(value, 0), domain);
      case Op::Select: {
        const ExprId condition = pool_.operand(value, 0);
        const ExprId yes = pool_.operand(value, 1), no = pool_.operand(value, 2);
        return is_zero_where(condition, yes, domain) &&
               is_zero_where(negation(pool_, condition), no, domain);
      }
      case Op::Read: return is_zero_read(value, domain);
      default: return false;
    }
  }

 private:
  bool is_zero_where(ExprId condition, ExprId value, Domain domain) {
    return restrict_by(pool_, condition, domain).empty || is_zero(value, domain);
  }

  // What a stage over a box stored there.
  bool is_zero_read(ExprId read, const Domain& domain) {
    const size_t s = producers_[pool_.read_tensor(read).value];
    if (s == SIZE_MAX) return false;
    const Stage& stage = graph_.stages[s];
    if (stage.kind != StageKind::Compute || stage.combiner.kind != CombinerKind::None ||
        !stage.domain.is_box() || stage.bodies.size() != 1)
      return false;
    const std::vector<ExprId> index(pool_.read_index(read).begin(), pool_.read_index(read).end());
    const ExprId predicate = pool_.read_predicate(read);
    const ExprId stored = body_at(pool_, stage.bodies.front(), index, {});
    // Elsewhere the read is 0 by itself.
    return predicate.valid() ? is_zero_where(predicate, stored, domain) : is_zero(stored, domain);
  }

  const Graph& graph_;
  ExprPool pool_;  // a copy: indices are put into bodies
  std::vector<size_t> producers_;
  int budget_ = 64;  // values looked at
};

// Whether it may be: a tensor that a stage stores, which has chosen between values.
bool may_be_zero(const Graph& graph, ExprId factor) {
  const ExprPool& pool = graph.pool;
  if (pool.is(factor, Op::Cast)) factor = pool.operand(factor, 0);
  if (!pool.is(factor, Op::Read)) return false;
  const TensorId tensor = pool.read_tensor(factor);
  return std::ranges::any_of(graph.stages, [&](const Stage& stage) {
    return stage.combiner.kind == CombinerKind::None && stage.bodies.size() == 1 &&
           stage.results.front() == tensor && !pool.value(stage.bodies.front()) &&
           (pool.is(stage.bodies.front(), Op::Select) || pool.is(stage.bodies.front(), Op::Read) ||
            pool.is(stage.bodies.front(), Op::Cast));
  });
}

}  // namespace

bool is_zero_outside(const Graph& graph, const Stage& stage, const Affine& row) {
  if (!is_product_sum(graph, stage)) return false;
  Domain outside = stage.domain;
  const auto given = std::ranges::find(outside.inequalities, row);
  if (given == outside.inequalities.end()) return false;
  *given = row * -1 - Affine(1);
  std::vector<Factor> factors = factors_of(graph.pool, stage.bodies.front()).factors;
  std::erase_if(factors, [&](const Factor& f) { return f.inverse || !may_be_zero(graph, f.expr); });
  if (factors.empty()) return false;
  Zeros zeros(graph);
  return std::ranges::any_of(factors,
                             [&](const Factor& f) { return zeros.is_zero(f.expr, outside); });
}

}  // namespace adjit
