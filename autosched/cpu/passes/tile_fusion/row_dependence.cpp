// autosched/cpu/passes/tile_fusion/row_dependence.cpp -- which stages have their rows in common,
// and where they part.
#include "autosched/cpu/passes/tile_fusion/row_dependence.hpp"

#include <algorithm>
#include <utility>

#include "autosched/analysis/exact_counts.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/required_region.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

constexpr size_t kMostStagesInCommon = 256;  // of a chain

// The axis that an index is, also as the quotient of what was put together from it.
std::optional<size_t> axis_at(const ExprPool& pool, ExprId index, const Domain& domain) {
  if (pool.is(index, Op::Axis)) return pool.axis_number(index);
  if (!pool.is(index, Op::FloorDiv)) return std::nullopt;
  const std::optional<IndexForm> at = index_form(pool, index, domain);
  for (size_t a = 0; at && a < domain.rank(); ++a)
    if (at->form == Affine::variable(a)) return a;
  return std::nullopt;
}

bool is_large_in(const Program& program, const CpuMachine& machine,
                 const std::vector<size_t>& producers, TensorId id) {
  return program.scopes[id.value] == Scope::Workspace && producers[id.value] != SIZE_MAX &&
         tensor_bytes(program.graph, id) > machine.l2_bytes;
}

// The stages that have their rows in common with one tensor.
class Joining {
 public:
  Joining(const RowReads& reads, const std::unordered_set<uint32_t>& taken)
      : reads_(reads), program_(reads.program()), taken_(taken) {}

  RowStages operator()(TensorId from, const RowPlace& place) && {
    const std::vector<int64_t>& shape = program_.graph.info(from).shape;
    made_.rows = shape[place.row];
    for (size_t b : place.batch) made_.batches *= shape[b];
    if (add_passed(from, place)) add_stages_between();
    return std::move(made_);
  }

 private:
  const Stage& stage(size_t s) const { return program_.graph.stages[s]; }

  // A large tensor over the rows, the stage that makes it and all that read it; nothing when one of
  // them has no such rows.
  bool add_passed(TensorId id, const RowPlace& dims) {
    if (made_.passed.contains(id)) return true;
    if (refused_.contains(id)) return false;
    RowStages before = made_;
    made_.passed.insert(id);
    const bool all = add_stage(reads_.producer(id), dims) &&
                     std::ranges::all_of(program_.readers[id.value], [&](size_t reader) {
                       const std::optional<RowPlace> axes = reads_.axes_reading(reader, id, dims);
                       return axes && add_stage(reader, *axes);
                     });
    if (all) return true;
    made_ = std::move(before);
    refused_.insert(id);
    return false;
  }

  // With all that large tensors over its rows bring along; what they do not bring along exists as
  // a whole.
  bool add_stage(size_t s, const RowPlace& axes) {
    const auto [at, fresh] = made_.stages.emplace(s, axes);
    if (!fresh) return at->second == axes;
    if (made_.stages.size() > kMostStagesInCommon || !may_join(stage(s), axes)) return false;
    if (!reads_.reduces(s, axes))
      for (TensorId id : stage(s).results)
        if (reads_.is_large(id)) add_passed(id, axes);
    for (ExprId read : reads_of(program_.graph, stage(s))) {
      const TensorId id = program_.graph.pool.read_tensor(read);
      if (!reads_.is_large(id)) continue;
      if (const std::optional<RowPlace> dims = reads_.dims_read(s, read, axes))
        add_passed(id, *dims);
    }
    return true;
  }

  bool may_join(const Stage& one, const RowPlace& axes) const {
    const Domain& domain = one.domain;
    if (one.kind != StageKind::Compute || running_of(program_.graph, one) ||
        taken_.contains(one.results[0].value) || domain.extents[axes.row] != made_.rows)
      return false;
    int64_t count = 1;
    for (size_t b : axes.batch) {
      // What sums over the rows may sum over the batch, too.
      if ((b >= domain.output_rank && axes.row < domain.output_rank) || b == axes.row ||
          std::ranges::count(axes.batch, b) > 1)
        return false;
      count *= domain.extents[b];
    }
    return count == made_.batches &&
           (axes.row < domain.output_rank || goes_on_in_memory(program_.graph, one, axes.row));
  }

