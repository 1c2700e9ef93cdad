// autosched/row_blocks.cpp -- which stages share rows, and how many rows are a block.
#include "autosched/row_blocks.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "autosched/moves.hpp"
#include "autosched/nests.hpp"
#include "autosched/region.hpp"
#include "autosched/totals.hpp"
#include "autosched/work.hpp"

namespace adjit {
namespace {

constexpr int64_t kLeastRuns = 8;                      // of tasks in turn that occupy the cores
constexpr int64_t kLeastBlock = 64, kMostBlock = 256;  // of a block
constexpr double kWorthBlocks =
    0.04;                         // of the contractions' time, that passing through memory takes
constexpr int64_t kAlike = 1024;  // bytes: rows so far apart fall into few sets of a cache
constexpr size_t kMostFailures = 32;  // before no more are looked for: bounds the time that takes
constexpr size_t kMostStages = 256;   // of a chain

// The axes of a stage, or the dimensions of a tensor, that are the row and the batch around it.
struct RowPlace {
  size_t row = 0;
  std::vector<size_t> batch;
  bool operator==(const RowPlace&) const = default;
};

// Stages that have their rows in common.
struct RowGroup {
  std::map<size_t, RowPlace> stages;
  std::vector<size_t> sums;      // those of them that reduce the rows
  std::vector<TensorId> passed;  // large results over the rows, which only these stages read
  std::vector<TensorId> stored;  // those of them that contractions write or read
  int64_t rows = 0, batches = 1;
  int64_t parts = 1, block = 0;  // of the rows of a batch; rows of a block
};

class RowGroupFinder {
 public:
  RowGroupFinder(const Program& program, const Target& target, const ReductionPlans& plans,
                 const TaskAxes& task_axes)
      : program_(program),
        target_(target),
        plans_(plans),
        task_axes_(task_axes),
        producers_(defining_stages(program.graph)) {
    for (const Stage& s : program.graph.stages) read_by_.push_back(tensors_read(program.graph, s));
  }

  // One that pays, from the largest results of contractions on; what was looked at goes to `seen`.
  std::optional<RowGroup> operator()(std::set<TensorId>& seen, size_t& failures) const {
    std::vector<TensorId> candidates;
    for (const Stage& s : program_.graph.stages)
      for (TensorId id : s.results)
        if (is_large(id) && is_product_sum(program_.graph, s) && !seen.contains(id))
          candidates.push_back(id);
    std::ranges::stable_sort(candidates, std::greater<>(),
                             [&](TensorId id) { return tensor_bytes(program_.graph, id); });
    for (TensorId id : candidates) {
      if (failures >= kMostFailures) break;
      seen.insert(id);
      const std::vector<int64_t>& shape = program_.graph.info(id).shape;
      for (size_t d = 0; d < shape.size(); ++d) {
        if (shape[d] < 2 * kLeastBlock) continue;
        RowPlace place{d, {}};
        for (size_t b = 0; b < d; ++b)
          if (shape[b] > 1) place.batch.push_back(b);
        std::optional<RowGroup> group = group_of(id, place);
        if (!group || !pays(*group)) continue;
        seen.insert(group->passed.begin(), group->passed.end());
        return group;
      }
      ++failures;
    }
    return std::nullopt;
  }

 private:
  const Stage& stage(size_t s) const { return program_.graph.stages[s]; }

  bool is_large(TensorId id) const {
    return program_.scopes[id.value] == Scope::Workspace && producers_[id.value] != SIZE_MAX &&
           tensor_bytes(program_.graph, id) > target_.l2_bytes;
  }

  // nullopt when a stage does not keep rows apart, or stages wait for others outside.
  std::optional<RowGroup> group_of(TensorId from, const RowPlace& place) const {
    RowGroup group;
    const std::vector<int64_t>& shape = program_.graph.info(from).shape;
    group.rows = shape[place.row];
    for (size_t b : place.batch) group.batches *= shape[b];
    if (!add_passed(group, from, place)) return std::nullopt;
    while (const std::optional<std::pair<size_t, TensorId>> between = stage_between(group)) {
      const auto [s, read] = *between;
      const size_t producer = producers_[read.value];
      const RowPlace dims = group.stages.at(producer);
      if (reduces(producer, dims)) return std::nullopt;  // a sum is there when all rows are
      const std::optional<RowPlace> axes = axes_reading(s, read, dims);
      if (!axes || !add_stage(group, s, *axes)) return std::nullopt;
    }
    std::vector<size_t> stages;
    for (const auto& [s, axes] : group.stages) {
      stages.push_back(s);
      if (reduces(s, axes)) group.sums.push_back(s);
    }
    for (size_t s : group.sums)
      for (TensorId id : stage(s).results)
        for (size_t reader : program_.readers[id.value])
          if (group.stages.contains(reader)) return std::nullopt;
    if (stages.size() < 2 || !can_gather(program_, stages)) return std::nullopt;
    for (TensorId id : group.passed)
      if (is_stored(id)) group.stored.push_back(id);
    choose_blocks(group);
    return group;
  }

