// autosched/moves/split_axis.cpp -- one axis of several stages in blocks, which can be tasks of all
// of them.
//
//   S[i, j] = ...;   m[i] = max over j of S[i, j];   v[j] = sum over i of S[i, j] * x[i], i < 1024
// in blocks of 64:
//   S[b, r, j];   m[b, r] = max over j of S[b, r, j];
//   v[j] = sum over b < 16, r < 64 of S[b, r, j] * x[64 b + r].
// A task of block b writes and reads a part of S that has a place of its own, and v goes on from
// one block to the next.
#include <algorithm>
#include <map>

#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/required_region.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

class AxisBlocker {
 public:
  AxisBlocker(Program& program, std::span<const StageAxis> stages, std::span<const int64_t> steps)
      : program_(program), steps_(steps.begin(), steps.end()) {
    for (const StageAxis& s : stages) axis_of_[s.stage] = s.axis;
    extent_ = program.graph.stages[stages[0].stage].domain.extents[stages[0].axis];
    extents_.push_back(ceil_div(extent_, steps_[0]));
    for (size_t k = 0; k + 1 < steps_.size(); ++k) extents_.push_back(steps_[k] / steps_[k + 1]);
    extents_.push_back(steps_.back());
    name_results();
  }

  void operator()() {
    for (auto member = axis_of_.rbegin(); member != axis_of_.rend(); ++member)
      rewrite(member->first, member->second);
    index_readers(program_);
  }

 private:
  // A result over the axis: its dimension, and the tensor in blocks, which is itself where nobody
  // reads it otherwise.
  struct Result {
    size_t dim = 0;
    TensorId blocks;
  };

  void name_results() {
    Graph& graph = program_.graph;
    for (const auto& [s, axis] : axis_of_) {
      if (axis >= graph.stages[s].domain.output_rank) continue;
      const std::vector<TensorId> results = graph.stages[s].results;
      for (TensorId id : results) {
        const TensorInfo whole = graph.info(id);
        std::vector<int64_t> shape = whole.shape;
        shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), extents_.begin(),
                     extents_.end());
        if (read_in_blocks_only(id, axis)) {
          graph.tensors[id.value].shape = std::move(shape);
          results_[id] = {axis, id};
        } else {
          results_[id] = {axis, add_tensor(graph, whole.name + "_blocks", whole.dtype, shape)};
        }
      }
    }
  }

  bool read_in_blocks_only(TensorId id, size_t dim) const {
    return program_.scopes[id.value] == Scope::Workspace &&
           std::ranges::all_of(program_.readers[id.value], [&](size_t reader) {
             const auto member = axis_of_.find(reader);
             if (member == axis_of_.end()) return false;
             const std::vector<ExprId> reads = reads_of(program_.graph, stage(reader));
             return std::ranges::all_of(reads, [&](ExprId read) {
               return program_.graph.pool.read_tensor(read) != id ||
                      reads_at(read, dim, member->second);
             });
           });
  }

  // Whether a read has the axis itself as its index.
  bool reads_at(ExprId read, size_t dim, size_t axis) const {
    const ExprPool& pool = program_.graph.pool;
    const ExprId index = pool.read_index(read)[dim];
    return pool.is(index, Op::Axis) && pool.axis_number(index) == axis;
  }

  // The axes of a stage as they were, over those that it has now.
  std::vector<Affine> whole_axes(size_t rank, size_t axis) const {
    std::vector<Affine> axes;
    for (size_t a = 0; a < rank; ++a)
      axes.push_back(Affine::variable(a < axis ? a : a + steps_.size()));
    axes[axis] = Affine::variable(axis + steps_.size());
    for (size_t k = 0; k < steps_.size(); ++k) axes[axis] += Affine::variable(axis + k, steps_[k]);
    return axes;
  }

  Domain blocked(const Domain& domain, size_t axis) const {
    Domain made;
    made.extents = domain.extents;
    made.extents.erase(made.extents.begin() + static_cast<std::ptrdiff_t>(axis));
    made.extents.insert(made.extents.begin() + static_cast<std::ptrdiff_t>(axis), extents_.begin(),
                        extents_.end());
    made.output_rank = domain.output_rank + (axis < domain.output_rank ? steps_.size() : 0);
    std::vector<Affine> now = whole_axes(domain.rank(), axis);
    for (const Division& d : domain.divisions) {
      made.divisions.push_back({substitute(d.numerator, now), d.divisor});
      now.push_back(Affine::variable(now.size() + steps_.size()));
    }
    for (const Affine& row : domain.inequalities) made.inequalities.push_back(substitute(row, now));
    for (const Affine& row : domain.equalities) made.equalities.push_back(substitute(row, now));
    if (extent_ % steps_[0] != 0) made.inequalities.push_back(Affine(extent_ - 1) - now[axis]);
    return made;
  }

  ExprId blocked(ExprId body, size_t axis, std::span<const ExprId> now) {
    ExprPool& pool = program_.graph.pool;
    Rebuilder rebuild(pool, pool, [&](ExprId leaf, std::span<const ExprId> operands) {
      if (pool.is(leaf, Op::Axis)) return now[pool.axis_number(leaf)];
      if (!pool.is(leaf, Op::Read)) return ExprId{};
      const auto result = results_.find(pool.read_tensor(leaf));
      if (result == results_.end() || !reads_at(leaf, result->second.dim, axis)) return ExprId{};
      const bool guarded = pool.read_predicate(leaf).valid();
      std::vector<ExprId> index(operands.begin(), operands.end() - (guarded ? 1 : 0));
      const ExprId predicate = guarded ? operands.back() : ExprId{};
      const auto at = index.erase(index.begin() + static_cast<std::ptrdiff_t>(result->second.dim));
      std::vector<ExprId> axes;
      for (size_t k = 0; k <= steps_.size(); ++k) axes.push_back(pool.axis(axis + k));
      index.insert(at, axes.begin(), axes.end());
      return pool.read(result->second.blocks, pool.dtype(leaf), index, predicate);
    });
    return rebuild(body);
  }

  void rewrite(size_t s, size_t axis) {
    const Stage whole = stage(s);
    Stage made = whole;
    made.domain = blocked(whole.domain, axis);
    const std::vector<ExprId> now =
        to_exprs(program_.graph.pool, whole_axes(whole.domain.rank(), axis), made.domain);
    for (ExprId& body : made.bodies) body = blocked(body, axis, now);
    Stage together;  // of the results that others read
    for (TensorId& id : made.results) {
      const auto result = results_.find(id);
      if (result == results_.end() || result->second.blocks == id) continue;
      together.results.push_back(id);
      together.bodies.push_back(read_together(result->second, program_.graph.info(id)));
      id = result->second.blocks;
    }
    if (together.results.empty()) {
      program_.graph.stages[s] = std::move(made);
      reset_nest(program_, s);
      return;
    }
    together.domain = shape_box(program_.graph.info(together.results[0]).shape);
    together.lines = whole.lines;
    program_.graph.stages[s] = std::move(together);
    reset_nest(program_, s);
    insert_stage(program_, s, std::move(made));
  }

  // An element of a result, where its block has it.
  ExprId read_together(const Result& result, const TensorInfo& whole) {
    ExprPool& pool = program_.graph.pool;
    std::vector<ExprId> index;
    for (size_t d = 0; d < whole.shape.size(); ++d) {
      if (d != result.dim) {
        index.push_back(pool.axis(d));
        continue;
      }
      ExprId rest = pool.axis(d);
      for (int64_t step : steps_) {
        index.push_back(pool.make(Op::FloorDiv, {rest, pool.constant_int(step)}));
        rest = pool.make(Op::Mod, {rest, pool.constant_int(step)});
      }
      index.push_back(rest);
    }
    return pool.read(result.blocks, whole.dtype, index);
  }

  const Stage& stage(size_t s) const { return program_.graph.stages[s]; }

  Program& program_;
  std::vector<int64_t> steps_;
  int64_t extent_ = 0;                // of the axis
  std::vector<int64_t> extents_;      // of the axes in its place
  std::map<size_t, size_t> axis_of_;  // by stage
  std::map<TensorId, Result> results_;
};

}  // namespace

