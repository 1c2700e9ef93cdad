// autosched/cpu/passes/pack/profit.cpp -- operands of a contraction whose rows lie where a tile
// waits for them.
#include "autosched/cpu/passes/pack/profit.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "autosched/analysis/exact_counts.hpp"
#include "autosched/machine/core_time.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {
namespace {

// Two multiply-adds of a whole vector start in a cycle: what an operand lacks shows sooner.
bool hurries(const CpuMachine& machine) { return machine.fma_bits >= 2 * machine.vector_bits; }

// Lines of unpacked operands matter from this share of the time that multiply-adds take.
double share_that_shows(const CpuMachine& machine) {
  return hurries(machine) ? thresholds().hurried_lines_share : thresholds().lines_share;
}

}  // namespace

double reuse(const Stage& stage, const MemoryAccess& access) {
  return box_points(stage.domain) * access.repeats / elements_touched(access, stage.domain);
}

ReductionRows reduction_rows(const Graph& graph, const Stage& stage, const MemoryAccess& access) {
  ReductionRows found;
  const auto size = static_cast<int64_t>(size_of(graph.info(access.tensor).dtype));
  for (size_t a = stage.domain.output_rank; a < stage.domain.rank(); ++a)
    if (stage.domain.extents[a] >= 16 && access.strides[a] * size > found.stride)
      found = {access.strides[a] * size, stage.domain.extents[a]};
  return found;
}

bool walks_rows_of_data(const Stage& stage, const Accesses& accesses, const TileChoice& tile) {
  if (!tile.vector_axis) return false;
  return std::ranges::any_of(accesses.reads, [&](const MemoryAccess& access) {
    for (size_t a = 0; a < stage.domain.output_rank; ++a)
      if (tile.factors[a] > 1 && a != *tile.vector_axis && access.strides[a] == 1 &&
          !access.irregular[a] && access.by_data[*tile.vector_axis])
        return true;
    return false;
  });
}

OperandRows::OperandRows(const Graph& graph, const Stage& stage, const Accesses& accesses,
                         const TileChoice& tile, const CpuMachine& machine)
    : graph_(graph), stage_(stage), tile_(tile), machine_(machine) {
  double lines = 0, operations = 1;
  for (const MemoryAccess& access : accesses.reads) lines += lines_per_step(access);
  for (size_t a = 0; a < stage.domain.output_rank; ++a)
    operations *= static_cast<double>(tile.factors[a]);
  const double cycles = operations * machine.vector_bits / machine.fma_bits;
  starved_ = cycles_from_l2(machine, lines * static_cast<double>(kLineBytes)) >
             share_that_shows(machine) * cycles;
}

bool OperandRows::far(const MemoryAccess& access) const {
  if (!along_lanes(access) || reuse(stage_, access) < 2 * thresholds().pack_reuse) return false;
  const auto [stride, rows] = reduction_rows(graph_, stage_, access);
  // Copied once for many runs: as soon as a panel's rows drive each other out of L1.
  if (access.repeats > 1 && reuse(stage_, access) >= thresholds().column_reuse &&
      rows > lines_kept(stride, machine_.l1_bytes))
    return true;
  return (stride > 0 && stride % kPageBytes == 0) || rows > lines_kept(stride, machine_.l2_bytes) ||
         (stride >= thresholds().stream_row_bytes &&
          tensor_bytes(graph_, access.tensor) > thresholds().far_operand_bytes);
}

bool OperandRows::waits_for(const MemoryAccess& access) const {
  return along_lanes(access) && reuse(stage_, access) >= thresholds().column_reuse &&
         ((starved_ && lines_per_step(access) > 0) || on_many_pages(access));
}

size_t OperandRows::conflicting(const MemoryAccess& access) const {
  const int64_t stride = reduction_rows(graph_, stage_, access).stride;
  const bool waits = starved_ && lines_per_step(access) > 0;
  if (stride == 0 || (stride % (kPageBytes / 2) != 0 && !waits) ||
      reuse(stage_, access) < thresholds().column_reuse)
    return SIZE_MAX;
  double reduction = 1;
  for (size_t a = stage_.domain.output_rank; a < stage_.domain.rank(); ++a)
    if (access.depends_on(a)) reduction *= static_cast<double>(stage_.domain.extents[a]);
  if (reduction < thresholds().conflict_steps || access.depends_on(*tile_.vector_axis))
    return SIZE_MAX;
  for (size_t a = 0; a < stage_.domain.output_rank; ++a)
    if (tile_.factors[a] > 1 && access.contiguous(a)) return a;
  return SIZE_MAX;
}

bool OperandRows::along_lanes(const MemoryAccess& access) const {
  return access.contiguous(*tile_.vector_axis) && !access.irregular[*tile_.vector_axis];
}

// Cache lines that an operand takes from L2 in a step of the reduction, because its
// rows drive each other out of L1 before they are read again.
double OperandRows::lines_per_step(const MemoryAccess& access) const {
  constexpr auto kLine = static_cast<double>(kLineBytes);
  const auto [stride, rows] = reduction_rows(graph_, stage_, access);
  if (stride < kLineBytes) return 0;
  const auto size = static_cast<double>(size_of(graph_.info(access.tensor).dtype));
  double bytes = size;
  for (size_t a = 0; a < stage_.domain.output_rank; ++a)
    if (access.contiguous(a))
      bytes =
          size * static_cast<double>(tile_.factors[a] * (tile_.vector_axis == a ? tile_.lanes : 1));
  const bool aligned = stride % kLineBytes == 0;
  const double lines = aligned ? std::ceil(bytes / kLine) : (bytes + kLine - size) / kLine;
  const auto kept = static_cast<double>(lines_kept(stride, machine_.l1_bytes));
  return static_cast<double>(rows) * lines > kept ? lines : 0;
}

// Whether what the tile walks of an operand lies on more pages than a core translates at once, and
// the multiply-adds do not hide it.
bool OperandRows::on_many_pages(const MemoryAccess& access) const {
  if (!hurries(machine_)) return false;
  const auto size = static_cast<int64_t>(size_of(graph_.info(access.tensor).dtype));
  const auto [stride, rows] = reduction_rows(graph_, stage_, access);
  int64_t bytes = rows * std::min(stride, kPageBytes);
  for (size_t a = 0; a < stage_.domain.output_rank; ++a)
    if (a != tile_.vector_axis && std::abs(access.strides[a]) * size >= kPageBytes)
      bytes *= tile_.factors[a];
  return bytes > kPagesAtHand * kPageBytes;
}

}  // namespace adjit::sched
