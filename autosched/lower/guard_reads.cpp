// autosched/lower/guard_reads.cpp -- predicates for reads that are not provably in bounds.
#include "autosched/lower/guard_reads.hpp"

#include <unordered_map>
#include <utility>

#include "runtime/diff/conditions/guards.hpp"
#include "runtime/domain/bounds.hpp"
#include "runtime/expr/interval.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

class StageGuard {
 public:
  StageGuard(ExprPool& pool, const Graph& graph, Stage& stage)
      : pool_(pool), graph_(graph), stage_(stage), domain_(stage.domain) {}

  void operator()() {
    std::vector<ExprId> roots = stage_.bodies;
    roots.insert(roots.end(), stage_.target.begin(), stage_.target.end());
    for (ExprId id : reachable(pool_, roots))
      if (pool_.is(id, Op::Read)) examine(id);
    if (unproven_.empty()) return;
    Rebuilder rebuild(pool_, pool_, [&](ExprId leaf, std::span<const ExprId> operands) {
      if (!unproven_.contains(leaf.value)) return ExprId{};
      const size_t rank = graph_.info(pool_.read_tensor(leaf)).shape.size();
      const std::vector<ExprId> index(operands.begin(),
                                      operands.begin() + static_cast<std::ptrdiff_t>(rank));
      ExprId predicate =
          operands.size() > rank ? operands.back() : pool_.constant_int(1, DType::Bool);
      predicate = pool_.logical_and(predicate, in_bounds(pool_.read_tensor(leaf), leaf, index));
      return pool_.read(pool_.read_tensor(leaf), pool_.dtype(leaf), index, predicate);
    });
    for (ExprId& body : stage_.bodies) body = rebuild(body);
    for (ExprId& target : stage_.target) target = rebuild(target);
  }

 private:
  struct Sides {
    bool below = false, above = false;  // not provably >= 0, not provably < extent
    bool any() const { return below || above; }
  };

  // Of an index that is not affine.
  Sides sides(ExprId index, int64_t extent) const {
    const std::optional<ValueRange> range = interval_of(pool_, index, domain_.extents);
    return {!range || range->lo < 0, !range || range->hi >= extent};
  }

  Sides sides(const Affine& index, int64_t extent, const Domain& domain) const {
    if (const std::optional<Interval> range = box_interval(domain, index)) {
      if (range->empty()) return {};
      if (range->lo >= 0 && range->hi < extent) return {};
    }
    if (domain.is_box()) {
      const std::optional<Interval> range = box_interval(domain, index);
      return {!range || range->lo < 0, !range || range->hi >= extent};
    }
    return {!implies(domain, index), !implies(domain, Affine(extent - 1) - index)};
  }

  // Notes the sides on which a read is not proven in bounds.
  void examine(ExprId read) {
    const std::vector<int64_t>& shape = graph_.info(pool_.read_tensor(read)).shape;
    const std::vector<ExprId> index(pool_.read_index(read).begin(), pool_.read_index(read).end());
    IndexMap map = index_map(pool_, index, domain_);
    bool restricted = false, any = false;
    std::vector<Sides> needed(shape.size());
    for (size_t d = 0; d < shape.size(); ++d) {
      if (pool_.is(index[d], Op::Axis) && domain_.extents[pool_.axis_number(index[d])] <= shape[d])
        continue;
      const std::optional<Affine>& form = map.forms[d];
      needed[d] = form ? sides(*form, shape[d], map.domain) : sides(index[d], shape[d]);
      if (form && needed[d].any() && pool_.read_predicate(read).valid()) {
        if (!std::exchange(restricted, true))
          restrict_by(pool_, pool_.read_predicate(read), map.domain);
        needed[d] = sides(*form, shape[d], map.domain);
      }
      // A remainder is x - n (x // n) as a form, which forgets that both are of the same x.
      if (form && needed[d].any()) {
        const Sides by_interval = sides(index[d], shape[d]);
        needed[d] = {needed[d].below && by_interval.below, needed[d].above && by_interval.above};
      }
      any |= needed[d].any();
    }
    if (any) unproven_.emplace(read.value, std::move(needed));
  }

  ExprId in_bounds(TensorId tensor, ExprId read, std::span<const ExprId> index) {
    ExprId condition = pool_.constant_int(1, DType::Bool);
    const std::vector<Sides>& needed = unproven_.at(read.value);
    for (size_t d = 0; d < index.size(); ++d) {
      if (needed[d].below)
        condition =
            pool_.logical_and(condition, pool_.make(Op::Le, {pool_.constant_int(0), index[d]}));
      if (needed[d].above) {
        const ExprId extent = pool_.constant_int(graph_.info(tensor).shape[d]);
        condition = pool_.logical_and(condition, pool_.make(Op::Lt, {index[d], extent}));
      }
    }
    return condition;
  }

  ExprPool& pool_;
  const Graph& graph_;
  Stage& stage_;
  Domain domain_;
  std::unordered_map<uint32_t, std::vector<Sides>> unproven_;
};

}  // namespace

LoweredGraph guard_reads(LoweredGraph graph) {
  for (Stage& stage : graph.stages)
    if (stage.kind == StageKind::Compute || stage.kind == StageKind::Scatter)
      StageGuard(graph.pool, graph, stage)();
  return graph;
}

}  // namespace adjit::sched
