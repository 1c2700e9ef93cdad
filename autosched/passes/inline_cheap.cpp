// autosched/passes/inline_cheap.cpp -- which stages are better computed again by their readers than
// stored.
#include "autosched/passes/inline_cheap.hpp"

#include <algorithm>

#include "autosched/analysis/reads/join_chain.hpp"
#include "autosched/analysis/work.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/moves/substitution.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {
namespace {

// A body that several stages read is stored once it has grown to this: their bodies must have room
// for a few such.
constexpr size_t kSharedBodyLimit = kBodyLimit / 4;

class Planner {
 public:
  Planner(const Program& program, const Shapes& again)
      : scratch_(program.graph),
        again_(again),
        readers_(program.readers),
        meter_(scratch_.pool),
        substitution_(scratch_),
        producers_(defining_stages(scratch_)),
        returned_(scratch_.tensors.size(), false),
        joined_(scratch_.tensors.size(), false),
        states_(scratch_.stages.size()) {
    for (TensorId id : scratch_.outputs) returned_[id.value] = true;
    for (const Stage& stage : scratch_.stages)
      for (TensorId id : joined_tensors(scratch_, stage)) joined_[id.value] = true;
  }

  InliningPlan operator()() {
    read_of_.resize(scratch_.stages.size());
    for (size_t s = 0; s < scratch_.stages.size(); ++s)
      read_of_[s] = meter_.reads(scratch_.stages[s].bodies);
    for (size_t s = 0; s < scratch_.stages.size(); ++s) visit(s);
    InliningPlan plan;
    for (size_t s = 0; s < states_.size(); ++s)
      if (states_[s].substituted)
        (states_[s].returned ? plan.recomputed : plan.inlined).push_back(s);
    return plan;
  }

 private:
  struct State {
    bool substituted = false, returned = false;
    size_t nodes = 0;  // of the body with what is substituted into it; may count shared nodes twice
  };

  void visit(size_t s) {
    Stage& stage = scratch_.stages[s];
    if (stage.kind != StageKind::Compute) return;
    std::vector<size_t> producers;
    for (ExprId read : read_of_[s]) {
      const size_t p = producers_[scratch_.pool.read_tensor(read).value];
      if (p != SIZE_MAX && states_[p].substituted) producers.push_back(p);
    }
    const size_t reads = producers.size();
    std::ranges::sort(producers);
    producers.erase(std::ranges::unique(producers).begin(), producers.end());
    size_t nodes = meter_(stage.bodies).nodes;
    for (size_t p : producers) nodes += states_[p].nodes;
    while (nodes > kBodyLimit && !producers.empty()) {
      nodes = counted(stage, producers);
      if (nodes <= kBodyLimit) break;
      const auto largest =
          std::ranges::max_element(producers, {}, [&](size_t p) { return states_[p].nodes; });
      states_[*largest].substituted = false;
      substitution_.forget(scratch_.stages[*largest]);
      producers.erase(largest);
    }
    if (!producers.empty()) substitution_.apply(stage);
    // A body that is read at several points comes into this one as often.
    if (reads > producers.size()) nodes = std::max(nodes, meter_(stage.bodies).nodes);
    states_[s].nodes = nodes;
    decide(s);
  }

  // Distinct nodes of a body together with the bodies that would come into it.
  size_t counted(const Stage& stage, std::span<const size_t> producers) {
    std::vector<ExprId> roots = stage.bodies;
    for (size_t p : producers) {
      const std::vector<ExprId>& bodies = scratch_.stages[p].bodies;
      roots.insert(roots.end(), bodies.begin(), bodies.end());
      states_[p].nodes = meter_(bodies).nodes;
    }
    return meter_(roots).nodes;
  }