  // Stages outside that read rows of one inside and are needed by another.
  void add_stages_between() {
    std::set<size_t> others;
    while (const std::optional<std::pair<size_t, TensorId>> between = stage_between(others)) {
      const auto [s, read] = *between;
      const size_t producer = reads_.producer(read);
      const RowPlace& dims = made_.stages.at(producer);
      const std::optional<RowPlace> axes =
          reads_.reduces(producer, dims) ? std::nullopt : reads_.axes_reading(s, read, dims);
      RowStages before = made_;
      if (axes && add_stage(s, *axes)) continue;
      made_ = std::move(before);
      others.insert(s);
    }
  }

  std::optional<std::pair<size_t, TensorId>> stage_between(const std::set<size_t>& others) const {
    std::vector<bool> needed(program_.graph.stages.size(), false);
    for (size_t s = needed.size(); s-- > 0;)
      if (needed[s] || made_.stages.contains(s))
        for (TensorId id : reads_.read_by(s))
          if (reads_.producer(id) != SIZE_MAX) needed[reads_.producer(id)] = true;
    for (const auto& [s, axes] : made_.stages)
      for (TensorId id : stage(s).results)
        for (size_t reader : program_.readers[id.value])
          if (needed[reader] && !made_.stages.contains(reader) && !others.contains(reader))
            return std::pair(reader, id);
    return std::nullopt;
  }

  const RowReads& reads_;
  const Program& program_;
  const std::unordered_set<uint32_t>& taken_;
  RowStages made_;
  std::set<TensorId> refused_;  // large, and not read by rows only
};

// Whether each row of a stage needs, of a tensor that another one makes, that row only.
bool follows_rows(const RowReads& reads, const RowStages& common, size_t s, TensorId id) {
  const size_t producer = reads.producer(id);
  const auto from = common.stages.find(producer), here = common.stages.find(s);
  if (from == common.stages.end() || here == common.stages.end() ||
      reads.reduces(producer, from->second))
    return false;
  const std::optional<RowPlace> axes = reads.axes_reading(s, id, from->second);
  return axes && *axes == here->second;
}

}  // namespace

RowReads::RowReads(const Program& program, const CpuMachine& machine)
    : program_(program), machine_(machine), producers_(defining_stages(program.graph)) {
  for (const Stage& s : program.graph.stages) read_by_.push_back(tensors_read(program.graph, s));
}

bool RowReads::is_large(TensorId id) const {
  return is_large_in(program_, machine_, producers_, id);
}

bool RowReads::is_contraction(size_t s) const { return is_product_sum(program_.graph, stage(s)); }

bool RowReads::is_stored(TensorId id) const {
  return is_contraction(producers_[id.value]) ||
         std::ranges::any_of(program_.readers[id.value],
                             [&](size_t reader) { return is_contraction(reader); });
}

std::optional<RowPlace> RowReads::axes_reading(size_t s, TensorId id, const RowPlace& dims) const {
  const ExprPool& pool = program_.graph.pool;
  const Domain& domain = stage(s).domain;
  std::optional<RowPlace> found;
  for (ExprId read : reads_of(program_.graph, stage(s))) {
    if (pool.read_tensor(read) != id) continue;
    const std::span<const ExprId> index = pool.read_index(read);
    const std::optional<size_t> row = axis_at(pool, index[dims.row], domain);
    if (!row) return std::nullopt;
    RowPlace axes{*row, {}};
    for (size_t d : dims.batch) {
      const std::optional<size_t> axis = axis_at(pool, index[d], domain);
      if (!axis) return std::nullopt;
      axes.batch.push_back(*axis);
    }
    if (found && *found != axes) return std::nullopt;
    found = axes;
  }
  return found;
}

std::optional<RowPlace> RowReads::dims_read(size_t s, ExprId read, const RowPlace& axes) const {
  const Domain& domain = stage(s).domain;
  const ExprPool& pool = program_.graph.pool;
  const std::span<const ExprId> index = pool.read_index(read);
  const auto dim = [&](size_t axis) {
    for (size_t d = 0; d < index.size(); ++d)
      if (axis_at(pool, index[d], domain) == axis) return d;
    return SIZE_MAX;
  };
  RowPlace dims{dim(axes.row), {}};
  for (size_t b : axes.batch) dims.batch.push_back(dim(b));
  if (dims.row == SIZE_MAX || std::ranges::find(dims.batch, SIZE_MAX) != dims.batch.end())
    return std::nullopt;
  return dims;
}

