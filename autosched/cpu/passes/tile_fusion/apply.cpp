// autosched/cpu/passes/tile_fusion/apply.cpp -- groups of rows taken apart, and their kernels put
// together.
#include "autosched/cpu/passes/tile_fusion/apply.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "autosched/analysis/exact_counts.hpp"
#include "autosched/cpu/passes/tile_fusion/find_groups.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

// Rows of a block are walked one by one by what sums over them.
Program pad_block_rows(Program program, TensorId id) {
  const TensorInfo& info = program.graph.info(id);
  const auto size = static_cast<int64_t>(size_of(info.dtype));
  const size_t s = defining_stages(program.graph)[id.value];
  constexpr int64_t kAlikeBytes = 1024;  // rows so far apart fall into few sets of a cache
  if (info.shape.back() * size % kAlikeBytes != 0 || program.graph.stages[s].results.size() != 1)
    return program;
  return pad_leading_dimension(std::move(program), s, kLineBytes / size);
}

// The stage that computes what a stage over `rank` axes gave, which may be put together again by
// another one.
size_t stage_in_blocks(const Program& program, TensorId name, size_t rank) {
  const std::vector<size_t> producers = defining_stages(program.graph);
  const size_t s = producers[name.value];
  const Stage& named = program.graph.stages[s];
  if (named.domain.rank() > rank) return s;
  return producers[program.graph.pool.read_tensor(named.bodies[0]).value];
}

Program take_apart(Program program, const RowGroup& group, size_t chain, TaskAxes& task_axes) {
  struct Member {
    TensorId name;
    size_t rank, rank_of_results;
    RowPlace place;
  };
  std::vector<StageAxis> axes;
  std::vector<Member> members;
  for (const auto& [s, place] : group.stages) {
    const Stage& stage = program.graph.stages[s];
    axes.push_back({s, place.row});
    members.push_back({stage.results[0], stage.domain.rank(), stage.domain.output_rank, place});
  }
  std::vector<int64_t> steps{group.block};
  if (group.parts > 1)
    steps.insert(steps.begin(),
                 ceil_div(ceil_div(group.rows, group.parts), group.block) * group.block);
  program = split_axis(std::move(program), axes, steps);
  for (TensorId id : group.stored) program = pad_block_rows(std::move(program), id);
  for (const auto& [name, rank, rank_of_results, place] : members) {
    const size_t s = stage_in_blocks(program, name, rank);
    std::vector<size_t> tasks;
    for (size_t b : place.batch) tasks.push_back(b < place.row ? b : b + steps.size());
    for (size_t k = 0; k < steps.size(); ++k) tasks.push_back(place.row + k);
    // Of what sums over the rows, each batch and each part has its own sum: axes of results, which
    // are the first ones then.
    const auto split = [&](size_t& of_tasks) {
      const int64_t parts = program.graph.stages[s].domain.extents[of_tasks];
      program = rfactor(std::move(program), s, of_tasks, parts);
      for (size_t& other : tasks) ++other;
      of_tasks = 0;
    };
    for (size_t k = 0; k < place.batch.size(); ++k)
      if (place.batch[k] >= rank_of_results) split(tasks[k]);
    if (place.row >= rank_of_results && steps.size() > 1) split(tasks[place.batch.size()]);
    task_axes[program.graph.stages[s].results[0].value] = {std::move(tasks), chain};
  }
  return program;
}

// The order of a plain nest's loops with those over these axes outermost.
std::vector<size_t> tasks_first(const Nest& nest, const std::vector<size_t>& axes) {
  std::vector<size_t> order;
  for (size_t axis : axes)
    for (size_t l : loops_over(nest, axis)) order.push_back(l);
  for (size_t l = 0; l < nest.loops.size(); ++l)
    if (std::ranges::find(order, l) == order.end()) order.push_back(l);
  return order;
}

