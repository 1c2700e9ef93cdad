// jit/engine/run/loaded_plan.cpp -- kernels, where their tables lie, and which of them run as a
// graph of tasks.
#include "jit/engine/run/loaded_plan.hpp"

#include <algorithm>

namespace adjit::engine {
namespace {

Sections sections_of(const std::vector<StepPlan>& steps) {
  Sections sections;
  for (size_t s = 0; s < steps.size();) {
    Section section{s, s + 1, SIZE_MAX, {}};
    if (!steps[s].scan)
      while (section.end < steps.size() && !steps[section.end].scan) ++section.end;
    s = section.end;
    sections.push_back(std::move(section));
  }
  return sections;
}

// Makes a section of kernels a task graph where threads gain by that.
void add_graph(LoadedPlan& loaded, const std::vector<StepPlan>& steps, Section& section) {
  std::vector<TaskGraph::Group> groups;
  std::vector<size_t> group_of(section.end);  // per step
  bool parallel = false;
  for (size_t s = section.begin; s < section.end; ++s) {
    const LoadedKernel& kernel = loaded.kernels[steps[s].number];
    if (kernel.chained) {
      section.chains.back().second = s + 1;
      continue;
    }
    const int64_t in_turn = tasks_in_turn(loaded, chain_at(loaded, steps, s, section.end));
    group_of[s] = groups.size();
    section.chains.emplace_back(s, s + 1);
    parallel = parallel || kernel.parallel;
    TaskGraph::Group& group = groups.emplace_back();
    group.tasks = std::max<int64_t>(1, kernel.tasks / in_turn);
    for (size_t before : steps[s].waits) group.waits.push_back(group_of[before]);
  }
  if (!parallel || groups.size() < 2) return;
  section.graph = loaded.graphs.size();
  loaded.graphs.emplace_back(groups, loaded.pool->workers());
}

Sections sections_with_graphs(LoadedPlan& loaded, const std::vector<StepPlan>& steps) {
  Sections sections = sections_of(steps);
  if (loaded.pool->workers() < 2) return sections;
  for (Section& section : sections)
    if (!steps[section.begin].scan) add_graph(loaded, steps, section);
  return sections;
}

void add_kernel(LoadedPlan& loaded, const KernelPlan& kernel, const LoadedCode& code) {
  LoadedKernel& added = loaded.kernels.emplace_back();
  added.function = reinterpret_cast<KernelFunction>(code.lookup(kernel.symbol));
  added.table = loaded.table_size;
  added.tensors = kernel.tensors.size();
  added.tasks = kernel.tasks;
  added.in_turn = kernel.in_turn;
  added.parallel = kernel.parallel;
  added.chained = kernel.chained;
  for (size_t t = 0; t < kernel.tensors.size(); ++t) {
    const size_t buffer = kernel.tensors[t];
    loaded.uses[buffer].push_back(loaded.table_size++);
    if (loaded.plan.buffers[buffer].kind == Buffer::Kind::Slot)
      added.slots.emplace_back(t, loaded.plan.buffers[buffer]);
  }
}

}  // namespace

LoadedPlan load_plan(ExecutionPlan plan, std::vector<std::shared_ptr<LoadedCode>> code,
                     std::shared_ptr<ThreadPool> pool) {
  LoadedPlan loaded;
  loaded.plan = std::move(plan);
  loaded.code = std::move(code);
  loaded.pool = std::move(pool);
  loaded.uses.resize(loaded.plan.buffers.size());
  for (size_t k = 0; k < loaded.plan.kernels.size(); ++k)
    add_kernel(loaded, loaded.plan.kernels[k], *loaded.code[k]);
  for (size_t b = 0; b < loaded.plan.buffers.size(); ++b) {
    const Buffer::Kind kind = loaded.plan.buffers[b].kind;
    if (kind == Buffer::Kind::Input || kind == Buffer::Kind::Output) loaded.arguments.push_back(b);
  }
  loaded.sections = sections_with_graphs(loaded, loaded.plan.steps);
  for (const ScanPlan& scan : loaded.plan.scans) {
    Sections before = sections_with_graphs(loaded, scan.before);
    loaded.scan_sections.push_back({std::move(before), sections_with_graphs(loaded, scan.steps)});
  }
  return loaded;
}

std::span<const StepPlan> chain_at(const LoadedPlan& loaded, std::span<const StepPlan> steps,
                                   size_t step, size_t end) {
  size_t behind = step + 1;
  while (behind < end && loaded.kernels[steps[behind].number].chained) ++behind;
  return steps.subspan(step, behind - step);
}

int64_t tasks_in_turn(const LoadedPlan& loaded, std::span<const StepPlan> kernels) {
  int64_t tasks = 1;
  for (const StepPlan& step : kernels) tasks = std::max(tasks, loaded.kernels[step.number].in_turn);
  return tasks;
}

}  // namespace adjit::engine
