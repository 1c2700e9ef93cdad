// autosched/cpu/passes/share_pairwise.cpp -- which reductions share the values of pairs, and in
// what blocks.
#include "autosched/cpu/passes/share_pairwise.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "autosched/analysis/work.hpp"
#include "autosched/cpu/passes/loops/tasks.hpp"
#include "autosched/machine/core_time.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"
#include "autosched/program/required_region.hpp"

namespace adjit::sched {
namespace {

// In vector instructions per vector of pairs: what one evaluation must cost (an exponential is 14),
// and how much must be saved for each, also as a share of what the sums take besides: these have
// better tiles when they stand alone.
constexpr size_t kMostReductions = 16;  // bounds the time that grouping takes

// A reduction over one axis for every point of another one, which is its first.
struct PairReduction {
  size_t stage = 0;
  bool over_rows = false;      // its reduction axis is the row of the pair, else the column
  double results = 1;          // for every point of its first axis
  std::vector<ExprId> values;  // what it takes of each pair, over (row, column)
};

struct Group {
  std::vector<PairReduction> members;
  int64_t rows = 0, columns = 0;
  std::vector<ExprId> values;  // of all members
  int64_t block = 0;           // rows of a task
};

// The longest axis that a stage reduces.
size_t reduced_axis(const Stage& stage) {
  const std::vector<int64_t>& extents = stage.domain.extents;
  const auto outputs = static_cast<std::ptrdiff_t>(stage.domain.output_rank);
  return static_cast<size_t>(std::max_element(extents.begin() + outputs, extents.end()) -
                             extents.begin());
}

// The axes of a member that are the row and the column.
std::vector<size_t> pair_axes(const Graph& graph, const PairReduction& member) {
  const size_t reduced = reduced_axis(graph.stages[member.stage]);
  return member.over_rows ? std::vector<size_t>{reduced, 0} : std::vector<size_t>{0, reduced};
}

std::vector<ExprId> joined(const std::vector<ExprId>& a, const std::vector<ExprId>& b) {
  std::vector<ExprId> both = a;
  for (ExprId value : b)
    if (std::ranges::find(both, value) == both.end()) both.push_back(value);
  return both;
}

double results_per_row(const Stage& stage) {
  auto results = static_cast<double>(stage.results.size());
  for (size_t a = 1; a < stage.domain.output_rank; ++a)
    results *= static_cast<double>(stage.domain.extents[a]);
  return results;
}

double terms_per_pair(const Stage& stage) {
  const std::vector<int64_t>& extents = stage.domain.extents;
  double terms = 1;
  for (size_t a = stage.domain.output_rank; a < extents.size(); ++a)
    terms *= static_cast<double>(extents[a]);
  return terms / static_cast<double>(extents[reduced_axis(stage)]);
}

// Reads of tensors of pairs with the rows contiguous, less those with the columns so.
int reads_across(const Graph& graph, const Group& group) {
  int across = 0;
  for (ExprId id : reachable(graph.pool, group.values)) {
    if (!graph.pool.is(id, Op::Read)) continue;
    const std::span<const ExprId> index = graph.pool.read_index(id);
    if (index.size() != 2 || !graph.pool.is(index[0], Op::Axis) ||
        !graph.pool.is(index[1], Op::Axis) || index[0] == index[1])
      continue;
    across += graph.pool.axis_number(index[1]) == 0 ? 1 : -1;
  }
  return across;
}

// Partial results of a block, when blocks are of columns or (`rows`) of rows.
double partial_results(const Group& group, bool rows) {
  double results = 0;
  for (const PairReduction& member : group.members)
    if (member.over_rows == rows)
      results += member.results * static_cast<double>(rows ? group.columns : group.rows);
  return results;
}

double saved_by(const Graph& graph, const std::vector<ExprId>& a, const std::vector<ExprId>& b) {
  WorkMeter meter(graph.pool);
  return meter(a).cost + meter(b).cost - meter(joined(a, b)).cost;
}

// Whether all that the values are made of is there before a stage.
bool reads_before(const Graph& graph, const std::vector<ExprId>& values, size_t first) {
  const std::vector<size_t> producers = defining_stages(graph);
  return std::ranges::all_of(reachable(graph.pool, values), [&](ExprId id) {
    if (!graph.pool.is(id, Op::Read)) return true;
    const size_t producer = producers[graph.pool.read_tensor(id).value];
    return producer == SIZE_MAX || producer < first;
  });
}

// Whether one of them reads what another gives.
bool waits(const Program& program, const std::vector<size_t>& stages) {
  for (size_t s : stages)
    for (TensorId id : program.graph.stages[s].results)
      for (size_t reader : program.readers[id.value])
        if (std::ranges::find(stages, reader) != stages.end()) return true;
  return false;
}

// What a stage does for each pair besides computing values of it, its other axes being copies.
double operations_of_sums(const ExprPool& pool, const Stage& stage,
                          const std::vector<size_t>& axes) {
  std::map<ExprId, bool> copied;  // whether it depends on other axes
  auto cost = static_cast<double>(stage.bodies.size());
  for (ExprId id : reachable(pool, stage.bodies)) {
    bool& here = copied[id];
    here = pool.is(id, Op::Axis) && std::ranges::find(axes, pool.axis_number(id)) == axes.end();
    for (ExprId operand : pool.operands(id)) here |= copied.at(operand);
    if (here && is_float(pool.dtype(id)) && !pool.is(id, Op::Read))
      cost += operation_cost(pool, id);
  }
  return cost * results_per_row(stage) / static_cast<double>(stage.bodies.size()) *
         terms_per_pair(stage);
}

// Whether every read of it is at the point itself.
bool reads_upright(const Graph& graph, TensorId id, const Stage& reader) {
  return std::ranges::all_of(reads_of(graph, reader), [&](ExprId read) {
    const ExprPool& pool = graph.pool;
    return pool.read_tensor(read) != id ||
           (!pool.read_predicate(read).valid() && is_identity(pool, pool.read_index(read)));
  });
}

// Sums for every pair that only the stage of all values reads: a task makes its rows of them.
std::vector<TensorId> operands_of_pairs(const Program& program, TensorId pairs) {
  const LoweredGraph& graph = program.graph;
  const std::vector<size_t> producers = defining_stages(graph);
  const Stage& reader = graph.stages[producers[pairs.value]];
  std::vector<TensorId> found;
  for (ExprId read : reads_of(graph, reader)) {
    const TensorId id = graph.pool.read_tensor(read);
    if (producers[id.value] == SIZE_MAX || std::ranges::find(found, id) != found.end()) continue;
    const Stage& producer = graph.stages[producers[id.value]];
    if (producer.kind == StageKind::Compute && !running_of(graph, producer) &&
        producer.domain.is_box() && producer.results.size() == 1 &&
        producer.combiner.kind != CombinerKind::None &&
        graph.info(id).shape == reader.domain.extents &&
        std::ranges::find(graph.outputs, id) == graph.outputs.end() &&
        program.readers[id.value].size() == 1 && reads_upright(graph, id, reader))
      found.push_back(id);
  }
  return found;
}

// The dimension of a tensor that the lanes walk in all reads of it that depend on them, if it is
// not the last one.
std::optional<size_t> strided_dimension(const Graph& graph, const Accesses& accesses,
                                        TensorId tensor, size_t lanes_axis) {
  const ExprPool& pool = graph.pool;
  std::optional<size_t> found;
  for (const MemoryAccess& access : accesses.reads) {
    if (access.tensor != tensor) continue;
    if (access.guarded) return std::nullopt;
    if (!access.depends_on(lanes_axis)) continue;
    const std::span<const ExprId> index = pool.read_index(access.read);
    std::optional<size_t> here;
    for (size_t d = 0; d < index.size(); ++d)
      if (pool.is(index[d], Op::Axis) && pool.axis_number(index[d]) == lanes_axis) here = d;
    if (!here || access.irregular[lanes_axis] || (found && found != here)) return std::nullopt;
    found = here;
  }
  if (!found || *found + 1 == graph.info(tensor).shape.size()) return std::nullopt;
  return found;
}

class PairSharer {
 public:
  PairSharer(Program program, const CpuMachine& machine, ReductionPlans& plans, Choices& choices)
      : program_(std::move(program)), machine_(machine), plans_(plans), choices_(choices) {}