  bool reduces(size_t s, const RowPlace& axes) const {
    return axes.row >= stage(s).domain.output_rank;
  }

  // A large tensor over the rows, the stage that makes it and all that read it.
  bool add_passed(RowGroup& group, TensorId id, const RowPlace& dims) const {
    if (std::ranges::find(group.passed, id) != group.passed.end()) return true;
    group.passed.push_back(id);
    if (!add_stage(group, producers_[id.value], dims)) return false;
    return std::ranges::all_of(program_.readers[id.value], [&](size_t reader) {
      const std::optional<RowPlace> axes = axes_reading(reader, id, dims);
      return axes && add_stage(group, reader, *axes);
    });
  }

  bool add_stage(RowGroup& group, size_t s, const RowPlace& axes) const {
    const auto [at, fresh] = group.stages.emplace(s, axes);
    if (!fresh) return at->second == axes;
    if (group.stages.size() > kMostStages || !may_join(group, stage(s), axes)) return false;
    if (!reduces(s, axes))
      for (TensorId id : stage(s).results)
        if (is_large(id) && !add_passed(group, id, axes)) return false;
    return std::ranges::all_of(reads_of(program_.graph, stage(s)), [&](ExprId read) {
      const TensorId id = program_.graph.pool.read_tensor(read);
      if (!is_large(id)) return true;
      const std::optional<RowPlace> dims = dims_read(read, axes);
      // What does not depend on the rows is an operand as any other.
      return dims ? add_passed(group, id, *dims) : !group.stages.contains(producers_[id.value]);
    });
  }

  bool may_join(const RowGroup& group, const Stage& one, const RowPlace& axes) const {
    const Domain& domain = one.domain;
    const uint32_t name = one.results[0].value;
    if (one.kind != StageKind::Compute || one.running || plans_.contains(name) ||
        task_axes_.contains(name) || domain.extents[axes.row] != group.rows)
      return false;
    int64_t batches = 1;
    for (size_t b : axes.batch) {
      if (b >= domain.output_rank || b == axes.row || std::ranges::count(axes.batch, b) > 1)
        return false;
      batches *= domain.extents[b];
    }
    return batches == group.batches &&
           (axes.row < domain.output_rank || goes_on_in_memory(program_.graph, one, axes.row));
  }

  std::optional<size_t> axis_at(ExprId index) const {
    const ExprPool& pool = program_.graph.pool;
    return pool.is(index, Op::Axis) ? std::optional(pool.axis_number(index)) : std::nullopt;
  }

  // The axes by which a stage reads a tensor at these dimensions, the same in all its reads.
  std::optional<RowPlace> axes_reading(size_t s, TensorId id, const RowPlace& dims) const {
    const ExprPool& pool = program_.graph.pool;
    std::optional<RowPlace> found;
    for (ExprId read : reads_of(program_.graph, stage(s))) {
      if (pool.read_tensor(read) != id) continue;
      const std::span<const ExprId> index = pool.read_index(read);
      const std::optional<size_t> row = axis_at(index[dims.row]);
      if (!row) return std::nullopt;
      RowPlace axes{*row, {}};
      for (size_t d : dims.batch) {
        const std::optional<size_t> axis = axis_at(index[d]);
        if (!axis) return std::nullopt;
        axes.batch.push_back(*axis);
      }
      if (found && *found != axes) return std::nullopt;
      found = axes;
    }
    return found;
  }

