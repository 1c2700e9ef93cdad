// runtime/diff/reverse/segments.cpp -- scans in segments.
#include "runtime/diff/reverse/segments.hpp"

#include <algorithm>
#include <utility>

#include "runtime/diff/rewrite/rewrite.hpp"

namespace adjit::diff {
namespace {

// Steps [first, first + count * length) as `count` blocks of `length`; count 0: one block without
// an axis of its own.
struct Block {
  int64_t first = 0, count = 0, length = 0;
};

class Segmenter {
 public:
  Segmenter(Graph& graph, Stage stage)
      : graph_(graph), stage_(std::move(stage)), scan_(*stage_.scan) {}

  // Replaces the stage; its results keep their ids.
  void operator()() {
    const int64_t k = scan_.segment, rest = scan_.trips % k, whole = scan_.trips - rest;
    const Block segments{scan_.reverse ? rest : 0, whole / k, k};
    const Block remainder{scan_.reverse ? 0 : whole, 0, rest};
    std::vector<TensorId> results = run_segments(segments, rest == 0);
    if (rest == 0) return give_stacked(results, segments, {}, segments);
    carry_over(results);
    const std::vector<TensorId> last = run_call(graph_, remainder.length, carries_now_, remainder,
                                                std::span(stage_.results).first(scan_.carries));
    give_stacked(results, segments, last, remainder);
  }

 private:
  bool is_scanned(size_t k) const {
    return k >= scan_.carries && k < scan_.carries + scan_.scanned;
  }

  // The operand's steps of a block: (count, length, ...) or (length, ...).
  TensorId sliced(TensorId operand, const Block& block) {
    const TensorInfo info = graph_.info(operand);
    ExprPool& pool = graph_.pool;
    std::vector<int64_t> shape{block.length};
    if (block.count > 0) shape.insert(shape.begin(), block.count);
    const size_t leading = shape.size();
    shape.insert(shape.end(), info.shape.begin() + 1, info.shape.end());
    ExprId time = pool.axis(leading - 1);
    if (block.count > 0)
      time = pool.add(pool.mul(pool.axis(0), pool.constant_int(block.length)), time);
    std::vector<ExprId> index{pool.add(time, pool.constant_int(block.first))};
    for (size_t d = leading; d < shape.size(); ++d) index.push_back(pool.axis(d));
    const ExprId value = read(graph_, operand, index);
    return add_compute(graph_, info.name + "_segments", shape_box(std::move(shape)), Combiner{},
                       {value}, stage_.lines)[0];
  }

  // `length` steps as a graph of their own: inputs and outputs as the scan's, `length` for trips.
  std::shared_ptr<const Graph> steps(int64_t length) const {
    Graph graph;
    graph.name = scan_.body->name;
    Stage stage = stage_;
    Scan scan = scan_;
    scan.trips = length;
    scan.segment = 0;
    for (size_t k = 0; k < stage.operands.size(); ++k) {
      TensorInfo info = graph_.info(stage.operands[k]);
      if (is_scanned(k)) info.shape[0] = length;
      stage.operands[k] = add_input(graph, info.name, info.dtype, std::move(info.shape));
    }
    for (size_t k = 0; k < stage.results.size(); ++k) {
      TensorInfo info = graph_.info(stage.results[k]);
      if (k >= scan.carries) info.shape[0] = length;
      stage.results[k] = add_tensor(graph, info.name, info.dtype, std::move(info.shape));
    }
    stage.scan = std::make_shared<const Scan>(std::move(scan));
    graph.outputs = stage.results;
    graph.stages.push_back(std::move(stage));
    return std::make_shared<const Graph>(std::move(graph));
  }

  // A call to recompute of `length` steps in `graph`, on these operands.
  std::vector<TensorId> append_call(Graph& graph, int64_t length, std::vector<TensorId> operands,
                                    std::span<const TensorId> carries) const {
    Call call;
    call.recompute = true;
    call.body = steps(length);
    Stage stage;
    stage.kind = StageKind::Call;
    stage.callee = call.body->name;
    stage.operands = std::move(operands);
    stage.lines = stage_.lines;
    for (size_t k = 0; k < call.body->outputs.size(); ++k) {
      const TensorInfo info = call.body->info(call.body->outputs[k]);
      stage.results.push_back(
          k < carries.size() ? carries[k] : add_tensor(graph, info.name, info.dtype, info.shape));
    }
    stage.call = std::make_shared<const Call>(std::move(call));
    graph.stages.push_back(std::move(stage));
    return graph.stages.back().results;
  }