  Program operator()() {
    while (const std::optional<Group> group = next_group()) apply(*group);
    return std::move(program_);
  }

 private:
  const Stage& stage(size_t s) const { return program_.graph.stages[s]; }

  // Sums over a box of pairs with few results for each row that compute something costly of the
  // pairs.
  bool may_share(const Stage& stage) const {
    const Domain& domain = stage.domain;
    if (stage.kind != StageKind::Compute || running_of(program_.graph, stage) || !domain.is_box() ||
        !has_partial_results(stage.combiner.kind) || domain.reduction_rank() == 0 ||
        domain.output_rank == 0 || plans_.contains(stage_key(stage)))
      return false;
    const size_t reduced = reduced_axis(stage);
    if (std::min(domain.extents.front(), domain.extents[reduced]) < thresholds().pair_points)
      return false;
    if (results_per_row(stage) * terms_per_pair(stage) > thresholds().short_sum) return false;
    for (TensorId id : stage.results) {
      const DType dtype = program_.graph.info(id).dtype;
      if (!is_float(dtype) || accumulator_of(dtype) != dtype) return false;
    }
    const size_t axes[] = {0, reduced};
    return WorkMeter(program_.graph.pool)(hoistable(program_.graph, stage, axes)).cost >=
           thresholds().near_store_cost;
  }