Program split_axis(Program program, std::span<const StageAxis> stages,
                   std::span<const int64_t> steps) {
  if (stages.empty()) throw Error(ErrorCode::Schedule, "split_axis: needs a stage");
  Json names = Json::array(), axes = Json::array();
  std::vector<bool> member(program.graph.stages.size(), false);
  int64_t extent = 0;
  for (const StageAxis& s : stages) {
    const Move move = begin_move("split_axis", program, s.stage);
    const Stage& stage = move.stage_ref();
    move.require(!member[s.stage], "a stage is there twice");
    member[s.stage] = true;
    move.require(stage.kind == StageKind::Compute && !running_of(program.graph, stage),
                 "only compute stages have axes that can be taken apart");
    move.require(s.axis < stage.domain.rank(), "the stage has no such axis");
    if (names.empty()) extent = stage.domain.extents[s.axis];
    move.require(stage.domain.extents[s.axis] == extent, "the axes differ in their extents");
    move.own_kernel("take it apart before attaching it or others to it");
    names.push_back(stage_name(program.graph, stage));
    axes.push_back(s.axis);
  }
  const Move move = begin_move("split_axis", program, stages[0].stage);
  move.require(!steps.empty() && steps.front() < extent && steps.back() >= 1,
               "there must be steps, of 1 point or more, the first shorter than the axis");
  for (size_t k = 1; k < steps.size(); ++k)
    move.require(steps[k] >= 1 && steps[k] < steps[k - 1] && steps[k - 1] % steps[k] == 0,
                 "each step must divide the one before");
  AxisBlocker(program, stages, steps)();
  append_move(program, {{"move", "split_axis"},
                        {"stages", std::move(names)},
                        {"axes", std::move(axes)},
                        {"steps", std::vector<int64_t>(steps.begin(), steps.end())}});
  return program;
}

}  // namespace adjit::sched
