// autosched/analysis/kernel_calls.cpp -- which kernels a run calls, and how often.
#include "autosched/analysis/kernel_calls.hpp"

#include <algorithm>

#include "autosched/analysis/scan_invariants.hpp"

namespace adjit::sched {
namespace {

int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

// Recursive over scans within scans. The program runs `calls` times, `scan`, whose steps it is (or
// null), `scans` times.
void add(const Program& program, int64_t calls, const Scan* scan, int64_t scans,
         std::vector<KernelCalls>& found) {
  const std::vector<bool> before =
      scan ? invariant_kernels(program, *scan) : std::vector<bool>(program.kernels.size(), false);
  for (size_t k = 0; k < program.kernels.size(); ++k) {
    const Kernel& kernel = program.kernels[k];
    if (kernel.steps) {
      const Scan& inner = *program.graph.stages[kernel.root.stage].scan;
      add(*kernel.steps, times(calls, std::max<int64_t>(inner.trips, 0)), &inner, calls, found);
    } else {
      found.push_back({&program, scan, k, before[k] ? scans : calls});
    }
  }
}

}  // namespace

std::vector<KernelCalls> kernel_calls(const Program& program) {
  std::vector<KernelCalls> found;
  add(program, 1, nullptr, 1, found);
  return found;
}

}  // namespace adjit::sched
