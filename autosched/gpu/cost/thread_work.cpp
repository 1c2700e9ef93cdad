// autosched/gpu/cost/thread_work.cpp -- instructions that threads execute for the values of a nest.
#include "autosched/gpu/cost/thread_work.hpp"

#include <algorithm>
#include <span>
#include <unordered_map>

#include "autosched/analysis/work.hpp"
#include "autosched/program/threads.hpp"

namespace adjit::sched {
namespace {

// Axes of a stage, a bit each; those past the last bit share it.
using Axes = uint64_t;

Axes axis_bit(size_t axis) { return Axes{1} << std::min<size_t>(axis, 63); }

// Iterations, of all threads, of the loops around values that change with these axes. Instances of
// a tile have in common what their axes do not change, in whatever order its loops are.
class Iterations {
 public:
  explicit Iterations(const NestRoles& nest) : nest_(nest) {}

  double operator()(Axes axes) {
    const auto [known, is_new] = known_.try_emplace(axes, 1);
    if (is_new) known->second = counted(axes);
    return known->second;
  }

 private:
  double counted(Axes axes) const {
    const PlacedNest& placed = *nest_.nest;
    size_t end = placed.first;
    for (size_t l = placed.first; l < placed.path.size(); ++l)
      if (axes & axis_bit(placed.path[l].axis)) end = l + 1;
    double count = 1;
    for (const RoleOfLoop& role : nest_.roles) {
      const Loop& loop = placed.path[role.loop];
      const bool alone = role.role == Role::Step || role.role == Role::Lane;
      const bool around = in_tile(loop) && role.loop >= placed.first
                              ? (axes & axis_bit(loop.axis)) != 0
                              : role.loop < end;
      if (!alone || around) count *= role.trips;
    }
    return count;
  }

  const NestRoles& nest_;
  std::unordered_map<Axes, double> known_;
};

// Of a thread that gets what those before it have of a running reduction: five shuffles with their
// choices and additions, and as many warps' results (a guess).
constexpr double kPrefixOperations = 50;

double operations_of_prefixes(const LoweredGraph& graph, const NestRoles& nest) {
  const Nest& own = *nest.nest->nest;
  const Stage& stage = graph.stages[own.stage];
  const Running* running = running_of(graph, stage);
  if (!running || threads_together(*running, own) == 1) return 0;
  double times = 1;
  for (const RoleOfLoop& role : nest.roles) {
    const Loop& loop = nest.nest->path[role.loop];
    if (loop.kind != LoopKind::Vector && loop.kind != LoopKind::Unrolled) times *= role.trips;
  }
  return times * kPrefixOperations * static_cast<double>(stage.bodies.size());
}

// Nodes of a sum's bodies that its additions are, and that nothing else needs: choices between a
// term and zero, where the emitter predicates them, and products.
std::vector<ExprId> parts_of_additions(const ExprPool& pool, const Stage& stage,
                                       std::span<const ExprId> values) {
  std::vector<ExprId> parts;
  if (stage.combiner.kind != CombinerKind::Sum) return parts;
  const auto uses = [&](ExprId id) {
    size_t count = 0;
    for (const ExprId value : values)
      for (const ExprId operand : pool.operands(value)) count += operand == id ? 1 : 0;
    return count;
  };
  for (ExprId body : stage.bodies) {
    size_t inside = 0;  // uses as a part of an addition
    if (adds_chosen_terms(pool, stage) && is_choice_of_term(pool, body) && uses(body) == 0) {
      parts.push_back(body);
      body = pool.operand(body, 1);
      inside = 1;
    }
    if (pool.is(body, Op::Mul) && is_float(pool.dtype(body)) && uses(body) == inside)
      parts.push_back(body);
  }
  return parts;
}

}  // namespace

double operations_of(const LoweredGraph& graph, const NestRoles& nest) {
  const Stage& stage = graph.stages[nest.nest->nest->stage];
  const ExprPool& pool = graph.pool;
  Iterations iterations(nest);
  std::unordered_map<uint32_t, Axes> axes;
  double operations = operations_of_prefixes(graph, nest);
  std::vector<ExprId> values = reachable(pool, stage.bodies);
  std::ranges::sort(values);  // operands before what is made of them
  const std::vector<ExprId> additions = parts_of_additions(pool, stage, values);
  for (ExprId id : values) {
    Axes& mine = axes[id.value];
    if (pool.is(id, Op::Axis)) mine = axis_bit(pool.axis_number(id));
    for (ExprId operand : pool.operands(id)) mine |= axes[operand.value];
    const bool is_index = pool.dtype(id) == DType::Int64 && !pool.is(id, Op::Read);
    if (!is_index && std::ranges::find(additions, id) == additions.end())
      operations += operation_cost(pool, id) * iterations(mine);
  }
  if (stage.domain.reduction_rank() == 0) return operations;
  return operations + static_cast<double>(stage.bodies.size()) * iterations(~Axes{0});
}

}  // namespace adjit::sched
