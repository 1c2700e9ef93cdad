// jit/engine/run/cuda_sections.cpp -- steps cut into sections, and their scans unrolled.
#include "jit/engine/run/cuda_sections.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "runtime/expr/error.hpp"

namespace adjit::engine {
namespace {

// How many kernels a step launches; more than kMostGraphKernels: too many, or nobody knows.
size_t launches_of(const ExecutionPlan& plan, const StepPlan& step) {
  constexpr size_t kTooMany = sched::kMostGraphKernels + 1;
  if (!step.scan) return plan.kernels[step.number].tasks > 0 ? 1 : 0;
  const ScanPlan& scan = plan.scans[step.number];
  if (scan.conditional) return kTooMany;
  const auto sum_of = [&](const std::vector<StepPlan>& steps) {
    size_t sum = 0;
    for (const StepPlan& each : steps) sum = std::min(kTooMany, sum + launches_of(plan, each));
    return sum;
  };
  const size_t once = sum_of(scan.before), each = sum_of(scan.steps);
  const auto trips = static_cast<size_t>(std::min<int64_t>(scan.trips, kTooMany));
  return std::min(kTooMany, once + each * trips);
}

class Unrolling {
 public:
  explicit Unrolling(const ExecutionPlan& plan) : plan_(plan) {}

  // A scan waits for all before it, and all behind it for the scan.
  void add(std::span<const StepPlan> steps, size_t first = 0) {
    std::vector<std::vector<size_t>> done(steps.size());  // per step: the nodes to wait for
    for (size_t s = 0; s < steps.size(); ++s) {
      const StepPlan& step = steps[s];
      if (step.scan) {
        add_scan(plan_.scans[step.number]);
        continue;
      }
      std::vector<size_t> waits;
      for (size_t before : step.waits)
        if (before >= first) {  // of another section is what was before this one
          const std::vector<size_t>& of_it = done[before - first];
          waits.insert(waits.end(), of_it.begin(), of_it.end());
        }
      if (waits.empty()) waits = behind_;
      std::ranges::sort(waits);
      waits.erase(std::ranges::unique(waits).begin(), waits.end());
      const KernelPlan& kernel = plan_.kernels[step.number];
      invariant(!kernel.chained, "a plan for a GPU has chains of tasks");
      if (kernel.tasks > 0)
        done[s] = {add_node(step.number, std::move(waits))};
      else
        done[s] = std::move(waits);
    }
  }

  std::vector<GraphNode> take() { return std::move(nodes_); }

 private:
  size_t add_node(size_t kernel, std::vector<size_t> waits) {
    for (size_t before : waits) std::erase(last_, before);
    nodes_.push_back({kernel, std::move(waits)});
    last_.push_back(nodes_.size() - 1);
    return nodes_.size() - 1;
  }

  // All that is added from now on waits for all that is there.
  void close() {
    // Of each, before a node in between makes fewer edges. A guess: what an edge takes has not been
    // measured.
    constexpr size_t kMostWaits = 4;
    if (last_.empty()) return;
    behind_ = std::exchange(last_, {});
    if (behind_.size() <= kMostWaits) return;
    nodes_.push_back({GraphNode::kJoin, std::move(behind_)});
    behind_ = {nodes_.size() - 1};
  }

  void add_scan(const ScanPlan& scan) {
    close();
    add(scan.before);
    for (int64_t n = 0; n < scan.trips; ++n) {
      close();
      add(scan.steps);
    }
    close();
  }

  const ExecutionPlan& plan_;
  std::vector<GraphNode> nodes_;
  std::vector<size_t> behind_;  // which all nodes since then wait for
  std::vector<size_t> last_;    // since then, those that none waits for
};

}  // namespace

std::vector<CudaSection> sections_of(const ExecutionPlan& plan) {
  std::vector<CudaSection> sections;
  const std::span<const StepPlan> steps(plan.steps);
  const auto cut = [&](size_t begin, size_t end, size_t launches) {
    if (begin == end) return;
    CudaSection& section = sections.emplace_back(CudaSection{begin, end, {}});
    if (launches < sched::kLeastGraphKernels || launches > sched::kMostGraphKernels) return;
    Unrolling unrolling(plan);
    unrolling.add(steps.subspan(begin, end - begin), begin);
    section.graph = unrolling.take();
  };
  size_t begin = 0, launches = 0;
  for (size_t s = 0; s < steps.size(); ++s) {
    const size_t more = launches_of(plan, steps[s]);
    if (launches + more > sched::kMostGraphKernels) {
      cut(begin, s, launches);
      begin = s;
      launches = 0;
    }
    launches += more;
  }
  cut(begin, steps.size(), launches);
  return sections;
}

}  // namespace adjit::engine
