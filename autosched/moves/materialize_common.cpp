// autosched/moves/materialize_common.cpp -- what several stages compute, computed once: the reverse
// of inlining.
//
//   u[i, k] = sum over j of exp(-d[i, j]) * a[j, k]
//   v[j, k] = sum over i of exp(-d[i, j]) * b[i, k]
// hoisted over (i, j):
//   h[i, j] = exp(-d[i, j]);   u[i, k] = sum over j of h[i, j] * a[j, k];   v[j, k] = ...
#include <algorithm>
#include <map>

#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/required_region.hpp"

namespace adjit::sched {
namespace {

// The body with other expressions in place of some, which are no leaves.
ExprId replaced(ExprPool& pool, ExprId body, const std::map<ExprId, ExprId>& replacements) {
  const ExprId roots[] = {body};
  std::map<ExprId, ExprId> now;
  for (ExprId id : reachable(pool, roots)) {
    const auto found = replacements.find(id);
    if (found != replacements.end()) {
      now[id] = found->second;
      continue;
    }
    now[id] = id;
    if (pool.is(id, Op::Read)) continue;  // what was hoisted is no part of an index
    const std::span<const ExprId> before = pool.operands(id);
    std::vector<ExprId> operands(before.begin(), before.end());
    for (ExprId& operand : operands) operand = now.at(operand);
    if (!std::ranges::equal(operands, before)) now[id] = pool.intern(Node(pool[id]), operands);
  }
  return now.at(body);
}

// The part of a value that depends on all axes, where the rest is a product or sum with a read or a
// constant: readers do that themselves, so that a[i, j] and a[i, j] * b[j] are one value to store.
template <typename DependsOnAll>
ExprId without_factors(const ExprPool& pool, ExprId value, DependsOnAll&& depends_on_all) {
  while (pool.is(value, Op::Mul) || pool.is(value, Op::Add) || pool.is(value, Op::Sub) ||
         pool.is(value, Op::Neg)) {
    const std::span<const ExprId> operands = pool.operands(value);
    const auto whole = std::ranges::find_if(operands, depends_on_all);
    if (whole == operands.end() || pool.is(*whole, Op::Read)) break;
    const bool alone = std::ranges::all_of(operands, [&](ExprId operand) {
      return operand == *whole || pool.is(operand, Op::Read) || pool.is(operand, Op::Constant);
    });
    if (!alone) break;
    value = *whole;
  }
  return value;
}

// Index for body_at: the axes of a reader in the order of the new stage.
std::vector<ExprId> index_of(ExprPool& pool, size_t rank, std::span<const size_t> axes) {
  std::vector<ExprId> index(rank, pool.axis(0));
  for (size_t d = 0; d < axes.size(); ++d) index[axes[d]] = pool.axis(d);
  return index;
}

void check(const Move& move, std::span<const size_t> axes, const std::vector<int64_t>& extents) {
  const Stage& stage = move.stage_ref();
  const Domain& domain = stage.domain;
  move.require(
      stage.kind == StageKind::Compute && !running_of(move.program.graph, stage) && domain.is_box(),
      "only stages over a box can share what they compute");
  std::vector<size_t> sorted(axes.begin(), axes.end());
  std::ranges::sort(sorted);
  constexpr size_t kMostAxes = 62;  // a bit each
  move.require(sorted.size() <= kMostAxes && !sorted.empty() &&
                   std::ranges::adjacent_find(sorted) == sorted.end() &&
                   sorted.back() < domain.rank(),
               "the axes must be distinct axes of it");
  move.require(std::ranges::equal(axes, extents, {}, [&](size_t a) { return domain.extents[a]; }),
               "the axes of all stages must have the same extents");
  move.own_kernel("hoist before attaching stages to others");
}

}  // namespace

std::vector<ExprId> hoistable(const Graph& graph, const Stage& stage,
                              std::span<const size_t> axes) {
  const ExprPool& pool = graph.pool;
  std::map<ExprId, uint64_t> depends;  // the axes, a bit each
  const uint64_t all = (uint64_t{1} << axes.size()) - 1, other = uint64_t{1} << axes.size();
  for (ExprId id : reachable(pool, stage.bodies)) {
    uint64_t& mask = depends[id];
    if (pool.is(id, Op::Axis)) {
      const auto at = std::ranges::find(axes, pool.axis_number(id));
      mask = at == axes.end() ? other : uint64_t{1} << (at - axes.begin());
    } else if (pool.is(id, Op::Argument)) {
      mask = other;
    }
    for (ExprId operand : pool.operands(id)) mask |= depends.at(operand);
  }
  std::vector<ExprId> found, open(stage.bodies.rbegin(), stage.bodies.rend()), seen;
  while (!open.empty()) {
    const ExprId id = open.back();
    open.pop_back();
    if (std::ranges::find(seen, id) != seen.end() || pool.is(id, Op::Read)) continue;
    seen.push_back(id);
    const DType dtype = pool.dtype(id);
    if (depends.at(id) == all && is_float(dtype) && accumulator_of(dtype) == dtype) {
      const ExprId value =
          without_factors(pool, id, [&](ExprId e) { return depends.at(e) == all; });
      if (std::ranges::find(found, value) == found.end()) found.push_back(value);
      continue;
    }
    const std::span<const ExprId> operands = pool.operands(id);
    open.insert(open.end(), operands.rbegin(), operands.rend());
  }
  return found;
}

std::vector<ExprId> hoisted_values(Graph& graph, const Stage& stage, std::span<const size_t> axes) {
  const std::vector<ExprId> index = index_of(graph.pool, stage.domain.rank(), axes);
  std::vector<ExprId> values = hoistable(graph, stage, axes);
  for (ExprId& value : values) value = body_at(graph.pool, value, index, {});
  return values;
}

namespace {

// Whether they may share what they compute over axes of these extents.
void check_readers(Program& program, std::span<const Hoisted> readers,
                   const std::vector<int64_t>& extents) {
  for (size_t k = 0; k < readers.size(); ++k) {
    const Move move = begin_move("materialize_common", program, readers[k].stage);
    move.require(std::ranges::find(readers.first(k), readers[k].stage, &Hoisted::stage) ==
                     readers.first(k).end(),
                 "a stage is there twice");
    check(move, readers[k].axes, extents);
  }
}

// The extents of the shared axes.
std::vector<int64_t> extents_of(Program& program, const Hoisted& reader) {
  const Domain& domain = begin_move("materialize_common", program, reader.stage).stage_ref().domain;
  std::vector<int64_t> extents;
  for (size_t a : reader.axes)
    if (a < domain.rank()) extents.push_back(domain.extents[a]);
  return extents;
}

// Whether all that the shared values are made of is there before a stage.
void check_operands(const Move& move, std::span<const ExprId> values) {
  const Graph& graph = move.program.graph;
  const std::vector<size_t> producers = defining_stages(graph);
  for (ExprId id : reachable(graph.pool, values))
    if (graph.pool.is(id, Op::Read)) {
      const size_t producer = producers[graph.pool.read_tensor(id).value];
      move.require(producer == SIZE_MAX || producer < move.stage,
                   "a later one needs values that are not there yet");
    }
}

// Lets a reader read `values` from the shared stage.
void read_shared(Graph& graph, const Hoisted& reader, std::span<const ExprId> values,
                 const Stage& shared) {
  ExprPool& pool = graph.pool;
  Stage& stage = graph.stages[reader.stage];
  std::vector<ExprId> index;
  for (size_t a : reader.axes) index.push_back(pool.axis(a));
  const std::vector<ExprId> before = hoistable(graph, stage, reader.axes);
  std::map<ExprId, ExprId> replacements;
  for (size_t v = 0; v < before.size(); ++v) {
    const auto at = std::ranges::find(shared.bodies, values[v]) - shared.bodies.begin();
    replacements[before[v]] =
        pool.read(shared.results[static_cast<size_t>(at)], pool.dtype(before[v]), index);
  }
  for (ExprId& body : stage.bodies) body = replaced(pool, body, replacements);
}

}  // namespace

Program materialize_common(Program program, std::span<const Hoisted> readers) {
  if (readers.empty()) throw Error(ErrorCode::Schedule, "hoist: needs a stage");
  const std::vector<int64_t> extents = extents_of(program, readers[0]);
  check_readers(program, readers, extents);
  Json names = Json::array(), axes = Json::array();
  for (const Hoisted& reader : readers) {
    names.push_back(stage_name(program.graph, program.graph.stages[reader.stage]));
    axes.push_back(reader.axes);
  }
  const size_t first = std::ranges::min(readers, {}, &Hoisted::stage).stage;
  const Move move = begin_move("materialize_common", program, first);
  ExprPool& pool = program.graph.pool;
  Stage shared;
  shared.domain.extents = extents;
  shared.domain.output_rank = extents.size();
  shared.lines = move.stage_ref().lines;
  shared.region = move.stage_ref().region;
  const std::string name = stage_name(program.graph, move.stage_ref()) + "_pairs";
  std::vector<std::vector<ExprId>> values;
  for (const Hoisted& reader : readers) {
    values.push_back(
        hoisted_values(program.graph, program.graph.stages[reader.stage], reader.axes));
    for (ExprId value : values.back())
      if (std::ranges::find(shared.bodies, value) == shared.bodies.end())
        shared.bodies.push_back(value);
  }
  move.require(!shared.bodies.empty(), "nothing in the stages is computed of these axes alone");
  check_operands(move, shared.bodies);
  for (ExprId body : shared.bodies)
    shared.results.push_back(add_tensor(program.graph, name, pool.dtype(body), extents));
  for (size_t k = 0; k < readers.size(); ++k)
    read_shared(program.graph, readers[k], values[k], shared);
  insert_stage(program, first, std::move(shared));
  append_move(program,
              {{"move", "materialize_common"}, {"stages", std::move(names)}, {"axes", axes}});
  return program;
}

}  // namespace adjit::sched
