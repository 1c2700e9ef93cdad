// autosched/cpu/passes/tile_fusion/cost.cpp -- what blocks of rows cost and save.
#include "autosched/cpu/passes/tile_fusion/cost.hpp"

#include <algorithm>

#include "autosched/analysis/exact_counts.hpp"
#include "autosched/analysis/work.hpp"
#include "autosched/machine/core_time.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {
double RowCosts::cost_of_keeping(const RowStages& common, TensorId id,
                                 const std::set<TensorId>& kept) const {
  double bytes = static_cast<double>(tensor_bytes(reads_.program().graph, id)), all = bytes;
  for (TensorId other : kept)
    all += static_cast<double>(tensor_bytes(reads_.program().graph, other));
  if (all > static_cast<double>(machine_.kept_bytes)) return kNever;
  // Of blocks that do not divide the rows, a copy is put together.
  RowGroup one;
  one.rows = common.rows;
  one.batches = common.batches;
  one.stored = {id};
  choose_blocks(one);
  if (one.rows % (one.parts * one.block) != 0) bytes *= 2;
  return cycles_of(2 * bytes, bytes > static_cast<double>(machine_.l3_bytes) / 2);
}

// Bytes that a task may have.
double RowCosts::near() const {
  return std::max(thresholds().task_caches * static_cast<double>(machine_.l2_bytes),
                  static_cast<double>(machine_.l3_bytes) / 16);
}

double RowCosts::bytes_of(const std::vector<TensorId>& tensors) const {
  double bytes = 0;
  for (TensorId id : tensors)
    bytes += static_cast<double>(tensor_bytes(reads_.program().graph, id));
  return bytes;
}

double RowCosts::bytes_of_row(const RowGroup& group) const {
  return std::max(
      1.0, bytes_of(group.stored) / static_cast<double>(checked_mul(group.rows, group.batches)));
}

void RowCosts::choose_blocks(RowGroup& group) const {
  const auto rows = static_cast<int64_t>(near() / bytes_of_row(group));
  const int64_t runs = group.sums.empty() ? 1 : ceil_div(thresholds().work_parts, group.batches);
  group.block = std::clamp(std::min(rows, group.rows / (2 * runs)), thresholds().block_rows,
                           4 * thresholds().block_rows) /
                16 * 16;
  while (group.parts < runs && 4 * group.parts * group.block <= group.rows) group.parts *= 2;
  // Blocks of equal length, if there are such: results in them lie as they would as a whole.
  const int64_t part = ceil_div(group.rows, group.parts), wanted = group.block;
  const auto divides = [&](int64_t block) { return part % block == 0; };
  for (int64_t block = wanted; 3 * block >= 2 * wanted; --block)
    if (divides(block)) {
      group.block = block;
      return;
    }
  for (int64_t block = wanted; 3 * block <= 4 * wanted && 2 * block <= part; ++block)
    if (divides(block)) {
      group.block = block;
      return;
    }
}

// How often a tensor goes through memory or L3 when it exists as a whole: stages
// that are no contractions take it row by row, together; sums over rows take a copy of it.
double RowCosts::passes_of(TensorId id, const std::vector<size_t>& sums) const {
  double passes = 1;
  bool by_rows = false;
  for (size_t reader : reads_.program().readers[id.value]) {
    if (!reads_.is_contraction(reader)) {
      by_rows = true;
    } else {
      passes += std::ranges::find(sums, reader) != sums.end() ? 3 : 1;
    }
  }
  return passes + (by_rows ? 1 : 0);
}

double RowCosts::cycles_of(double bytes, bool from_memory) const {
  return from_memory ? cycles_from_memory(machine_, bytes) : cycles_from_l3(machine_, bytes);
}

double RowCosts::arithmetic_of(size_t s) const {
  const double lanes = lanes_per_cycle(
      machine_, size_of(reads_.program().graph.info(reads_.stage(s).results[0]).dtype));
  const double points = box_points(reads_.stage(s).domain) / lanes;
  return reads_.is_contraction(s)
             ? points
             : points * WorkMeter(reads_.program().graph.pool)(reads_.stage(s).bodies).cost;
}

double RowCosts::cycles_again(size_t s) const {
  return arithmetic_of(s) / (reads_.is_contraction(s) ? machine_.core.contraction_peak : 1);
}

double RowCosts::added_by_sums(const RowGroup& group) const {
  const auto last = static_cast<double>(machine_.l3_bytes);
  const auto blocks = static_cast<double>(group.rows) / static_cast<double>(group.block);
  const auto parts = static_cast<double>(group.parts);
  double sums = 0;
  for (size_t s : group.sums) sums += bytes_of(reads_.stage(s).results);
  return cycles_of(2 * blocks * sums, sums / static_cast<double>(group.batches) > last / 4) +
         (parts > 1 ? cycles_of(2 * parts * sums, true) : 0);
}

bool RowCosts::is_right_size(const RowGroup& group) const {
  const double stored = bytes_of(group.stored);
  const auto last = static_cast<double>(machine_.l3_bytes);
  const auto batches = static_cast<double>(group.batches);
  if (group.rows < 2 * group.block || stored <= 2 * static_cast<double>(machine_.l2_bytes))
    return false;
  // Batches that stay near a core are tasks as they are (task_chains.hpp).
  if (group.batches >= thresholds().work_parts && stored / batches <= near()) return false;
  const double task = bytes_of_row(group) * static_cast<double>(group.block);
  return task <= std::max(near(), last / 4);
}

double RowCosts::cycles_as_wholes(const std::vector<TensorId>& tensors,
                                  const std::vector<size_t>& sums) const {
  double moved = 0;
  for (TensorId id : tensors)
    moved += passes_of(id, sums) * static_cast<double>(tensor_bytes(reads_.program().graph, id));
  return cycles_of(moved, bytes_of(tensors) > static_cast<double>(machine_.l3_bytes));
}

}  // namespace adjit::sched
