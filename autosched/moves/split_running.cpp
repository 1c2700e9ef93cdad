// autosched/moves/split_running.cpp -- a reduction that runs on along an axis, in chunks that do
// not wait for each other.
//
//   y[i] = sum over r <= i of f(r), i < 1000, in 4 parts:
//   T[p] = sum over r < 250 of f(250 p + r);   S[p] = sum over q < p of T[q];
//   Z[p, r] = sum over q <= r of (q == 0 ? S[p] + f(250 p) : f(250 p + q));
//   y[i] = Z[i // 250, i % 250].
// S and Z run on, y is Z in another shape. From the back the chunks are the same ones, and begin
// with what is behind them. Without the point itself, Z is of the values one point before, and S in
// front of them. The order is fixed by the number of parts, never by threads.
#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/graph_edit.hpp"
#include "runtime/graph/identity.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

// Stages over the chunks of a stage's axis. Their results have an axis of chunks in place of it.
class Chunks {
 public:
  Chunks(Program& program, size_t stage, int64_t parts)
      : program_(program),
        graph_(program.graph),
        pool_(program.graph.pool),
        stage_(stage),
        whole_(program.graph.stages[stage]),
        running_(*running_of(program.graph, whole_)),
        extent_(whole_.domain.extents[running_.axis]),
        chunk_(ceil_div(extent_, parts)),
        ragged_(extent_ % chunk_ != 0) {
    shape_ = whole_.domain.extents;
    shape_[running_.axis] = ceil_div(extent_, chunk_);
  }

  /// Puts three stages before the one that was, which puts their results together.
  void operator()() {
    const Stage totals = total(), starts = start(totals), chunks = chunk_scan(starts);
    put_together(chunks);
    insert_stage(program_, stage_, chunks);
    insert_stage(program_, stage_, starts);
    insert_stage(program_, stage_, totals);
  }

 private:
  // The same combiner over other points. Totals are as wide as accumulators.
  Stage of_parts(Domain domain) const {
    Stage stage = whole_;
    stage.domain = std::move(domain);
    return stage;
  }
  void name_results(Stage& stage, const std::string& suffix, bool wide) {
    const auto first = stage.domain.extents.begin();
    const std::vector<int64_t> shape(first,
                                     first + static_cast<std::ptrdiff_t>(stage.domain.output_rank));
    for (size_t k = 0; k < stage.results.size(); ++k) {
      const TensorInfo result = graph_.info(whole_.results[k]);
      stage.results[k] =
          add_tensor(graph_, result.name + suffix, wide ? accumulator(k) : result.dtype, shape);
    }
  }
  DType accumulator(size_t k) const { return accumulator_of(pool_.dtype(whole_.bodies[k])); }

  // The axes of the whole, that which runs on as the point `within` of a chunk, whose axis is
  // number `at`, and those behind number `moved` one further.
  std::vector<ExprId> axes_of_whole(size_t at, size_t moved) {
    std::vector<ExprId> now;
    for (size_t a = 0; a < whole_.domain.rank(); ++a)
      now.push_back(pool_.axis(a > moved ? a + 1 : a));
    now[running_.axis] =
        pool_.add(pool_.mul(pool_.axis(running_.axis), pool_.constant_int(chunk_)), pool_.axis(at));
    return now;
  }

  Stage total() {
    const size_t within = whole_.domain.rank();
    Domain domain = shape_box(shape_);
    domain.extents.push_back(chunk_);
    if (ragged_)
      domain.inequalities.push_back(Affine(extent_ - 1) - Affine::variable(running_.axis, chunk_) -
                                    Affine::variable(within));
    Stage stage = of_parts(std::move(domain));
    const std::vector<ExprId> now = axes_of_whole(within, within);
    for (ExprId& body : stage.bodies) body = body_at(pool_, body, now, {});
    name_results(stage, "_totals", true);
    return stage;
  }

  Stage start(const Stage& totals) {
    Stage stage = of_parts(shape_box(shape_));
    std::vector<ExprId> here;
    for (size_t a = 0; a < shape_.size(); ++a) here.push_back(pool_.axis(a));
    for (size_t k = 0; k < stage.bodies.size(); ++k)
      stage.bodies[k] = pool_.read(totals.results[k], accumulator(k), here);
    name_results(stage, "_starts", true);
    graph_.running.emplace(stage_key(stage), Running{running_.axis, running_.reverse, true});
    return stage;
  }

