// jit/engine/report/stage_report.cpp -- the stages of a graph as JSON.
#include "jit/engine/report/stage_report.hpp"

#include "autosched/analysis/exact_counts.hpp"
#include "jit/engine/report/json_text.hpp"
#include "runtime/process/json.hpp"

namespace adjit::engine {
namespace {

Json report(const Graph& graph, const Stage& stage) {
  const TensorInfo& result = graph.info(stage.results[0]);
  Json lines = Json::array();
  for (const SourceLine& line : stage.lines) lines.push_back(to_string(line));
  Exact bytes = 0;
  for (TensorId id : tensors_read(graph, stage)) bytes += tensor_bytes(graph, id);
  for (TensorId id : stage.results) bytes += tensor_bytes(graph, id);
  Json j = {
      {"name", result.name},     {"shape", result.shape},     {"dtype", name_of(result.dtype)},
      {"bytes", int64_t{bytes}}, {"lines", std::move(lines)}, {"flops", nullptr},
      {"iterations", nullptr}};
  if (const std::optional<StageTotals> sum = totals(graph, stage)) {
    j["iterations"] = sum->points;
    j["flops"] = sum->flops;
  }
  return j;
}

}  // namespace

std::string stages_json(const Graph& graph) {
  Json list = Json::array();
  for (const Stage& stage : graph.stages) list.push_back(report(graph, stage));
  return json_text(list);
}

}  // namespace adjit::engine
