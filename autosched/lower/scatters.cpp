// autosched/lower/scatters.cpp -- what a scatter starts from, its type, its indices out of range.
#include "autosched/lower/scatters.hpp"

#include <algorithm>

#include "autosched/analysis/shared_buffers.hpp"
#include "runtime/domain/bounds.hpp"
#include "runtime/expr/interval.hpp"
#include "runtime/graph/identity.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

class ScatterLowering {
 public:
  explicit ScatterLowering(const LoweredGraph& graph) : graph_(graph), sharing_(graph) {}

  LoweredGraph operator()() {
    std::vector<Stage> stages = std::move(graph_.stages);
    graph_.stages.clear();
    for (size_t s = 0; s < stages.size(); ++s) {
      if (stages[s].kind == StageKind::Scatter) {
        const TensorId from = stages[s].initial;
        lower(std::move(stages[s]), from.valid() && !sharing_.refusal(s, from));
      } else {
        graph_.stages.push_back(std::move(stages[s]));
      }
    }
    return std::move(graph_);
  }

 private:
  // `on_top`: the scatter may write over what it starts from.
  void lower(Stage stage, bool on_top) {
    const TensorId result = stage.results[0];
    const TensorInfo info = graph_.info(result);
    const DType wide = accumulator_of(info.dtype);
    if (wide != info.dtype || !on_top) stage.initial = start(stage, info, wide);
    if (wide != info.dtype) {
      stage.results[0] = add_tensor(graph_, info.name + "_wide", wide, info.shape);
      stage.bodies[0] = graph_.pool.cast(stage.bodies[0], wide);
    }
    stage.target = targets(stage, info.shape);
    if (writes_nothing(stage))
      stage.domain.extents.assign(std::max<size_t>(1, stage.domain.rank()), 0);
    stage.out_of_range = OutOfRange::Drop;
    const TensorId written = stage.results[0];
    const std::vector<SourceLine> lines = stage.lines;
    graph_.stages.push_back(std::move(stage));
    if (written == result) return;
    Stage rounded = pointwise(info.shape, lines);
    rounded.results = {result};
    rounded.bodies = {graph_.pool.cast(read(graph_, written, index(info.shape)), info.dtype)};
    graph_.stages.push_back(std::move(rounded));
  }

  TensorId start(const Stage& stage, const TensorInfo& info, DType dtype) {
    ExprPool& pool = graph_.pool;
    Stage fill = pointwise(info.shape, stage.lines);
    fill.results = {add_tensor(graph_, info.name + "_start", dtype, info.shape)};
    if (stage.initial.valid()) {
      fill.bodies = {pool.cast(read(graph_, stage.initial, index(info.shape)), dtype)};
    } else if (stage.combiner.kind == CombinerKind::None) {
      fill.bodies = {pool.cast(pool.constant_int(0, DType::Int64), dtype)};
    } else {
      fill.bodies = {identity_of(pool, stage.combiner.kind, dtype)};
    }
    const TensorId result = fill.results[0];
    graph_.stages.push_back(std::move(fill));
    return result;
  }

  static Stage pointwise(const std::vector<int64_t>& shape, std::vector<SourceLine> lines) {
    Stage stage;
    stage.domain.extents = shape;
    stage.domain.output_rank = shape.size();
    stage.lines = std::move(lines);
    return stage;
  }

  std::vector<ExprId> index(const std::vector<int64_t>& shape) {
    std::vector<ExprId> axes;
    for (size_t d = 0; d < shape.size(); ++d) axes.push_back(graph_.pool.axis(d));
    return axes;
  }

  std::vector<ExprId> targets(const Stage& stage, const std::vector<int64_t>& shape) {
    ExprPool& pool = graph_.pool;
    std::vector<ExprId> target = stage.target;
    ExprId inside = pool.constant_int(1, DType::Bool);
    size_t first_open = target.size();
    for (size_t d = 0; d < target.size(); ++d) {
      const ExprId zero = pool.constant_int(0), extent = pool.constant_int(shape[d]);
      if (proven(stage.domain, target[d], shape[d])) continue;
      if (stage.out_of_range == OutOfRange::Clip && shape[d] > 0) {
        const ExprId last = pool.constant_int(shape[d] - 1);
        target[d] = pool.make(Op::Max, {zero, pool.make(Op::Min, {target[d], last})});
        continue;
      }
      if (stage.out_of_range == OutOfRange::Wrap && shape[d] > 0) {
        target[d] = pool.make(Op::Mod, {target[d], extent});
        continue;
      }
      inside = pool.logical_and(inside, pool.make(Op::Le, {zero, target[d]}));
      inside = pool.logical_and(inside, pool.make(Op::Lt, {target[d], extent}));
      first_open = std::min(first_open, d);
    }
    if (first_open < target.size())
      target[first_open] =
          pool.make(Op::Select, {inside, target[first_open], pool.constant_int(-1)});
    return target;
  }

  // The condition folded: a target is the constant -1.
  bool writes_nothing(const Stage& stage) const {
    return std::ranges::any_of(stage.target, [&](ExprId target) {
      const std::optional<int64_t> constant = graph_.pool.int_value(target);
      return constant && *constant < 0;
    });
  }

  bool proven(const Domain& domain, ExprId index, int64_t extent) const {
    if (const auto range = interval_of(graph_.pool, index, domain.extents))
      if (range->lo >= 0 && range->hi < extent) return true;
    const std::optional<IndexForm> at = index_form(graph_.pool, index, domain);
    if (!at) return false;
    const std::optional<Interval> range = box_interval(at->domain, at->form);
    if (range && (range->empty() || (range->lo >= 0 && range->hi < extent))) return true;
    return !domain.is_box() && implies(at->domain, at->form) &&
           implies(at->domain, Affine(extent - 1) - at->form);
  }

  LoweredGraph graph_;
  BufferSharing sharing_;  // of the graph as it was
};

}  // namespace

LoweredGraph lower_scatters(const LoweredGraph& graph) {
  if (std::ranges::none_of(graph.stages,
                           [](const Stage& s) { return s.kind == StageKind::Scatter; }))
    return graph;
  return ScatterLowering(graph)();
}

}  // namespace adjit::sched
