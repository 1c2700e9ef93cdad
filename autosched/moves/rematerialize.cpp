// autosched/moves/rematerialize.cpp -- a stage computed a second time, so that its results need not
// be kept.
#include <algorithm>

#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/graph_edit.hpp"

namespace adjit::sched {
namespace {

// From one tensor to another; the others stay.
class Redirection {
 public:
  explicit Redirection(Graph& graph)
      : graph_(graph),
        rebuild_(graph.pool, graph.pool, [this](ExprId leaf, std::span<const ExprId> operands) {
          return read_of(leaf, operands);
        }) {}

  void add(TensorId from, TensorId to) { pairs_.emplace_back(from, to); }

  void apply(Stage& stage) {
    for (ExprId& body : stage.bodies) body = rebuild_(body);
    for (ExprId& target : stage.target) target = rebuild_(target);
    for (TensorId& operand : stage.operands) operand = now(operand);
  }

 private:
  TensorId now(TensorId id) const {
    const auto found = std::ranges::find(pairs_, id, &std::pair<TensorId, TensorId>::first);
    return found == pairs_.end() ? id : found->second;
  }

  ExprId read_of(ExprId leaf, std::span<const ExprId> operands) {
    ExprPool& pool = graph_.pool;
    if (!pool.is(leaf, Op::Read)) return {};
    const TensorId tensor = pool.read_tensor(leaf), to = now(tensor);
    if (to == tensor) return {};
    const bool guarded = pool.read_predicate(leaf).valid();
    const std::vector<ExprId> index(operands.begin(), operands.end() - (guarded ? 1 : 0));
    return pool.read(to, pool.dtype(leaf), index, guarded ? operands.back() : ExprId{});
  }

  Graph& graph_;
  std::vector<std::pair<TensorId, TensorId>> pairs_;
  Rebuilder rebuild_;
};

// Whether a stage from `reader` on reads the tensor.
bool is_read_from(const Program& program, TensorId id, size_t reader) {
  const std::vector<size_t>& readers = program.readers[id.value];
  return !readers.empty() && readers.back() >= reader;
}

void check(const Move& move, size_t reader) {
  const Program& program = move.program;
  const Stage& stage = move.stage_ref();
  move.require(stage.kind == StageKind::Compute,
               "what scans and scatters leave is not computed again");
  move.own_kernel("it is computed together with other stages");
  move.require(reader < program.graph.stages.size() &&
                   std::ranges::any_of(
                       stage.results,
                       [&](TensorId id) {
                         const std::vector<size_t>& all = program.readers[id.value];
                         return std::ranges::binary_search(all, reader);
                       }),
               "that stage does not read it");
  move.require(std::ranges::any_of(stage.results,
                                   [&](TensorId id) {
                                     const std::vector<size_t>& all = program.readers[id.value];
                                     return !all.empty() && all.front() < reader;
                                   }),
               "nothing reads it before that stage");
  for (TensorId id : stage.results)
    for (size_t later : program.readers[id.value])
      move.require(later < reader || program.graph.stages[later].initial != id,
                   "a scatter writes on top of its results");
}

}  // namespace

Program rematerialize(Program program, size_t stage, size_t reader) {
  const Move move = begin_move("rematerialize", program, stage);
  check(move, reader);
  move.record({{"reader", stage_name(program.graph, program.graph.stages[reader])}});
  Stage again = program.graph.stages[stage];
  Redirection redirection(program.graph);
  std::vector<size_t> kept;  // of its results
  for (size_t k = 0; k < again.results.size(); ++k)
    if (!combines_each(again.combiner) || is_read_from(program, again.results[k], reader))
      kept.push_back(k);
  std::vector<TensorId> results;
  std::vector<ExprId> bodies;
  for (size_t k : kept) {
    const TensorInfo info = program.graph.info(again.results[k]);
    results.push_back(add_tensor(program.graph, info.name + "_again", info.dtype, info.shape));
    bodies.push_back(again.bodies[k]);
    redirection.add(again.results[k], results.back());
  }
  for (const Stage& other : program.graph.stages)
    again.region = std::max(again.region, other.region + 1);
  const auto running = program.graph.running.find(stage_key(again));
  again.results = std::move(results);
  if (running != program.graph.running.end())
    program.graph.running.emplace(stage_key(again), running->second);
  again.bodies = std::move(bodies);
  for (size_t s = reader; s < program.graph.stages.size(); ++s)
    redirection.apply(program.graph.stages[s]);
  insert_stage(program, reader, std::move(again));
  return program;
}

}  // namespace adjit::sched
