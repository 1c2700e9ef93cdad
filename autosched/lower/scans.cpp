// autosched/lower/scans.cpp -- where carries start, steps that never run, outputs that are inputs.
#include "autosched/lower/scans.hpp"

#include <algorithm>

namespace adjit::sched {
namespace {

// A stage over all elements of a shape, without bodies yet.
Stage pointwise(const std::vector<int64_t>& shape, std::vector<SourceLine> lines) {
  Stage stage;
  stage.domain.extents = shape;
  stage.domain.output_rank = shape.size();
  stage.lines = std::move(lines);
  return stage;
}

ExprId whole_read(Graph& graph, TensorId tensor) {
  std::vector<ExprId> index;
  for (size_t d = 0; d < graph.info(tensor).shape.size(); ++d) index.push_back(graph.pool.axis(d));
  return read(graph, tensor, index);
}

class ScanLowering {
 public:
  explicit ScanLowering(const Graph& graph) : graph_(graph), producers_(defining_stages(graph)) {
    constant_.assign(graph.tensors.size(), false);
    for (const ConstantData& c : graph.constants) constant_[c.tensor.value] = true;
  }

  Graph operator()() {
    std::vector<Stage> stages = std::move(graph_.stages);
    graph_.stages.clear();
    for (Stage& stage : stages) {
      if (stage.kind != StageKind::Scan) {
        graph_.stages.push_back(std::move(stage));
      } else if (stage.scan->trips == 0 && !stage.scan->conditional) {
        skip(stage);
      } else {
        lower(std::move(stage));
      }
    }
    return std::move(graph_);
  }

 private:
  void lower(Stage stage) {
    Scan scan = *stage.scan;
    for (size_t k = 0; k < scan.carries; ++k) {
      TensorId& start = stage.operands[k];
      if (producers_[start.value] == SIZE_MAX && !constant_[start.value])
        start = copy(start, {}, stage.lines);
    }
    scan.body = std::make_shared<const Graph>(compact(separate_outputs(*scan.body)));
    stage.scan = std::make_shared<const Scan>(std::move(scan));
    graph_.stages.push_back(std::move(stage));
  }

  // No step: the carries stay, nothing is stacked.
  void skip(const Stage& stage) {
    for (size_t k = 0; k < stage.results.size(); ++k) {
      const TensorId result = stage.results[k];
      if (k < stage.scan->carries) {
        copy(stage.operands[k], result, stage.lines);
        continue;
      }
      Stage nothing = pointwise(graph_.info(result).shape, stage.lines);
      nothing.results = {result};
      nothing.bodies = {graph_.pool.cast(graph_.pool.constant_int(0), graph_.info(result).dtype)};
      graph_.stages.push_back(std::move(nothing));
    }
  }

  // `to`: the tensor it becomes; invalid: a new one.
  TensorId copy(TensorId from, TensorId to, const std::vector<SourceLine>& lines) {
    const TensorInfo info = graph_.info(from);
    if (!to.valid()) to = add_tensor(graph_, info.name + "_start", info.dtype, info.shape);
    Stage stage = pointwise(info.shape, lines);
    stage.results = {to};
    stage.bodies = {whole_read(graph_, from)};
    graph_.stages.push_back(std::move(stage));
    return to;
  }

  Graph graph_;
  std::vector<size_t> producers_;  // per tensor
  std::vector<bool> constant_;     // per tensor
};

}  // namespace

Graph lower_scans(const Graph& graph) {
  if (std::ranges::none_of(graph.stages, [](const Stage& s) { return s.kind == StageKind::Scan; }))
    return graph;
  return ScanLowering(graph)();
}

Graph separate_outputs(Graph graph) {
  const std::vector<size_t> stage_of = defining_stages(graph);
  std::vector<char> taken(graph.tensors.size(), 0);
  for (TensorId& output : graph.outputs) {
    if (stage_of[output.value] != SIZE_MAX && !taken[output.value]) {
      taken[output.value] = 1;
      continue;
    }
    const TensorInfo info = graph.info(output);
    Domain domain;
    domain.extents = info.shape;
    domain.output_rank = info.shape.size();
    output = add_compute(graph, info.name + "_copy", std::move(domain), {},
                         {whole_read(graph, output)})[0];
  }
  return graph;
}

}  // namespace adjit::sched
