// jit/engine/report/profile.cpp -- kernels with their times, flops and bytes.
#include "jit/engine/report/profile.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "autosched/analysis/exact_counts.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/search/prediction.hpp"
#include "jit/engine/plan/kernel_list.hpp"
#include "jit/engine/report/json_text.hpp"
#include "runtime/process/json.hpp"

namespace adjit::engine {
namespace {

Json report(const Program& program, const Kernel& kernel, const KernelPlan& plan,
            const KernelTime& time) {
  const Graph& graph = program.graph;
  Json stages = Json::array();
  std::set<uint32_t> arrays;
  std::optional<int64_t> flops = 0;
  for_each_nest(kernel.root, [&](const Nest& nest) {
    const Stage& stage = graph.stages[nest.stage];
    stages.push_back(stage_name(graph, stage));
    const std::optional<StageTotals> one = totals(graph, stage);
    flops = flops && one ? std::optional(*flops + one->flops * time.calls) : std::nullopt;
    for (TensorId id : tensors_read(graph, stage)) arrays.insert(id.value);
    for (TensorId id : stage.results) arrays.insert(id.value);
  });
  int64_t bytes = 0;
  for (uint32_t id : arrays)
    if (program.scopes[id] == Scope::Argument || program.scopes[id] == Scope::Workspace)
      bytes += tensor_bytes(graph, TensorId{id});
  Json j = {{"symbol", plan.symbol},       {"stages", std::move(stages)},
            {"calls", time.calls},         {"microseconds", 1e6 * time.seconds},
            {"tasks", plan.tasks},         {"parallel", plan.parallel},
            {"bytes", bytes * time.calls}, {"flops", nullptr}};
  if (flops) j["flops"] = *flops;
  return j;
}

void add_bounds(Json& list, const Program& program, const KernelList& kernels,
                const Target& target) {
  const Prediction prediction = predict(program, target);
  invariant(prediction.kernels.size() == list.size(), "a profile of another program");
  std::map<const Program*, Roofline> rooflines;
  for (const KernelList::Entry& entry : kernels.entries())
    if (!rooflines.contains(entry.program))
      rooflines.emplace(entry.program, roofline_of(*entry.program, target));
  for (size_t k = 0; k < list.size(); ++k) {
    Json& kernel = list[k];
    kernel["predicted"] = kernel["calls"].get<double>() * prediction.kernels[k];
    kernel["roofline"] = rooflines.at(kernels.entries()[k].program)(
        kernel["flops"].is_null() ? 0 : kernel["flops"].get<double>(),
        kernel["bytes"].get<double>());
  }
}

}  // namespace

std::string profile_json(const Program& program, std::span<const TensorLayout> input_layouts,
                         const ExecutionPlan& plan, std::span<const KernelTime> times,
                         const Target& target) {
  const KernelList kernels(program, input_layouts);
  invariant(kernels.entries().size() == times.size(), "a profile of another program");
  Json list = Json::array();
  for (size_t k = 0; k < times.size(); ++k) {
    const KernelList::Entry& entry = kernels.entries()[k];
    list.push_back(
        report(*entry.program, entry.program->kernels[entry.kernel], plan.kernels[k], times[k]));
  }
  add_bounds(list, program, kernels, target);
  return json_text(list);
}

}  // namespace adjit::engine