RowStages stages_in_common(const RowReads& reads, TensorId from, const RowPlace& place,
                           const std::unordered_set<uint32_t>& taken) {
  return Joining(reads, taken)(from, place);
}

bool is_closed(const RowReads& reads, const RowStages& common) {
  const Graph& graph = reads.program().graph;
  const auto whole = [&](TensorId id) { return reads.is_large(id) && !common.passed.contains(id); };
  for (const auto& [s, axes] : common.stages) {
    if (!reads.reduces(s, axes) && std::ranges::any_of(reads.stage(s).results, whole)) return false;
    for (ExprId read : reads_of(graph, reads.stage(s)))
      if (whole(graph.pool.read_tensor(read)) && reads.dims_read(s, read, axes)) return false;
  }
  return true;
}

RowLevels levels_of(const RowReads& reads, const RowStages& common,
                    const std::set<TensorId>& kept) {
  const Program& program = reads.program();
  RowLevels levels{std::vector<int>(program.graph.stages.size(), 0), 0};
  for (size_t s = 0; s < levels.of.size(); ++s) {
    for (TensorId id : reads.read_by(s)) {
      const size_t producer = reads.producer(id);
      if (producer == SIZE_MAX) continue;
      const bool waits = common.stages.contains(producer) && !follows_rows(reads, common, s, id);
      levels.of[s] = std::max(levels.of[s], levels.of[producer] + (waits ? 1 : 0));
    }
    if (common.stages.contains(s)) levels.last = std::max(levels.last, levels.of[s]);
  }
  // What only later levels read is computed there, where that takes nothing large with it.
  const auto first_reading = [&](size_t s) {
    int first = levels.last;
    for (TensorId id : reads.stage(s).results)
      for (size_t reader : program.readers[id.value]) first = std::min(first, levels.of[reader]);
    return first;
  };
  for (auto member = common.stages.rbegin(); member != common.stages.rend(); ++member) {
    const size_t s = member->first;
    const int first = first_reading(s);
    if (first <= levels.of[s] || !std::ranges::all_of(reads.stage(s).results, [&](TensorId id) {
          return common.passed.contains(id);
        }))
      continue;
    const int before = std::exchange(levels.of[s], first);
    const bool takes_nothing = std::ranges::all_of(reads.read_by(s), [&](TensorId id) {
      return !common.passed.contains(id) || kept.contains(id) ||
             first_reading(reads.producer(id)) >= first;
    });
    if (!takes_nothing) levels.of[s] = before;
  }
  return levels;
}

Program take_batches_apart(Program program, const CpuMachine& machine) {
  const ExprPool& pool = program.graph.pool;
  std::vector<size_t> producers = defining_stages(program.graph);
  for (size_t s = 0; s < program.graph.stages.size(); ++s) {
    if (!is_product_sum(program.graph, program.graph.stages[s])) continue;
    std::optional<std::pair<size_t, int64_t>> part;  // axis and divisor
    for (ExprId read : reads_of(program.graph, program.graph.stages[s])) {
      if (!is_large_in(program, machine, producers, pool.read_tensor(read))) continue;
      for (ExprId index : pool.read_index(read)) {
        if (!pool.is(index, Op::FloorDiv)) continue;
        const Domain& domain = program.graph.stages[s].domain;
        const std::optional<size_t> axis = axis_at(pool, pool.operand(index, 0), domain);
        const int64_t divisor = pool.int_value(pool.operand(index, 1)).value_or(INT64_MAX);
        if (!axis || *axis >= domain.output_rank || divisor > kLargestGroup ||
            domain.extents[*axis] < 2 * divisor)
          continue;
        const int64_t modulus = residue_modulus(program.graph, program.graph.stages[s], *axis);
        if (modulus > 0 && modulus % divisor == 0) part = std::pair(*axis, divisor);
      }
    }
    if (!part) continue;
    program = split_residues(std::move(program), s, part->first, part->second, true);
    producers = defining_stages(program.graph);
    ++s;  // puts residues together
  }
  return program;
}

}  // namespace adjit::sched