  // The dimensions at which a read has these axes.
  std::optional<RowPlace> dims_read(ExprId read, const RowPlace& axes) const {
    const std::span<const ExprId> index = program_.graph.pool.read_index(read);
    const auto dim = [&](size_t axis) {
      for (size_t d = 0; d < index.size(); ++d)
        if (axis_at(index[d]) == axis) return d;
      return SIZE_MAX;
    };
    RowPlace dims{dim(axes.row), {}};
    for (size_t b : axes.batch) dims.batch.push_back(dim(b));
    if (dims.row == SIZE_MAX || std::ranges::find(dims.batch, SIZE_MAX) != dims.batch.end())
      return std::nullopt;
    return dims;
  }

  // A stage outside that reads a result of one in the group and is needed by another, and what it
  // reads.
  std::optional<std::pair<size_t, TensorId>> stage_between(const RowGroup& group) const {
    std::vector<bool> needed(program_.graph.stages.size(), false);
    for (size_t s = needed.size(); s-- > 0;)
      if (needed[s] || group.stages.contains(s))
        for (TensorId id : read_by_[s])
          if (producers_[id.value] != SIZE_MAX) needed[producers_[id.value]] = true;
    for (const auto& [s, axes] : group.stages)
      for (TensorId id : stage(s).results)
        for (size_t reader : program_.readers[id.value])
          if (needed[reader] && !group.stages.contains(reader)) return std::pair(reader, id);
    return std::nullopt;
  }

  bool is_contraction(size_t s) const { return is_product_sum(program_.graph, stage(s)); }

  bool is_stored(TensorId id) const {
    return is_contraction(producers_[id.value]) ||
           std::ranges::any_of(program_.readers[id.value],
                               [&](size_t reader) { return is_contraction(reader); });
  }

  // Bytes that a task may have.
  double near() const {
    return std::max(1.5 * static_cast<double>(target_.l2_bytes),
                    static_cast<double>(target_.l3_bytes) / 16);
  }

  double bytes_of(const std::vector<TensorId>& tensors) const {
    double bytes = 0;
    for (TensorId id : tensors) bytes += static_cast<double>(tensor_bytes(program_.graph, id));
    return bytes;
  }

  double bytes_of_row(const RowGroup& group) const {
    return std::max(
        1.0, bytes_of(group.stored) / static_cast<double>(checked_mul(group.rows, group.batches)));
  }

  // As many rows as stay near a core; parts of a batch where batches are few.
  void choose_blocks(RowGroup& group) const {
    const auto rows = static_cast<int64_t>(near() / bytes_of_row(group));
    const int64_t runs = group.sums.empty() ? 1 : ceil_div(kLeastRuns, group.batches);
    group.block =
        std::clamp(std::min(rows, group.rows / (2 * runs)), kLeastBlock, kMostBlock) / 16 * 16;
    while (group.parts < runs && 4 * group.parts * group.block <= group.rows) group.parts *= 2;
    // Blocks of equal length, if there are such.
    const int64_t part = ceil_div(group.rows, group.parts);
    for (int64_t block = group.block; 3 * block >= 2 * group.block; --block)
      if (part % block == 0) {
        group.block = block;
        break;
      }
  }

  // How often a tensor goes through memory or the third cache when it exists as a whole: stages
  // that are no contractions take it row by row, together; sums over rows take a copy of it.
  double passes_of(const RowGroup& group, TensorId id) const {
    double passes = 1;
    bool by_rows = false;
    for (size_t reader : program_.readers[id.value]) {
      if (!is_contraction(reader)) {
        by_rows = true;
      } else {
        passes += std::ranges::find(group.sums, reader) != group.sums.end() ? 3 : 1;
      }
    }
    return passes + (by_rows ? 1 : 0);
  }

