// tests/jit/engine/run/by_hand.hpp -- plans whose kernels are functions of a test, without a
// compiler.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "jit/engine/run/frame.hpp"
#include "jit/engine/run/loaded_plan.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// A call of a kernel: its number, its tasks, and the addresses behind the first.
struct Ran {
  int kernel = 0;
  int64_t begin = 0, end = 0;
  std::vector<void*> addresses = {};
  bool operator==(const Ran&) const = default;
};
using RanList = std::vector<Ran>;

/// A kernel that writes down in the list at its first address that it ran, with `count` others.
template <int number, size_t count = 0>
void note(void* const* table, int64_t begin, int64_t end) {
  static_cast<RanList*>(table[0])->push_back({number, begin, end, {table + 1, table + 1 + count}});
}

inline KernelPlan kernel_of(std::vector<size_t> tensors, int64_t tasks = 1, bool chained = false) {
  return {.symbol = "",
          .tensors = std::move(tensors),
          .tasks = tasks,
          .parallel = tasks > 1,
          .chained = chained};
}

/// The plan, loaded for one thread: kernel k runs functions[k].
inline LoadedPlan by_hand(ExecutionPlan plan, const std::vector<KernelFunction>& functions) {
  LoadedPlan loaded;
  loaded.pool = std::make_shared<ThreadPool>(1);
  loaded.uses.resize(plan.buffers.size());
  for (size_t k = 0; k < functions.size(); ++k) {
    const KernelPlan& kernel = plan.kernels[k];
    LoadedKernel& added = loaded.kernels.emplace_back();
    added = {functions[k],   loaded.table_size, kernel.tensors.size(), kernel.tasks,
             kernel.in_turn, kernel.parallel,   kernel.chained,        {}};
    for (size_t t = 0; t < kernel.tensors.size(); ++t) {
      loaded.uses[kernel.tensors[t]].push_back(loaded.table_size++);
      const Buffer& buffer = plan.buffers[kernel.tensors[t]];
      if (buffer.kind == Buffer::Kind::Slot) added.slots.emplace_back(t, buffer);
    }
  }
  // A scan alone, what is between two in one.
  const auto sections = [](const std::vector<StepPlan>& steps) {
    Sections made;
    for (size_t s = 0; s < steps.size(); ++s)
      if (made.empty() || steps[s].scan || steps[s - 1].scan)
        made.push_back({s, s + 1, SIZE_MAX, {}});
      else
        made.back().end = s + 1;
    return made;
  };
  loaded.sections = sections(plan.steps);
  for (const ScanPlan& scan : plan.scans)
    loaded.scan_sections.push_back({sections(scan.before), sections(scan.steps)});
  loaded.plan = std::move(plan);
  return loaded;
}

}  // namespace adjit::testing
