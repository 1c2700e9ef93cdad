// autosched/gpu/columns/column_plan.cpp -- rows and columns of a block, parts of a sum.
#include "autosched/gpu/columns/column_plan.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "autosched/gpu/columns/column_loops.hpp"
#include "autosched/gpu/loops/block_loops.hpp"
#include "autosched/gpu/loops/thread_loops.hpp"
#include "autosched/gpu/loops/vector_lanes.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {
namespace {

// No GPU has run these kernels yet: where no finding is named, a number is a guess.
constexpr int64_t kSumsOfThread = 32;    // that it keeps in registers
constexpr int64_t kFewestThreads = 128;  // of a block
constexpr double kBusy = 0.9;            // of multiprocessors, where each has one strip at most
constexpr int64_t kLeastGroups = 4;      // of rows that a block goes through
constexpr int64_t kColumnThreads = 32;   // along a tile of columns: a warp's
constexpr double kLeastThreads = 128;    // of a multiprocessor: a warp for each of its schedulers

// The longest axis of the reduction.
size_t longest_axis(const Domain& domain) {
  size_t longest = domain.output_rank;
  for (size_t a = domain.output_rank; a < domain.rank(); ++a)
    if (domain.extents[a] > domain.extents[longest]) longest = a;
  return longest;
}

// So many parts or some fewer, each but the last of whole groups of rows; without a rest if that
// may be. 1: there are none.
int64_t parts_of_groups(int64_t extent, int64_t most, int64_t least, int64_t rows) {
  for (const bool even : {true, false})
    for (int64_t parts = most; parts >= least && parts > 1; --parts)
      if (ceil_div(extent, parts) % rows == 0 && (!even || extent % parts == 0)) return parts;
  return 1;
}

class Planner {
 public:
  Planner(const LoweredGraph& graph, const Stage& stage, const GpuMachine& machine)
      : graph_(graph), stage_(stage), domain_(stage.domain), machine_(machine) {}

  std::optional<ColumnPlan> operator()(size_t inside, bool tiled, int64_t most_threads,
                                       int64_t strips) const {
    ColumnPlan plan;
    plan.group.inside = inside;
    plan.group.threads = most_threads;
    plan.strips = strips;
    plan.group.along = longest_axis(domain_);
    std::vector<int64_t> spans(domain_.extents.begin() + static_cast<long>(columns() + 1 - inside),
                               domain_.extents.begin() + static_cast<long>(columns() + 1));
    if (tiled) {
      plan.group.tile = tile_of_columns();
      if (spans.back() < 2 * plan.group.tile) return std::nullopt;
      spans.back() = plan.group.tile;
    }
    const int64_t lanes = lanes_along(graph_, stage_, columns(), spans.back());
    const ColumnThreads threads = column_threads(spans, lanes, most_threads);
    if (threads.columns * static_cast<int64_t>(stage_.bodies.size()) > kSumsOfThread)
      return std::nullopt;
    plan.group.rows =
        power_below(static_cast<double>(most_threads) / static_cast<double>(threads.count));
    return with_parts(plan, static_cast<double>(threads.count));
  }

 private:
  size_t columns() const { return domain_.output_rank - 1; }

  int64_t tile_of_columns() const {
    const int64_t extent = domain_.extents[columns()];
    const int64_t tile = kColumnThreads * lanes_along(graph_, stage_, columns(), extent);
    return extent % tile == 0 ? tile : kColumnThreads;
  }

  // Groups of fewer rows where there are not enough for all blocks. `threads`: for a row.
  std::optional<ColumnPlan> with_parts(ColumnPlan plan, double threads) const {
    double blocks = 1;
    for (size_t a = 0; a + plan.group.inside < domain_.output_rank; ++a)
      blocks *= static_cast<double>(domain_.extents[a]);
    if (plan.group.tile > 0)
      blocks *= static_cast<double>(ceil_div(domain_.extents[columns()], plan.group.tile));
    const int64_t extent = domain_.extents[plan.group.along];
    const double multiprocessors = machine_.multiprocessors;
    const double fewest = (plan.strips == 1 ? kBusy : 1) * multiprocessors;
    for (; plan.group.rows >= 1; plan.group.rows /= 2) {
      const double groups = terms_of(domain_) / static_cast<double>(plan.group.rows);
      const auto most = static_cast<int64_t>(
          std::min({static_cast<double>(plan.strips) * multiprocessors / blocks,
                    groups / kLeastGroups, static_cast<double>(extent)}));
      const auto least =
          static_cast<int64_t>(std::ceil(std::max(fewest / blocks, static_cast<double>(most) / 2)));
      plan.parts = parts_of_groups(extent, most, least, plan.group.rows);
      const double all = blocks * static_cast<double>(plan.parts);
      if (all < fewest || plan.group.rows > extent) continue;
      const double busy = all * threads * static_cast<double>(plan.group.rows);
      return busy >= kLeastThreads * multiprocessors ? std::optional(plan) : std::nullopt;
    }
    return std::nullopt;
  }

  const LoweredGraph& graph_;
  const Stage& stage_;
  const Domain& domain_;
  const GpuMachine& machine_;
};

}  // namespace

bool may_add_up_columns(const LoweredGraph& graph, const Stage& stage) {
  const Domain& domain = stage.domain;
  if (stage.kind != StageKind::Compute || running_of(graph, stage) || domain.output_rank == 0 ||
      domain.reduction_rank() == 0 || !domain.is_box() ||
      !has_partial_results(stage.combiner.kind) || is_contraction(graph, stage))
    return false;
  const bool exact = std::ranges::all_of(stage.results, [&](TensorId id) {
    const DType dtype = graph.info(id).dtype;
    return accumulator_of(dtype) == dtype;
  });
  return exact && std::ranges::find(domain.extents, 0) == domain.extents.end() &&
         contiguous_axis(graph, stage) == domain.output_rank - 1;
}

std::vector<ColumnPlan> column_plans(const LoweredGraph& graph, const Stage& stage,
                                     const GpuMachine& machine) {
  std::vector<ColumnPlan> plans;
  const Planner plan(graph, stage, machine);
  const auto add = [&](size_t inside, bool tiled) {
    for (int64_t threads = kMostThreads; threads >= kFewestThreads; threads /= 2)
      if (const auto one = plan(inside, tiled, threads, 2)) plans.push_back(*one);
    if (const auto one = plan(inside, tiled, kMostThreads, 1)) plans.push_back(*one);
  };
  for (size_t inside = 1; inside <= stage.domain.output_rank; ++inside) add(inside, false);
  add(1, true);
  return plans;
}

}  // namespace adjit::sched
