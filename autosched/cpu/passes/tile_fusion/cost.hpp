// autosched/cpu/passes/tile_fusion/cost.hpp -- what blocks of rows cost and save: cycles of one
// core, by bytes and instructions.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "autosched/cpu/passes/tile_fusion/row_dependence.hpp"

namespace adjit::sched {

/// Stages of one level that have their rows in common.
struct RowGroup {
  std::map<size_t, RowPlace> stages;
  std::vector<size_t> sums;      // those of them that reduce the rows
  std::vector<TensorId> passed;  // large results over the rows, which only these stages read
  std::vector<TensorId> stored;  // those of them that contractions write or read
  int64_t rows = 0, batches = 1;
  int64_t parts = 1, block = 0;  // of the rows of a batch; rows of a block
  bool closed = false;           // nothing else large over its rows is there
};

/// Costs of what is done with rows in one program; `reads` must outlive it.
class RowCosts {
 public:
  explicit RowCosts(const RowReads& reads) : reads_(reads), machine_(reads.machine()) {}

  /// The group's blocks and parts: as many rows as stay near a core, parts of a batch where
  /// batches are few.
  void choose_blocks(RowGroup& group) const;
  /// Whether there are two blocks or more, each of which stays near a core, as a batch does not.
  bool is_right_size(const RowGroup& group) const;

  double bytes_of(const std::vector<TensorId>& tensors) const;
  double cycles_of(double bytes, bool from_memory) const;
  /// To move tensors that exist as a whole, with these sums over rows.
  double cycles_as_wholes(const std::vector<TensorId>& tensors,
                          const std::vector<size_t>& sums) const;
  /// Of multiply-adds, or other instructions, at the peak.
  double arithmetic_of(size_t stage) const;
  /// To compute a stage again.
  double cycles_again(size_t stage) const;
  /// For sums over rows to go on from block to block, and from part to part.
  double added_by_sums(const RowGroup& group) const;
  /// To write a large result of `common` as a whole and to read it in the next level; kNever where
  /// with `kept` that is more than may be kept (CpuMachine::kept_bytes).
  double cost_of_keeping(const RowStages& common, TensorId id,
                         const std::set<TensorId>& kept) const;
  static constexpr double kNever = 1e30;

 private:
  double near() const;
  double bytes_of_row(const RowGroup& group) const;
  double passes_of(TensorId id, const std::vector<size_t>& sums) const;

  const RowReads& reads_;
  const CpuMachine& machine_;
};

}  // namespace adjit::sched
