// autosched/cpu/passes/tile_fusion/find_groups.hpp -- groups of stages whose rows pay for being
// taken in blocks.
#pragma once

#include <optional>
#include <set>
#include <unordered_set>
#include <vector>

#include "autosched/cpu/passes/tile_fusion/spill_or_recompute.hpp"

namespace adjit::sched {

/// What pays first: a group, or stages to be computed again, whose groups are found then.
struct RowsFound {
  TensorId from;
  RowGroup group;
  std::vector<RowsAgain> again;
  std::set<TensorId> kept;         // large results that pass from one level to another
  std::vector<TensorId> expected;  // of `again`: from each of these a group is found then
};

/// Looks for groups in one program, which must outlive it.
class RowGroupFinder {
 public:
  /// `taken`: first results of stages that may not join, by number; `kept`: what passes between
  /// levels of groups that were found before.
  RowGroupFinder(const Program& program, const CpuMachine& machine,
                 const std::unordered_set<uint32_t>& taken, const std::set<TensorId>& kept)
      : reads_(program, machine), costs_(reads_), taken_(taken), kept_(kept) {}
  RowGroupFinder(const RowGroupFinder&) = delete;
  RowGroupFinder& operator=(const RowGroupFinder&) = delete;

  /// Whether there is a group from this result on that pays.
  bool finds_from(TensorId id) const;

  /// From the largest results of contractions on; what was looked at goes to `seen`. Nothing is
  /// to be computed again for what begins with one of `only_kept`. `failures` bounds the time that
  /// this takes.
  std::optional<RowsFound> operator()(std::set<TensorId>& seen, const std::set<TensorId>& only_kept,
                                      size_t& failures) const;

 private:
  const Program& program() const { return reads_.program(); }
  std::vector<RowPlace> places_of(TensorId id) const;
  std::vector<TensorId> seeds_of(const RowStages& common, const RowLevels& levels) const;
  RowGroup group_at(const RowStages& common, const RowLevels& levels, int level) const;
  bool pays(const RowGroup& group) const;
  bool pays_again(const RowStages& common, const RowLevels& levels,
                  const RowPassing& passing) const;

  RowReads reads_;
  RowCosts costs_;
  const std::unordered_set<uint32_t>& taken_;
  const std::set<TensorId>& kept_;
};

}  // namespace adjit::sched
