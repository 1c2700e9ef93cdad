// jit/engine/report/cost_report.cpp -- predicted costs as JSON.
#include "jit/engine/report/cost_report.hpp"

#include "autosched/cpu/cost/network_inputs.hpp"
#include "autosched/program/nests.hpp"
#include "jit/engine/report/json_text.hpp"
#include "runtime/process/json.hpp"

namespace adjit::engine {
namespace {

Json report(const KernelCost& kernel) {
  const Graph& graph = kernel.program->graph;
  Json nests = Json::array();
  for (const NestCost& nest : kernel.nests)
    nests.push_back({{"stage", stage_name(graph, graph.stages[nest.stage])},
                     {"terms", nest.terms},
                     {"analytic", nest.analytic},
                     {"inputs", nest.inputs},
                     {"microseconds", nest.microseconds}});
  return {
      {"calls", kernel.calls}, {"parallel", kernel.parallel},         {"tasks", kernel.tasks},
      {"cores", kernel.cores}, {"microseconds", kernel.microseconds}, {"nests", std::move(nests)}};
}

}  // namespace

std::string cost_json(const ProgramCost& cost, const CpuMachine& machine) {
  Json terms = Json::array(), kernels = Json::array();
  for (size_t t = 0; t < kCostTerms; ++t) terms.push_back(name_of(static_cast<CostTerm>(t)));
  for (const KernelCost& kernel : cost.kernels) kernels.push_back(report(kernel));
  const Json j = {{"microseconds", cost.microseconds},
                  {"inputs", network_input_names()},
                  {"terms", std::move(terms)},
                  {"machine",
                   {{"call", machine.call_microseconds},
                    {"pool", machine.pool_microseconds},
                    {"task", machine.task_microseconds},
                    {"memory_share", machine.memory_gb_per_core / machine.memory_gb},
                    {"vector_bits", machine.vector_bits}}},
                  {"kernels", std::move(kernels)}};
  return json_text(j);
}

std::string cost_json(const GpuProgramCost& cost, const GpuMachine& machine) {
  Json terms = Json::array(), kernels = Json::array();
  for (size_t t = 0; t < kGpuCostTerms; ++t) terms.push_back(name_of(static_cast<GpuCostTerm>(t)));
  for (const GpuKernelCost& kernel : cost.kernels) {
    const Graph& graph = kernel.program->graph;
    const size_t root = kernel.program->kernels[kernel.kernel].root.stage;
    kernels.push_back({{"stage", stage_name(graph, graph.stages[root])},
                       {"calls", kernel.calls},
                       {"threads", kernel.threads},
                       {"terms", kernel.terms},
                       {"microseconds", kernel.microseconds}});
  }
  const Json j = {{"microseconds", cost.microseconds},
                  {"graph_microseconds", cost.graph_microseconds},
                  {"terms", std::move(terms)},
                  {"machine",
                   {{"multiprocessors", machine.multiprocessors},
                    {"launch", machine.launch_microseconds},
                    {"node", machine.node_microseconds},
                    {"graph", machine.graph_microseconds}}},
                  {"kernels", std::move(kernels)}};
  return json_text(j);
}

std::string cost_json(const Program& program, const Target& target) {
  return std::visit(
      [&](const auto& machine) { return cost_json(predict(program, machine), machine); }, target);
}

}  // namespace adjit::engine
