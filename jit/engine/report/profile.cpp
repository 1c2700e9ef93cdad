// jit/engine/report/profile.cpp -- kernels with their times, flops and bytes.
#include "jit/engine/report/profile.hpp"

#include <map>
#include <set>

#include "autosched/analysis/exact_counts.hpp"
#include "autosched/cpu/cost/cost.hpp"
#include "autosched/program/nests.hpp"
#include "jit/engine/plan/kernel_list.hpp"
#include "jit/engine/report/json_text.hpp"
#include "runtime/process/json.hpp"

namespace adjit::engine {
namespace {

Json report(const Program& program, const Kernel& kernel, const KernelPlan& plan,
            const KernelTime& time, const KernelCost& cost, const CpuMachine& machine,
            bool from_memory) {
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
  j["predicted"] = static_cast<double>(time.calls) * cost.microseconds;
  j["roofline"] = roofline(static_cast<double>(flops.value_or(0)),
                           static_cast<double>(bytes * time.calls), machine, from_memory);
  return j;
}

}  // namespace

std::string profile_json(const Program& program, std::span<const TensorLayout> input_layouts,
                         const ExecutionPlan& plan, std::span<const KernelTime> times,
                         const CpuMachine& machine) {
  const KernelList kernels(program, input_layouts);
  const ProgramCost cost = predict(program, machine);
  invariant(kernels.entries().size() == times.size() && cost.kernels.size() == times.size(),
            "a profile of another program");
  Json list = Json::array();
  std::map<const Program*, bool> from_memory;
  for (const KernelList::Entry& entry : kernels.entries())
    if (const auto [at, fresh] = from_memory.try_emplace(entry.program); fresh)
      at->second = residence_of(*entry.program).bytes > static_cast<double>(machine.l3_bytes);
  for (size_t k = 0; k < times.size(); ++k) {
    const KernelList::Entry& entry = kernels.entries()[k];
    list.push_back(report(*entry.program, entry.program->kernels[entry.kernel], plan.kernels[k],
                          times[k], cost.kernels[k], machine, from_memory[entry.program]));
  }
  return json_text(list);
}

}  // namespace adjit::engine