  void decide(size_t s) {
    const Stage& stage = scratch_.stages[s];
    State& state = states_[s];
    if (stage.combiner.kind != CombinerKind::None) return;
    for (TensorId id : stage.results) {
      state.returned |= returned_[id.value];
      for (size_t reader : readers_[id.value])
        if (scratch_.stages[reader].kind != StageKind::Compute) return;
    }
    state.substituted = worth_substituting(stage, state.returned, state.nodes);
    if (state.substituted) substitution_.replace(stage);
  }

  // Whether a reader reduces over the stage's rows: it needs all of them for each of its results.
  bool is_read_across_rows(const Stage& stage) {
    const std::vector<int64_t>& shape = scratch_.info(stage.results[0]).shape;
    const auto rows = std::ranges::find_if(shape, [](int64_t extent) { return extent > 1; });
    if (rows == shape.end()) return false;
    for (TensorId id : stage.results)
      for (size_t reader : readers_[id.value])
        for (ExprId read : read_of_[reader]) {
          if (scratch_.pool.read_tensor(read) != id) continue;
          const ExprId roots[] = {
              scratch_.pool.read_index(read)[static_cast<size_t>(rows - shape.begin())]};
          const size_t outputs = scratch_.stages[reader].domain.output_rank;
          for (ExprId node : reachable(scratch_.pool, roots))
            if (scratch_.pool.is(node, Op::Axis) && scratch_.pool.axis_number(node) >= outputs)
              return true;
        }
    return false;
  }

  // Points at which a reader would evaluate what it reads: those that differ only along a short
  // axis which the read does not depend on are copies of one tile, and share the value. So do all
  // of a row of points, where a part of the tensor is read.
  double evaluations_of(ExprId read, const Domain& domain, double most) {
    std::vector<bool> depends(domain.rank(), false);
    const ExprId roots[] = {read};
    for (ExprId id : reachable(scratch_.pool, roots))
      if (scratch_.pool.is(id, Op::Axis)) depends[scratch_.pool.axis_number(id)] = true;
    double points = 1, row = 1;
    for (size_t a = 0; a < domain.rank(); ++a) {
      const auto extent = static_cast<double>(std::max<int64_t>(domain.extents[a], 1));
      if (depends[a] || domain.extents[a] > thresholds().few_points) points *= extent;
      if (!depends[a] && domain.extents[a] > thresholds().few_points && a + 1 == domain.rank())
        row = extent;
    }
    return points <= most && domain.reduction_rank() == 0 ? points / row : points;
  }

  bool worth_substituting(const Stage& stage, bool returned, size_t nodes) {
    bool pointwise = true, any = false;
    double evaluations = 0, computing = 0;  // of any result, and what these cost
    for (size_t k = 0; k < stage.results.size(); ++k) {
      const TensorId id = stage.results[k];
      const double cost = meter_(std::span(&stage.bodies[k], 1)).cost;
      for (size_t reader : readers_[id.value]) {
        any = true;
        const Stage& user = scratch_.stages[reader];
        pointwise &= user.combiner.kind == CombinerKind::None && user.domain.is_box() &&
                     user.domain.extents == stage.domain.extents;
        for (ExprId read : read_of_[reader]) {
          if (scratch_.pool.read_tensor(read) != id) continue;
          const double points = box_points(stage.domain);
          const double times = evaluations_of(read, user.domain, points) / points;
          evaluations += times;
          computing += times * cost;
          pointwise &= !scratch_.pool.read_predicate(read).valid() &&
                       is_identity(scratch_.pool, scratch_.pool.read_index(read));
        }
      }
    }
    if (!any) return false;
    size_t readers = 0;
    for (TensorId id : stage.results) readers += readers_[id.value].size();
    if (readers > 1 && nodes > kSharedBodyLimit) return false;
    if (pointwise) return true;
    if (returned) return false;
    const double cost = meter_(stage.bodies).cost;
    if (cost > 0 &&
        std::ranges::any_of(stage.results, [&](TensorId id) { return joined_[id.value]; }))
      return false;
    if (computed_again(stage)) return true;
    if (is_read_in_turn(stage) && cost > thresholds().cost_in_turn) return false;
    if (evaluations <= 1) return true;
    if (!stage.domain.is_box()) computing += 2 * (evaluations - 1);
    double bytes = 0;
    for (TensorId id : stage.results)
      bytes += static_cast<double>(scratch_.info(id).element_count()) *
               static_cast<double>(size_of(scratch_.info(id).dtype));
    const bool far = bytes > thresholds().far_store_bytes && is_read_across_rows(stage);
    return computing - cost <=
           static_cast<double>(stage.results.size()) *
               (far ? thresholds().far_store_cost : thresholds().near_store_cost);
  }