  Stage chunk_scan(const Stage& starts) {
    const size_t within = running_.axis + 1;
    std::vector<int64_t> extents = shape_;
    extents.insert(extents.begin() + static_cast<std::ptrdiff_t>(within), chunk_);
    Stage stage = of_parts(shape_box(std::move(extents)));
    std::vector<ExprId> now = axes_of_whole(within, running_.axis);
    std::vector<ExprId> chunk = now;
    chunk[running_.axis] = pool_.axis(running_.axis);
    const ExprId before = pool_.constant_int(running_.reverse ? 1 : -1);
    if (running_.exclusive) now[running_.axis] = pool_.add(now[running_.axis], before);
    const ExprId inside = condition_of(now[running_.axis]);
    const ExprId first = pool_.make(
        Op::Eq, {pool_.axis(within), pool_.constant_int(running_.reverse ? chunk_ - 1 : 0)});
    for (size_t k = 0; k < stage.bodies.size(); ++k) {
      const DType dtype = accumulator(k);
      ExprId value = pool_.cast(body_at(pool_, whole_.bodies[k], now, inside), dtype);
      if (ragged_)
        value = pool_.select(inside, value, identity_of(pool_, whole_.combiner.kind, dtype));
      const ExprId start = pool_.read(starts.results[k], dtype, chunk);
      const Op combine = combining_op(whole_.combiner.kind, dtype);
      const ExprId begun = running_.exclusive ? start : pool_.make(combine, {start, value});
      stage.bodies[k] = pool_.select(first, begun, value);
    }
    name_results(stage, "_chunks", false);
    graph_.running.emplace(stage_key(stage), Running{within, running_.reverse, false});
    return stage;
  }

  // Where a chunk's point may lie outside of the axis; invalid where none does.
  ExprId condition_of(ExprId point) {
    ExprId inside;
    if (running_.exclusive && !running_.reverse)
      inside = pool_.make(Op::Le, {pool_.constant_int(0), point});
    if (ragged_ || (running_.exclusive && running_.reverse)) {
      const ExprId below = pool_.make(Op::Lt, {point, pool_.constant_int(extent_)});
      inside = inside.valid() ? pool_.logical_and(inside, below) : below;
    }
    return inside;
  }

  void put_together(const Stage& chunks) {
    graph_.running.erase(stage_key(whole_));
    std::vector<ExprId> index;
    for (size_t d = 0; d < shape_.size(); ++d) {
      const ExprId at = pool_.axis(d), size = pool_.constant_int(chunk_);
      if (d != running_.axis) {
        index.push_back(at);
        continue;
      }
      index.push_back(pool_.make(Op::FloorDiv, {at, size}));
      index.push_back(pool_.make(Op::Mod, {at, size}));
    }
    Stage& last = graph_.stages[stage_];
    for (size_t k = 0; k < last.bodies.size(); ++k)
      last.bodies[k] = pool_.read(chunks.results[k], graph_.info(last.results[k]).dtype, index);
    last.combiner = {};
    reset_nest(program_, stage_);
  }

  Program& program_;
  LoweredGraph& graph_;
  ExprPool& pool_;
  size_t stage_;
  const Stage whole_;
  const Running running_;
  const int64_t extent_, chunk_;
  const bool ragged_;
  std::vector<int64_t> shape_;  // of the results, by chunks
};

}  // namespace

Program split_running(Program program, size_t stage, int64_t parts) {
  const Move move = begin_move("split_running", program, stage);
  const Stage& whole = move.stage_ref();
  const Running* running = running_of(program.graph, whole);
  move.require(running, "it does not run on along an axis");
  move.require(has_partial_results(whole.combiner.kind), "its combiner has no partial results");
  move.require(parts >= 2 && parts <= whole.domain.extents[running->axis] / 2,
               "there must be 2 parts to one for 2 points");
  move.own_kernel("split it before attaching others to it");
  Chunks(program, stage, parts)();
  const Move moved{move.name, program, stage + 3};
  moved.record({{"parts", parts}});
  return program;
}

}  // namespace adjit::sched