  // Cycles of a core.
  bool pays(const RowGroup& group) const {
    const double stored = bytes_of(group.stored);
    const auto last = static_cast<double>(target_.l3_bytes);
    const auto batches = static_cast<double>(group.batches);
    const auto blocks = static_cast<double>(group.rows) / static_cast<double>(group.block);
    if (blocks < 2 || stored <= 2 * static_cast<double>(target_.l2_bytes)) return false;
    // Batches that stay near a core are tasks as they are (task_chains.hpp).
    if (group.batches >= kLeastRuns && stored / batches <= near()) return false;
    const double task = bytes_of_row(group) * static_cast<double>(group.block);
    if (task > std::max(near(), last / 4)) return false;
    const auto cycles_of = [&](double bytes, bool from_memory) {
      return from_memory ? bytes / target_.memory_gb_per_core * target_.ghz
                         : bytes / target_.l3_bytes_per_cycle;
    };
    double moved = 0, arithmetic = 0, sums = 0;
    for (TensorId id : group.stored)
      moved += passes_of(group, id) * static_cast<double>(tensor_bytes(program_.graph, id));
    for (const auto& [s, axes] : group.stages)
      if (is_contraction(s))
        arithmetic +=
            box_points(stage(s).domain) /
            lanes_per_cycle(target_, size_of(program_.graph.info(stage(s).results[0]).dtype));
    for (size_t s : group.sums) sums += bytes_of(stage(s).results);
    const auto parts = static_cast<double>(group.parts);
    const double added = cycles_of(2 * blocks * sums, sums / batches > last / 4) +
                         (parts > 1 ? cycles_of(2 * parts * sums, true) : 0);
    return cycles_of(moved, stored > last) - added > kWorthBlocks * arithmetic;
  }

  const Program& program_;
  const Target& target_;
  const ReductionPlans& plans_;
  const TaskAxes& task_axes_;
  std::vector<size_t> producers_;               // per tensor
  std::vector<std::vector<TensorId>> read_by_;  // per stage
};

// Rows of a block are walked one by one by what sums over them.
Program pad_block_rows(Program program, TensorId id) {
  const TensorInfo& info = program.graph.info(id);
  const auto size = static_cast<int64_t>(size_of(info.dtype));
  const size_t s = defining_stages(program.graph)[id.value];
  if (info.shape.back() * size % kAlike != 0 || program.graph.stages[s].results.size() != 1)
    return program;
  return pad_rows(std::move(program), s, kLineBytes / size);
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
    size_t rank;
    RowPlace place;
  };
  std::vector<StageAxis> axes;
  std::vector<Member> members;
  for (const auto& [s, place] : group.stages) {
    const Stage& stage = program.graph.stages[s];
    axes.push_back({s, place.row});
    members.push_back({stage.results[0], stage.domain.rank(), place});
  }
  std::vector<int64_t> steps{group.block};
  if (group.parts > 1)
    steps.insert(steps.begin(),
                 ceil_div(ceil_div(group.rows, group.parts), group.block) * group.block);
  program = block_axis(std::move(program), axes, steps);
  for (TensorId id : group.stored) program = pad_block_rows(std::move(program), id);
  for (const auto& [name, rank, place] : members) {
    const size_t s = stage_in_blocks(program, name, rank);
    const Domain domain = program.graph.stages[s].domain;
    std::vector<size_t> tasks;
    for (size_t b : place.batch) tasks.push_back(b < place.row ? b : b + steps.size());
    for (size_t k = 0; k < steps.size(); ++k) tasks.push_back(place.row + k);
    if (place.row >= domain.output_rank && steps.size() > 1) {
      // Parts become results; their axis is the first one, all others move up.
      program = split_reduction(std::move(program), s, place.row, domain.extents[place.row]);
      for (size_t& axis : tasks) axis = axis == place.row ? 0 : axis + 1;
    }
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
  if (stage.kind != StageKind::Compute || stage.running ||
      stage.combiner.kind != CombinerKind::None || stage.bodies.size() != 1)
    return std::nullopt;
  ExprId read = stage.bodies[0];
  if (pool.is(read, Op::Cast)) read = pool.operand(read, 0);
  if (!pool.is(read, Op::Read)) return std::nullopt;
  const auto part_of = [&](size_t s) {
    return s == SIZE_MAX ? task_axes.end()
                         : task_axes.find(program.graph.stages[s].results.front().value);
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

Program block_rows(Program program, const Target& target, const ReductionPlans& plans,
                   TaskAxes& task_axes, Choices& choices) {
  std::set<TensorId> seen;
  size_t failures = 0;
  for (size_t chain = 0;; ++chain) {
    const std::optional<RowGroup> group =
        RowGroupFinder(program, target, plans, task_axes)(seen, failures);
    if (!group) return program;
    const Stage& first = program.graph.stages[group->stages.begin()->first];
    if (choices.keeps(Decision::Blocks, program.graph, first))
      program = take_apart(std::move(program), *group, chain, task_axes);
  }
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
    program = gather(std::move(program), stages);
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

}  // namespace adjit
