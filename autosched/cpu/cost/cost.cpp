// autosched/cpu/cost/cost.cpp -- how long a program would take.
#include "autosched/cpu/cost/cost.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

#include "autosched/analysis/kernel_calls.hpp"
#include "autosched/cpu/cost/network.hpp"
#include "autosched/cpu/cost/network_inputs.hpp"

namespace adjit::sched {
namespace {

double& at(CostTerms& terms, CostTerm term) { return terms[static_cast<size_t>(term)]; }
double at(const CostTerms& terms, CostTerm term) { return terms[static_cast<size_t>(term)]; }

CostTerms cost_terms(const NestFeatures& f, const CpuMachine& machine) {
  const double us = 1e-3 / machine.ghz;  // of one cycle
  const double bits = 8 * f.bytes_per_vector;
  // Narrow vectors gain nothing beyond two pipes.
  const double per_operation = std::max(0.5, bits / machine.fma_bits);
  const double per_load = std::max(0.5, bits / machine.load_bits);
  CostTerms terms{};
  at(terms, CostTerm::Arithmetic) =
      us * per_operation * (f.operations + f.masks + machine.core.fold_operations * f.folds);
  at(terms, CostTerm::Loads) =
      us * (per_load * (f.loads + 2 * f.stores + machine.core.spill_cost * f.spills) +
            machine.core.apart_load * f.apart);
  at(terms, CostTerm::Latency) = us * machine.core.accumulation_cycles * f.waits;
  at(terms, CostTerm::Loops) =
      us * (machine.core.loop_step_cycles * f.loop_steps + machine.core.nest_entry_cycles * f.runs);
  const CacheCycles caches = cache_cycles(f.traffic, machine);
  at(terms, CostTerm::L2) = us * caches.l2;
  at(terms, CostTerm::L3) = us * caches.l3;
  at(terms, CostTerm::Memory) = us * caches.memory;
  at(terms, CostTerm::Scattered) = us * caches.scattered;
  return terms;
}

CoreTime time_of(const CostTerms& terms) {
  const CacheCycles caches{at(terms, CostTerm::L2), at(terms, CostTerm::L3),
                           at(terms, CostTerm::Memory), at(terms, CostTerm::Scattered)};
  return {compute_time(terms), caches.all()};
}

// The cores that tasks of equal length keep busy.
double busy_cores(double tasks, int cores) {
  const double rounds = std::ceil(tasks / cores);
  return tasks / rounds;
}

// The model: what is known of the machine, and what was learned of the difference.
struct Model {
  const CpuMachine& machine;
  const CostNetwork* network;  // null: nothing
};

NestCost nest_cost(const NestFeatures& features, const NestPlace& place, const Model& model) {
  NestCost nest;
  nest.stage = features.stage;
  nest.analytic = cost_terms(features, model.machine);
  nest.terms = nest.analytic;
  nest.inputs = network_inputs(features, nest.analytic, place, model.machine);
  if (model.network) {
    const Corrections corrections = (*model.network)(nest.inputs);
    for (size_t t = 0; t < kCostTerms; ++t)
      nest.terms[t] *= corrections.terms[t] * corrections.nest;
  }
  nest.microseconds = together(model.machine, time_of(nest.terms));
  return nest;
}

// Microseconds to call a kernel and to hand out its tasks.
double entry_of(const KernelFeatures& features, double cores, const Model& model) {
  const CpuMachine& machine = model.machine;
  const CostNetwork* network = model.network;
  const double call = machine.call_microseconds * (network ? network->call() : 1);
  if (!features.parallel) return call;
  return call + machine.pool_microseconds * (network ? network->pool() : 1) +
         machine.task_microseconds * (network ? network->task() : 1) * features.tasks / cores;
}

KernelCost cost_of(const Program& program, size_t number, const Model& model,
                   const Residence& residence) {
  const CpuMachine& machine = model.machine;
  const KernelFeatures features = features_of(program, program.kernels[number], machine, residence);
  KernelCost cost;
  cost.program = &program;
  cost.kernel = number;
  if (features.parallel) {
    cost.tasks = features.tasks;
    cost.cores = busy_cores(cost.tasks, std::max(1, machine.cores));
  }
  const NestPlace place{static_cast<double>(features.nests.size()), cost.tasks, cost.cores,
                        residence.bytes};
  CoreTime alone;  // the nests of a kernel overlap, too
  double memory = 0;
  for (const NestFeatures& f : features.nests) {
    NestCost nest = nest_cost(f, place, model);
    alone = alone + time_of(nest.terms);
    memory += at(nest.terms, CostTerm::Memory);
    cost.nests.push_back(std::move(nest));
  }
  cost.parallel = features.parallel;
  cost.entry = entry_of(features, cost.cores, model);
  cost.microseconds = cost.entry + std::max(together(machine, alone) / cost.cores,
                                            from_shared_memory(machine, memory));
  return cost;
}

}  // namespace

double compute_time(const CostTerms& terms) {
  return std::max({at(terms, CostTerm::Arithmetic), at(terms, CostTerm::Loads),
                   at(terms, CostTerm::Latency)}) +
         at(terms, CostTerm::Loops);
}

std::string_view name_of(CostTerm term) {
  switch (term) {
    case CostTerm::Arithmetic: return "arithmetic";
    case CostTerm::Loads: return "loads";
    case CostTerm::Latency: return "latency";
    case CostTerm::Loops: return "loops";
    case CostTerm::L2: return "L2";
    case CostTerm::L3: return "L3";
    case CostTerm::Memory: return "memory";
    case CostTerm::Scattered: return "scattered";
  }
  return "";
}

ProgramCost predict(const Program& program, const CpuMachine& machine) {
  return predict(program, machine, CostNetwork::shipped_for(machine));
}

ProgramCost predict(const Program& program, const CpuMachine& machine, const CostNetwork* network) {
  ProgramCost total;
  std::unordered_map<const Program*, std::optional<Residence>> residences;
  for (const KernelCalls& called : kernel_calls(program)) {
    auto& residence = residences[called.program];
    if (!residence) residence = residence_of(*called.program, called.scan);
    KernelCost cost = cost_of(*called.program, called.kernel, {machine, network}, *residence);
    cost.calls = called.calls;
    total.microseconds += static_cast<double>(cost.calls) * cost.microseconds;
    total.kernels.push_back(std::move(cost));
  }
  return total;
}

KernelCost kernel_cost(const Program& program, size_t kernel, const CpuMachine& machine,
                       const CostNetwork* network) {
  return cost_of(program, kernel, {machine, network}, {program_bytes(program), {}});
}

double roofline(double flops, double bytes, const CpuMachine& machine, bool from_memory) {
  // A multiply-add of float32 lanes is two operations.
  const double per_cycle = 2.0 * machine.fma_bits / 32;
  const double arithmetic = 1e-3 * flops / (per_cycle * machine.ghz * machine.cores);
  const double gb = from_memory
                        ? std::min(machine.memory_gb, machine.cores * machine.memory_gb_per_core)
                        : machine.cores * machine.l3_bytes_per_cycle * machine.ghz;
  return std::max(arithmetic, 1e-3 * bytes / gb);
}

}  // namespace adjit::sched