  std::vector<TensorId> run_call(Graph& graph, int64_t length, const std::vector<TensorId>& carries,
                                 const Block& block, std::span<const TensorId> last) {
    std::vector<TensorId> operands(carries);
    for (size_t k = scan_.carries; k < stage_.operands.size(); ++k)
      operands.push_back(is_scanned(k) ? sliced(stage_.operands[k], block) : stage_.operands[k]);
    return append_call(graph, length, std::move(operands), last);
  }

  // The scan over segments: its results, whose carries are the stage's own when nothing follows.
  std::vector<TensorId> run_segments(const Block& block, bool last) {
    const std::shared_ptr<const Graph> inner = steps(block.length);
    Graph body;
    body.name = inner->name;
    std::vector<TensorId> inputs;
    for (TensorId input : inner->inputs) {
      const TensorInfo& info = inner->info(input);
      inputs.push_back(add_input(body, info.name, info.dtype, info.shape));
    }
    body.outputs = append_call(body, block.length, inputs, {});
    Stage outer = stage_;
    for (size_t k = 0; k < outer.operands.size(); ++k)
      if (is_scanned(k)) outer.operands[k] = sliced(outer.operands[k], block);
    for (size_t k = 0; k < outer.results.size(); ++k) {
      if (last && k < scan_.carries) continue;
      TensorInfo info = body.info(body.outputs[k]);
      if (k >= scan_.carries) info.shape.insert(info.shape.begin(), block.count);
      outer.results[k] = add_tensor(graph_, info.name, info.dtype, std::move(info.shape));
    }
    Scan scan = scan_;
    scan.trips = block.count;
    scan.segment = 0;
    scan.body = std::make_shared<const Graph>(std::move(body));
    outer.scan = std::make_shared<const Scan>(std::move(scan));
    graph_.stages.push_back(std::move(outer));
    return graph_.stages.back().results;
  }

  void carry_over(const std::vector<TensorId>& results) {
    carries_now_.assign(results.begin(),
                        results.begin() + static_cast<std::ptrdiff_t>(scan_.carries));
  }

  // The stage's stacked results, put together from the segments' and the remainder's.
  void give_stacked(const std::vector<TensorId>& segments, const Block& block,
                    const std::vector<TensorId>& rest, const Block& remainder) {
    ExprPool& pool = graph_.pool;
    for (size_t k = scan_.carries; k < stage_.results.size(); ++k) {
      Stage stage;
      stage.domain = shape_box(graph_.info(stage_.results[k]).shape);
      std::vector<ExprId> point = axes(pool, stage.domain.rank());
      const ExprId time = pool.sub(point[0], pool.constant_int(block.first));
      const ExprId length = pool.constant_int(block.length);
      std::vector<ExprId> index{pool.make(Op::FloorDiv, {time, length}),
                                pool.make(Op::Mod, {time, length})};
      index.insert(index.end(), point.begin() + 1, point.end());
      ExprId value = read(graph_, segments[k], index);
      if (!rest.empty()) {
        const ExprId boundary = pool.constant_int(std::max(block.first, remainder.first));
        const ExprId early = pool.make(Op::Lt, {point[0], boundary});
        point[0] = pool.sub(point[0], pool.constant_int(remainder.first));
        const ExprId other = read(graph_, rest[k], point);
        const bool segments_early = block.first < remainder.first;
        value = pool.make(Op::Select,
                          {early, segments_early ? value : other, segments_early ? other : value});
      }
      stage.bodies = {value};
      stage.results = {stage_.results[k]};
      stage.lines = stage_.lines;
      graph_.stages.push_back(std::move(stage));
    }
  }

  Graph& graph_;
  const Stage stage_;
  const Scan& scan_;
  std::vector<TensorId> carries_now_;
};

bool in_segments(const Stage& stage) {
  return stage.kind == StageKind::Scan && stage.scan->segment > 0 &&
         stage.scan->segment < stage.scan->trips && !stage.stop_gradient;
}

}  // namespace

Graph segment_scans(const Graph& graph, std::span<const size_t> wrt) {
  if (std::ranges::none_of(graph.stages, in_segments)) return graph;
  std::vector<char> active(graph.tensors.size(), 0);
  for (size_t k : wrt) active[graph.inputs[k].value] = 1;
  Graph result = graph;
  result.stages.clear();
  for (const Stage& stage : graph.stages) {
    const std::vector<TensorId> reads = tensors_read(graph, stage);
    const bool differentiated =
        std::ranges::any_of(reads, [&](TensorId t) { return active[t.value] != 0; });
    if (differentiated && !stage.stop_gradient)
      for (TensorId t : stage.results) active[t.value] = is_float(graph.info(t).dtype);
    if (differentiated && in_segments(stage))
      Segmenter(result, stage)();
    else
      result.stages.push_back(stage);
  }
  return result;
}

}  // namespace adjit::diff
