// autosched/moves/scatter/privatize_scatter.cpp -- a scatter in parts that do not share an element
// (privatisation).
//
//   H[I[r]] += X[r] for r < 1000, in 4 parts:
//   P[p, I[250 p + r]] += X[250 p + r] for p < 4, r < 250;   H[i] = H0[i] + sum over p of P[p, i].
// The order of the sums is fixed by the number of parts, never by threads.
#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/graph_edit.hpp"
#include "runtime/graph/identity.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

// Stages over all elements of the parts.
class Splitter {
 public:
  Splitter(Program& program, size_t stage, size_t axis, int64_t parts)
      : program_(program),
        graph_(program.graph),
        stage_(stage),
        axis_(axis),
        whole_(program.graph.stages[stage]),
        result_(graph_.info(whole_.results[0])),
        chunk_(ceil_div(whole_.domain.extents[axis], parts)),
        parts_(ceil_div(whole_.domain.extents[axis], chunk_)) {
    shape_ = result_.shape;
    shape_.insert(shape_.begin(), parts_);
  }

  /// Puts three stages before the scatter, which becomes the last combination.
  void operator()() {
    const TensorId start = add_tensor(graph_, result_.name + "_start", result_.dtype, shape_);
    const TensorId written = add_tensor(graph_, result_.name + "_parts", result_.dtype, shape_);
    const TensorId joined =
        add_tensor(graph_, result_.name + "_joined", result_.dtype, result_.shape);
    combine_with_start(joined);
    insert_stage(program_, stage_, join(written, joined));
    insert_stage(program_, stage_, partial(start, written));
    insert_stage(program_, stage_, fill(start));
  }

 private:
  Stage fill(TensorId start) const {
    Stage stage;
    stage.domain.extents = shape_;
    stage.domain.output_rank = shape_.size();
    stage.results = {start};
    stage.bodies = {identity_of(graph_.pool, whole_.combiner.kind, result_.dtype)};
    stage.lines = whole_.lines;
    return stage;
  }

  Stage partial(TensorId start, TensorId written) const {
    ExprPool& pool = graph_.pool;
    Stage stage = whole_;
    stage.domain = partial_domain(whole_.domain, axis_, parts_, chunk_);
    const std::vector<ExprId> now =
        to_exprs(pool, whole_axes(whole_.domain, axis_, chunk_), stage.domain);
    stage.domain.output_rank = 0;
    stage.bodies = {body_at(pool, whole_.bodies[0], now, {})};
    stage.target = {pool.axis(0)};
    for (ExprId target : whole_.target) stage.target.push_back(body_at(pool, target, now, {}));
    stage.initial = start;
    stage.results = {written};
    return stage;
  }

  Stage join(TensorId written, TensorId joined) const {
    ExprPool& pool = graph_.pool;
    Stage stage;
    stage.domain.extents = result_.shape;
    stage.domain.output_rank = result_.shape.size();
    stage.domain.extents.push_back(parts_);
    std::vector<ExprId> index{pool.axis(stage.domain.output_rank)};
    for (size_t d = 0; d < result_.shape.size(); ++d) index.push_back(pool.axis(d));
    stage.combiner = whole_.combiner;
    stage.bodies = {pool.read(written, result_.dtype, index)};
    stage.results = {joined};
    stage.lines = whole_.lines;
    return stage;
  }

  void combine_with_start(TensorId joined) {
    ExprPool& pool = graph_.pool;
    Stage& stage = graph_.stages[stage_];
    stage.kind = StageKind::Compute;
    stage.domain = Domain();
    stage.domain.extents = result_.shape;
    stage.domain.output_rank = result_.shape.size();
    std::vector<ExprId> index;
    for (size_t d = 0; d < result_.shape.size(); ++d) index.push_back(pool.axis(d));
    const ExprId before = pool.read(whole_.initial, result_.dtype, index);
    const ExprId now = pool.read(joined, result_.dtype, index);
    stage.bodies = {pool.make(combining_op(whole_.combiner.kind, result_.dtype), {before, now})};
    stage.combiner = {};
    stage.target.clear();
    stage.initial = {};
    reset_nest(program_, stage_);
  }

  Program& program_;
  Graph& graph_;
  size_t stage_, axis_;
  Stage whole_;
  TensorInfo result_;
  int64_t chunk_, parts_;
  std::vector<int64_t> shape_;
};

}  // namespace

Program privatize_scatter(Program program, size_t stage, size_t axis, int64_t parts) {
  const Move move = begin_move("privatize_scatter", program, stage);
  const Stage& whole = move.stage_ref();
  move.require(whole.kind == StageKind::Scatter, "that is no scatter");
  move.require(has_partial_results(whole.combiner.kind), "its combiner has no partial results");
  move.require(axis < whole.domain.rank(), "the stage has no such axis");
  move.require(parts >= 2 && parts <= whole.domain.extents[axis],
               "there must be 2 parts to one a point");
  move.own_kernel("split it before attaching others to it");
  Splitter(program, stage, axis, parts)();
  const Move moved{move.name, program, stage + 3};
  moved.record({{"axis", axis}, {"parts", parts}});
  return program;
}

}  // namespace adjit::sched