  // Whether a reader runs on along memory, point by point: what it computes is in no lanes.
  bool is_read_in_turn(const Stage& stage) const {
    for (TensorId id : stage.results)
      for (size_t reader : readers_[id.value]) {
        const Stage& user = scratch_.stages[reader];
        if (const Running* running = running_of(scratch_, user);
            running && running->axis + 1 == user.domain.output_rank)
          return true;
      }
    return false;
  }

  bool computed_again(const Stage& stage) const {
    return std::ranges::find(again_, scratch_.info(stage.results[0]).shape) != again_.end();
  }

  LoweredGraph scratch_;  // bodies with what is substituted so far
  const Shapes& again_;
  const std::vector<std::vector<size_t>>& readers_;
  WorkMeter meter_;
  Substitution substitution_;
  std::vector<size_t> producers_;             // per tensor
  std::vector<bool> returned_;                // per tensor
  std::vector<bool> joined_;                  // per tensor: a part of a join
  std::vector<std::vector<ExprId>> read_of_;  // per stage: reads in the body as it was
  std::vector<State> states_;
};

}  // namespace

InliningPlan plan_inlining(const Program& program, const Shapes& again) {
  return Planner(program, again)();
}

std::vector<size_t> sums_worth_expanding(const Program& program, const Shapes& again) {
  WorkMeter meter(program.graph.pool);
  std::vector<size_t> candidates;
  for (size_t s = 0; s < program.graph.stages.size(); ++s) {
    const Stage& stage = program.graph.stages[s];
    if (stage.kind != StageKind::Compute || stage.combiner.kind != CombinerKind::Sum ||
        stage.bodies.size() != 1 || running_of(program.graph, stage) || !stage.domain.is_box())
      continue;
    double terms = 1;
    for (size_t a = stage.domain.output_rank; a < stage.domain.rank(); ++a)
      terms *= static_cast<double>(stage.domain.extents[a]);
    const TensorInfo& info = program.graph.info(stage.results[0]);
    if (terms < 1 || terms > static_cast<double>(thresholds().few_points) ||
        accumulator_of(info.dtype) != info.dtype)
      continue;
    const bool large =
        static_cast<double>(info.element_count()) * static_cast<double>(size_of(info.dtype)) >=
        thresholds().far_store_bytes;
    const bool cheap = terms * (1 + meter(stage.bodies).cost) <= thresholds().expanded_cost;
    if (!(large && cheap) && std::ranges::find(again, info.shape) == again.end()) continue;
    candidates.push_back(s);
  }
  if (candidates.empty()) return candidates;
  Program expanded = program;
  for (size_t s : candidates) expanded = unroll_reduction(std::move(expanded), s);
  const InliningPlan plan = plan_inlining(expanded, again);
  std::erase_if(candidates, [&](size_t s) { return !std::ranges::binary_search(plan.inlined, s); });
  return candidates;
}

Program inline_cheap_stages(Program program, const Shapes& again) {
  for (size_t s : sums_worth_expanding(program, again))
    program = unroll_reduction(std::move(program), s);
  const InliningPlan plan = plan_inlining(program, again);
  if (!plan.recomputed.empty()) program = recompute(std::move(program), plan.recomputed);
  if (!plan.inlined.empty()) program = inline_stages(std::move(program), plan.inlined);
  return program;
}

}  // namespace adjit::sched