// A stage that copies what passes from one stage of a chain to another, in another layout: its
// first axes are the tasks, as their dimensions stay outermost (panels.hpp).
std::optional<BlockTasks> copies_in_chain(const Program& program, const Stage& stage,
                                          const TaskAxes& task_axes,
                                          const std::vector<size_t>& producers) {
  const ExprPool& pool = program.graph.pool;
  if (stage.kind != StageKind::Compute || running_of(program.graph, stage) ||
      stage.combiner.kind != CombinerKind::None || stage.bodies.size() != 1)
    return std::nullopt;
  ExprId read = stage.bodies[0];
  if (pool.is(read, Op::Cast)) read = pool.operand(read, 0);
  if (!pool.is(read, Op::Read)) return std::nullopt;
  const auto part_of = [&](size_t s) {
    return s == SIZE_MAX ? task_axes.end() : task_axes.find(stage_key(program.graph.stages[s]));
  };
  const auto made = part_of(producers[pool.read_tensor(read).value]);
  if (made == task_axes.end()) return std::nullopt;
  BlockTasks tasks{{}, made->second.chain};
  for (size_t dim : made->second.axes) {
    const size_t axis = tasks.axes.size();
    const std::span<const ExprId> index = pool.read_index(read);
    if (dim >= index.size() || !pool.is(index[dim], Op::Axis) ||
        pool.axis_number(index[dim]) != axis)
      return std::nullopt;
    tasks.axes.push_back(axis);
  }
  const bool read_in_chain =
      std::ranges::any_of(program.readers[stage.results.front().value], [&](size_t reader) {
        const auto part = part_of(reader);
        return part != task_axes.end() && part->second.chain == tasks.chain;
      });
  return read_in_chain ? std::optional(std::move(tasks)) : std::nullopt;
}

}  // namespace

Program block_rows(const Program& program, const CpuMachine& machine, const ReductionPlans& plans,
                   TaskAxes& task_axes, Choices& choices) {
  Program apart = take_batches_apart(program, machine);
  std::unordered_set<uint32_t> taken;
  for (const auto& [name, plan] : plans) taken.insert(name);
  std::set<TensorId> seen, settled, kept;
  size_t failures = 0, chains = 0;
  while (const std::optional<RowsFound> found =
             RowGroupFinder(apart, machine, taken, kept)(seen, settled, failures)) {
    const size_t first = found->again.empty() ? found->group.stages.begin()->first
                                              : defining_stages(apart.graph)[found->from.value];
    if (!choices.keeps(Decision::TileFusion, apart.graph, apart.graph.stages[first])) continue;
    if (!found->again.empty()) {
      // Once: what is found from here on is a group, or nothing.
      settled.insert(found->from);
      seen.erase(found->from);
      Program again = compute_rows_again(apart, found->again);
      const RowGroupFinder finder(again, machine, taken, found->kept);
      if (!std::ranges::all_of(found->expected, [&](TensorId id) { return finder.finds_from(id); }))
        continue;
      apart = std::move(again);
      kept = found->kept;
      continue;
    }
    kept = found->kept;
    apart = take_apart(std::move(apart), found->group, chains++, task_axes);
    for (const auto& [name, tasks] : task_axes) taken.insert(name);
  }
  if (chains == 0) return program;
  return apart;
}

Program gather_blocks(Program program, const TaskAxes& task_axes, TaskLoops& tasks) {
  if (task_axes.empty()) return program;
  struct Member {
    TensorId name;
    std::vector<size_t> axes;
  };
  std::map<size_t, std::vector<Member>> chains;
  const std::vector<size_t> producers = defining_stages(program.graph);
  for (const Stage& stage : program.graph.stages) {
    const TensorId name = stage.results.front();
    if (const auto settled = task_axes.find(name.value); settled != task_axes.end())
      chains[settled->second.chain].push_back({name, settled->second.axes});
    else if (auto copies = copies_in_chain(program, stage, task_axes, producers))
      chains[copies->chain].push_back({name, std::move(copies->axes)});
  }
  for (const auto& [chain, members] : chains) {
    const std::vector<size_t> now = defining_stages(program.graph);
    std::vector<size_t> stages;
    for (const Member& member : members) stages.push_back(now[member.name.value]);
    if (!can_gather(program, stages)) continue;
    program = make_adjacent(std::move(program), stages);
    const std::vector<size_t> gathered = defining_stages(program.graph);
    for (const auto& [name, axes] : members) {
      const size_t s = gathered[name.value];
      const Nest& nest = nest_of(program, s);
      size_t loops = 0;
      for (size_t axis : axes) loops += loops_over(nest, axis).size();
      program = with_order(std::move(program), s, tasks_first(nest, axes));
      tasks[name.value] = loops;
    }
  }
  return program;
}

}  // namespace adjit::sched
