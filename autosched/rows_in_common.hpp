// autosched/rows_in_common.hpp -- which stages have their rows in common, and where they part.
//
// From a large tensor between contractions on, stages join that make it, read it, or lie between
// such, as long as each row of what they do needs that row only (or is a sum over all of them).
// What then depends on such a stage by way of others that have no rows (a projection that mixes
// the heads, a sum over the rows) can run only when all rows are there: it is of the next level.
// The stages of one level may run block of rows by block of rows (row_blocks.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>
#include <vector>

#include "autosched/program.hpp"
#include "autosched/target.hpp"

namespace adjit {

/// The axes of a stage, or the dimensions of a tensor, that are the row and the batch around it.
struct RowPlace {
  size_t row = 0;
  std::vector<size_t> batch;
  bool operator==(const RowPlace&) const = default;
};

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

/// Stages that are to be computed again for a later level, so that what passes to it need not
/// exist as a whole.
struct RowsAgain {
  std::vector<TensorId> stages;  // by their first results, the last ones first
  TensorId reader;               // the first stage of that level which reads such, by its result
};

/// What pays first: a group, or stages to be computed again (those of the last level first), whose
/// groups are found then.
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
  RowGroupFinder(const Program& program, const Target& target,
                 const std::unordered_set<uint32_t>& taken, const std::set<TensorId>& kept);

  /// Whether there is a group from this result on that pays.
  bool finds_from(TensorId id) const;

  /// From the largest results of contractions on; what was looked at goes to `seen`. Nothing is
  /// to be computed again for what begins with one of `only_kept`. `failures` bounds the time that
  /// this takes.
  std::optional<RowsFound> operator()(std::set<TensorId>& seen, const std::set<TensorId>& only_kept,
                                      size_t& failures) const;

 private:
  struct Levels;
  struct Passing;
  class Closure;
  class Keeping;

  const Stage& stage(size_t s) const { return program_.graph.stages[s]; }
  bool is_large(TensorId id) const;
  bool is_contraction(size_t s) const;
  bool is_stored(TensorId id) const;
  bool is_closed(const Closure& closure) const;
  bool reduces(size_t s, const RowPlace& axes) const {
    return axes.row >= stage(s).domain.output_rank;
  }
  std::optional<RowPlace> axes_reading(size_t s, TensorId id, const RowPlace& dims) const;
  std::optional<RowPlace> dims_read(const Domain& domain, ExprId read, const RowPlace& axes) const;

  std::vector<RowPlace> places_of(TensorId id) const;
  std::vector<TensorId> seeds_of(const Closure& closure, const Levels& levels) const;
  Levels levels_of(const Closure& closure) const;
  RowGroup group_at(const Closure& closure, const Levels& levels, int level) const;
  double cost_of_keeping(const Closure& closure, TensorId id, const std::set<TensorId>& kept) const;
  std::optional<Passing> passing_of(const Closure& closure, const Levels& levels) const;
  void choose_blocks(RowGroup& group) const;

  double near() const;
  double bytes_of(const std::vector<TensorId>& tensors) const;
  double bytes_of_row(const RowGroup& group) const;
  double passes_of(TensorId id, const std::vector<size_t>& sums) const;
  double cycles_of(double bytes, bool from_memory) const;
  double arithmetic_of(size_t stage) const;
  double cycles_again(size_t stage) const;
  double added_by_sums(const RowGroup& group) const;
  bool is_right_size(const RowGroup& group) const;
  bool pays(const RowGroup& group) const;
  bool pays_again(const Closure& closure, const Levels& levels, const Passing& passing) const;

  const Program& program_;
  const Target& target_;
  const std::unordered_set<uint32_t>& taken_;
  const std::set<TensorId>& kept_;
  std::vector<size_t> producers_;               // per tensor
  std::vector<std::vector<TensorId>> read_by_;  // per stage
};

/// Computes these stages again, in front of what reads them.
Program compute_rows_again(Program program, const std::vector<RowsAgain>& again);

/// Axes whose quotient names the part of a large tensor that a contraction reads (heads that lie
/// side by side: `S[k // 64, i, j]`), taken apart into quotient and residue: then they are a batch.
Program take_batches_apart(Program program, const Target& target);

}  // namespace adjit
