// autosched/search/explain.cpp -- predicted costs as text.
//
//   predicted 1180.4 us on 2 cores
//   kernel 0: x1_packed, 4 tasks: 38.1 us
//     x1_packed  66.2 us of a core: loads 40.1, L3 22.0, arithmetic 3.5
//   kernel 1: C, 8 tasks: 1142.3 us
//     ...
//   alternatives, of 47 priced
//     1210.0 us (+2.5 %): tile of C: 12 i x 2x16 j instead of 14 i x 2x16 j
//     ...
#include "autosched/search/explain.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value < 10 ? "%.2f" : "%.1f", value);
  return text;
}

// Largest first; without those below a hundredth of all.
template <class Term, size_t count>
std::string terms(const std::array<double, count>& values, double microseconds) {
  std::array<size_t, count> order;
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](size_t t) { return values[t]; });
  std::string text;
  for (size_t t : order) {
    if (values[t] < 0.01 * microseconds || values[t] < 5e-3) continue;
    text += text.empty() ? "" : ", ";
    text += std::string(name_of(static_cast<Term>(t))) + " " + number(values[t]);
  }
  return text.empty() ? "nothing that counts" : text;
}

const std::string& name(const Program& program, size_t stage) {
  return stage_name(program.graph, program.graph.stages[stage]);
}

std::string calls_text(int64_t calls) {
  return calls == 1 ? "" : ", " + std::to_string(calls) + " calls";
}

}  // namespace

std::string print(const ProgramCost& cost, const CpuMachine& machine) {
  std::string text = "predicted " + number(cost.microseconds) + " us on " +
                     std::to_string(machine.cores) + (machine.cores == 1 ? " core\n" : " cores\n");
  for (size_t k = 0; k < cost.kernels.size(); ++k) {
    const KernelCost& kernel = cost.kernels[k];
    text +=
        "kernel " + std::to_string(k) + ": " + name(*kernel.program, kernel.nests.front().stage);
    if (kernel.tasks > 1)
      text += ", " + std::to_string(static_cast<int64_t>(kernel.tasks)) + " tasks";
    text += calls_text(kernel.calls) + ": " +
            number(static_cast<double>(kernel.calls) * kernel.microseconds) + " us\n";
    for (const NestCost& nest : kernel.nests)
      text += "  " + name(*kernel.program, nest.stage) + "  " + number(nest.microseconds) +
              " us of a core: " + terms<CostTerm>(nest.terms, nest.microseconds) + "\n";
  }
  return text;
}

std::string print(const GpuProgramCost& cost, const GpuMachine& machine) {
  std::string text = "predicted " + number(cost.microseconds) + " us on " +
                     std::to_string(machine.multiprocessors) + " multiprocessors";
  if (cost.graph_microseconds > 0)
    text += ", " + number(cost.graph_microseconds) + " us of it to launch a graph";
  text += "\n";
  for (size_t k = 0; k < cost.kernels.size(); ++k) {
    const GpuKernelCost& kernel = cost.kernels[k];
    text += "kernel " + std::to_string(k) + ": " +
            name(*kernel.program, kernel.program->kernels[kernel.kernel].root.stage) + ", " +
            std::to_string(static_cast<int64_t>(kernel.threads)) +
            (kernel.threads == 1 ? " thread" : " threads") + calls_text(kernel.calls) + ": " +
            number(static_cast<double>(kernel.calls) * kernel.microseconds) +
            " us: " + terms<GpuCostTerm>(kernel.terms, kernel.microseconds) + "\n";
  }
  return text;
}

std::string print_choice(const Candidate& chosen, const Candidate& by_default) {
  return "chosen by search, the default schedule is predicted to take " +
         number(by_default.microseconds) + " us: " + chosen.changes + "\n";
}

std::string print_rejected(const std::vector<Candidate>& candidates, size_t most) {
  if (candidates.size() < 2) return "no alternatives: nothing was decided\n";
  const double own = candidates.front().microseconds;
  std::string text = "alternatives, of " + std::to_string(candidates.size() - 1) + " priced\n";
  for (size_t k = 1; k < candidates.size() && k <= most; ++k) {
    const double percent = 100 * (candidates[k].microseconds / own - 1);
    char relative[32];
    std::snprintf(relative, sizeof relative, "%+.1f %%", percent);
    text += "  " + number(candidates[k].microseconds) + " us (" + relative +
            "): " + candidates[k].changes + "\n";
  }
  return text;
}

}  // namespace adjit::sched
