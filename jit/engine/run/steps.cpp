// jit/engine/run/steps.cpp -- sections of steps, task graphs, scans and loops.
#include "jit/engine/run/steps.hpp"

#include <algorithm>

#include "jit/engine/run/chain.hpp"
#include "jit/engine/run/place_step.hpp"

namespace adjit::engine {
namespace {

void run_graph(const LoadedPlan& loaded, Frame& frame, const std::vector<StepPlan>& steps,
               const Section& section) {
  struct Call {
    const LoadedPlan* loaded;
    const Frame* frame;
    std::span<const StepPlan> steps;
    const Section* section;
  } call{&loaded, &frame, steps, &section};
  loaded.graphs[section.graph].run(
      *frame.runs[section.graph], *loaded.pool,
      [](void* context, size_t group, int64_t begin, int64_t end) {
        const Call& c = *static_cast<const Call*>(context);
        const auto [first, last] = c.section->chains[group];
        const Chain chain{c.loaded, c.frame, c.steps.subspan(first, last - first), nullptr,
                          nullptr};
        // An empty kernel has no task, the group one.
        const LoadedKernel& kernel = c.loaded->kernels[chain.kernels.front().number];
        const int64_t in_turn = tasks_in_turn(*c.loaded, chain.kernels);
        run_tasks(chain, begin * in_turn, std::min(end * in_turn, kernel.tasks));
      },
      &call);
}

// The carries end where a step would have read them.
void run_conditional(const LoadedPlan& loaded, Frame& frame, size_t number) {
  const ScanPlan& scan = loaded.plan.scans[number];
  std::byte* workspace = frame.workspace.get();
  for (int64_t n = 0;; ++n) {
    for (const ScanPlan::Carry& c : scan.carries)
      set_address(frame, loaded, c.in,
                  n == 0 ? frame.addresses[c.start] : workspace + c.spares[(n - 1) % 2]);
    if (!*static_cast<const bool*>(frame.addresses[scan.carries.back().in])) break;
    for (const ScanPlan::Carry& c : scan.carries)
      set_address(frame, loaded, c.out, workspace + c.spares[n % 2]);
    run_steps(loaded, frame, scan.steps, loaded.scan_sections[number].steps);
    if (frame.call) frame.call->check();
  }
  for (const ScanPlan::Carry& c : scan.carries)
    std::copy_n(static_cast<const std::byte*>(frame.addresses[c.in]), c.bytes,
                static_cast<std::byte*>(frame.addresses[c.final]));
}

void run_scan(const LoadedPlan& loaded, Frame& frame, size_t number) {
  const ScanPlan& scan = loaded.plan.scans[number];
  const ScanSections& sections = loaded.scan_sections[number];
  run_steps(loaded, frame, scan.before, sections.before);
  if (scan.conditional) return run_conditional(loaded, frame, number);
  if (scan.tasks > 0) return run_chain(loaded, frame, scan.steps, &scan);
  for (int64_t n = 0; n < scan.trips; ++n) {
    place_step(frame.addresses, frame.workspace.get(), scan, n,
               [&](size_t buffer, void* address) { set_address(frame, loaded, buffer, address); });
    run_steps(loaded, frame, scan.steps, sections.steps);
    if (frame.call) frame.call->check();
  }
}

}  // namespace

void run_steps(const LoadedPlan& loaded, Frame& frame, const std::vector<StepPlan>& steps,
               const Sections& sections) {
  for (const Section& section : sections) {
    if (steps[section.begin].scan) {
      run_scan(loaded, frame, steps[section.begin].number);
      continue;
    }
    if (section.graph != SIZE_MAX && !frame.times) {
      run_graph(loaded, frame, steps, section);
      continue;
    }
    for (size_t s = section.begin; s < section.end;) {
      const std::span<const StepPlan> chain = chain_at(loaded, steps, s, section.end);
      run_chain(loaded, frame, chain, nullptr);
      s += chain.size();
    }
  }
}

}  // namespace adjit::engine