  std::optional<Group> next_group() {
    std::vector<size_t> candidates;
    for (size_t s = 0; s < program_.graph.stages.size(); ++s)
      if (may_share(stage(s))) candidates.push_back(s);
    if (candidates.size() < 2) return std::nullopt;
    candidates.resize(std::min(candidates.size(), kMostReductions));
    Graph scratch = program_.graph;  // grows expressions
    for (size_t first : candidates) {
      if (std::ranges::find(declined_, stage(first).results.front()) != declined_.end()) continue;
      std::optional<Group> group = group_from(scratch, first, candidates);
      if (group && pays(scratch, *group) &&
          choices_.keeps(Decision::SharePairwise, program_.graph, stage(first)))
        return group;
      declined_.push_back(stage(first).results.front());
    }
    return std::nullopt;
  }

  // The first reduction and all later ones that take something costly of the same pairs. nullopt
  // when none of them sums over the other axis, or they wait for each other.
  std::optional<Group> group_from(Graph& scratch, size_t first,
                                  const std::vector<size_t>& candidates) const {
    const Domain& domain = stage(first).domain;
    Group group{{}, domain.extents.front(), domain.extents[reduced_axis(stage(first))], {}, 0};
    for (size_t s : candidates) {
      if (s < first) continue;
      for (const bool over_rows : {false, true}) {
        if (s == first && over_rows) continue;
        PairReduction member{s, over_rows, results_per_row(stage(s)), {}};
        const std::vector<size_t> axes = pair_axes(scratch, member);
        if (stage(s).domain.extents[axes[0]] != group.rows ||
            stage(s).domain.extents[axes[1]] != group.columns)
          continue;
        member.values = hoisted_values(scratch, stage(s), axes);
        if (s != first &&
            saved_by(scratch, group.values, member.values) < thresholds().near_store_cost)
          continue;
        if (s != first && !reads_before(scratch, member.values, first)) continue;
        std::vector<size_t> stages{s};
        for (const PairReduction& m : group.members) stages.push_back(m.stage);
        if (waits(program_, stages) || !can_gather(program_, stages)) continue;
        group.values = joined(group.values, member.values);
        group.members.push_back(std::move(member));
        break;
      }
    }
    if (std::ranges::none_of(group.members, &PairReduction::over_rows)) return std::nullopt;
    const int across = reads_across(scratch, group);
    if (across > 0 || (across == 0 && partial_results(group, false) < partial_results(group, true)))
      transpose(scratch, group);
    group.block = rows_of_block(scratch, group);
    return group;
  }

  void transpose(Graph& scratch, Group& group) const {
    std::swap(group.rows, group.columns);
    group.values.clear();
    for (PairReduction& member : group.members) {
      member.over_rows = !member.over_rows;
      member.values = hoisted_values(scratch, stage(member.stage), pair_axes(scratch, member));
      group.values = joined(group.values, member.values);
    }
  }

  // Rows of a block: as many as stay in the second-level cache, but not so few that partial sums
  // outgrow what they are sums of, nor so many that cores are left over; parts of equal length.
  int64_t rows_of_block(const Graph& graph, const Group& group) const {
    constexpr int64_t kTileRows = 4;  // which share operands: a block has whole tiles of them
    int64_t bytes = 0;
    for (ExprId value : group.values)
      bytes += group.columns * static_cast<int64_t>(size_of(graph.pool.dtype(value)));
    int64_t rows =
        std::min(machine_.l2_bytes / bytes, ceil_div(group.rows, 4 * thresholds().work_parts));
    rows = std::max({rows, thresholds().part_rows, kTileRows}) / kTileRows * kTileRows;
    while (rows > kTileRows && ceil_div(group.rows, ceil_div(group.rows, rows)) != rows)
      rows -= kTileRows;
    return rows;
  }

  // Evaluations saved against what storing and loading them takes, and partial results through the
  // third-level cache, by vectors of pairs.
  bool pays(const Graph& graph, const Group& group) const {
    WorkMeter meter(graph.pool);
    const Stage& first = stage(group.members.front().stage);
    const auto bytes = static_cast<double>(machine_.vector_bits) / 8;
    const auto size = static_cast<double>(size_of(program_.graph.info(first.results[0]).dtype));
    const double transfers = static_cast<double>(group.values.size());
    double sums = 0;  // what the members do with the values
    double saved = -meter(group.values).cost - machine_.core.l2_transfer_cost * transfers,
           partial = 0;
    for (const PairReduction& member : group.members) {
      saved += meter(member.values).cost -
               machine_.core.l2_transfer_cost * static_cast<double>(member.values.size());
      if (member.over_rows) partial += member.results;
      sums +=
          operations_of_sums(program_.graph.pool, stage(member.stage), pair_axes(graph, member));
    }
    saved -= cycles_from_l3(machine_, 2 * partial * bytes / static_cast<double>(group.block)) /
             machine_.core.port_cycles;
    const double vectors =
        static_cast<double>(group.rows) * static_cast<double>(group.columns) / (bytes / size);
    return saved >= std::max(thresholds().near_store_cost, thresholds().pair_saving_share * sums) &&
           microseconds(machine_, {vectors * saved * machine_.core.port_cycles}) >=
               thresholds().rewrite_microseconds;
  }

  size_t stage_of(TensorId name) const { return defining_stages(program_.graph)[name.value]; }

  void apply(const Group& group) {
    const int64_t rows = group.block;
    std::vector<Hoisted> readers;
    std::vector<TensorId> members, names;  // as they are now, and of the kernels of the chain
    for (const PairReduction& member : group.members) {
      readers.push_back({member.stage, pair_axes(program_.graph, member)});
      members.push_back(stage(member.stage).results.front());
    }
    program_ = materialize_common(std::move(program_), readers);
    const TensorId pairs = stage(group.members.front().stage).results.front();
    for (TensorId operand : operands_of_pairs(program_, pairs)) {
      names.push_back(operand);
      plan(operand, 1, rows);
    }
    names.push_back(pairs);
    plan(pairs, 1, rows);
    for (size_t k = 0; k < members.size(); ++k) {
      const size_t s = stage_of(members[k]), reduced = reduced_axis(stage(s));
      if (group.members[k].over_rows) {
        program_ = rfactor(std::move(program_), s, reduced, ceil_div(group.rows, rows));
        names.push_back(stage(s).results.front());
        plan(names.back(), 1, 1);
      } else {
        names.push_back(members[k]);
        plan(members[k], reduced, rows);
      }
    }
    std::vector<size_t> chain;
    for (TensorId name : names) chain.push_back(stage_of(name));
    program_ = make_adjacent(std::move(program_), chain);
  }

  // Lanes along the columns, all results of a row or column in one tile, and several rows, or
  // vectors of columns, by its cycles; tasks of so many rows or parts.
  void plan(TensorId name, size_t lanes_axis, int64_t task_points) {
    pack_for(name, lanes_axis);
    const Stage& planned = stage(stage_of(name));
    const std::vector<int64_t>& extents = planned.domain.extents;
    ReductionPlan plan;
    plan.task_points = task_points;
    plan.tile.vector_axis = lanes_axis;
    plan.tile.lanes =
        lanes_for(extents[lanes_axis],
                  full_lanes(program_.graph, planned, cpu_of(program_.target).vector_bits));
    plan.tile.factors.assign(extents.size(), 1);
    const Accesses accesses = accesses_of(program_.graph, planned);
    const TileProblem problem{program_.graph,          planned, accesses, extents,
                              cpu_of(program_.target), 0,       false};
    if (planned.combiner.kind == CombinerKind::None) {
      // Copies of a body with functions come in turn (jit/emit/ir/interleave.hpp).
      if (TileChoice best = choose_pointwise_tile(problem); best.vector_axis == lanes_axis)
        plan.tile.factors = std::move(best.factors);
    } else {
      const TileModel model(problem, lanes_axis);
      std::vector<int64_t>& factors = plan.tile.factors;
      const auto try_factor = [&](size_t axis, int64_t factor) {
        const int64_t before = std::exchange(factors[axis], factor);
        const bool fits = model.fits(factors);
        if (!fits) factors[axis] = before;
        return fits;
      };
      for (size_t a = planned.domain.output_rank; a-- > 1;)
        if (a != lanes_axis) try_factor(a, copies_of(extents[a]));
      // Copies of rows, or of the lanes along columns, share operands, and sums do not wait.
      const size_t repeated = task_points > 1 ? 0 : lanes_axis;
      std::vector<int64_t> best = factors;
      const int64_t most =
          repeated == 0 ? task_points : ceil_div(extents[lanes_axis], plan.tile.lanes);
      for (int64_t factor = 2; factor <= std::min(thresholds().axis_instances, most); ++factor) {
        if (task_points % factor != 0 && repeated == 0) continue;
        if (!try_factor(repeated, factor)) break;
        if (model.cycles(factors) < model.cycles(best)) best = factors;
      }
      factors = std::move(best);
    }
    plans_[name.value] = std::move(plan);
  }

  // As many points of a short axis as a tile may hold, without a rest.
  static int64_t copies_of(int64_t extent) {
    int64_t instances = thresholds().axis_instances;
    while (extent % instances != 0) --instances;
    return instances;
  }

  // Operands whose elements for the lanes lie apart are copied with these side by side.
  void pack_for(TensorId name, size_t lanes_axis) {
    std::vector<TensorId> done;
    const Accesses accesses = accesses_of(program_.graph, stage(stage_of(name)));
    for (const MemoryAccess& access : accesses.reads) {
      if (std::ranges::find(done, access.tensor) != done.end()) continue;
      done.push_back(access.tensor);
      const std::optional<size_t> dim =
          strided_dimension(program_.graph, accesses, access.tensor, lanes_axis);
      if (!dim ||
          access.elements * thresholds().pack_reuse > box_points(stage(stage_of(name)).domain))
        continue;
      Packing packing;
      for (size_t d = 0; d < program_.graph.info(access.tensor).shape.size(); ++d)
        if (d != *dim) packing.dimensions.push_back({d, 1, 0});
      packing.dimensions.push_back({*dim, 1, 0});
      const size_t reader = stage_of(name);
      program_ = pack(std::move(program_), reader, access.tensor, packing);
    }
  }

  Program program_;
  const CpuMachine& machine_;
  ReductionPlans& plans_;
  Choices& choices_;
  std::vector<TensorId> declined_;
};

}  // namespace

Shapes shapes_of_pairs(const Program& program, const CpuMachine& machine) {
  constexpr size_t kMost = 4;  // each is tried
  Shapes shapes;
  for (const Stage& stage : program.graph.stages) {
    if (stage.kind != StageKind::Compute || stage.domain.output_rank != 2) continue;
    for (TensorId id : stage.results) {
      const TensorInfo& info = program.graph.info(id);
      const bool reduced = std::ranges::any_of(program.readers[id.value], [&](size_t reader) {
        return program.graph.stages[reader].combiner.kind != CombinerKind::None;
      });
      if (reduced && std::ranges::min(info.shape) >= thresholds().pair_points &&
          shapes.size() < kMost &&
          info.element_count() * static_cast<int64_t>(size_of(info.dtype)) > machine.l2_bytes &&
          std::ranges::find(shapes, info.shape) == shapes.end())
        shapes.push_back(info.shape);
    }
  }
  return shapes;
}

Program share_pairs(Program program, const CpuMachine& machine, ReductionPlans& plans,
                    Choices& choices) {
  return PairSharer(std::move(program), machine, plans, choices)();
}

}  // namespace adjit::sched
