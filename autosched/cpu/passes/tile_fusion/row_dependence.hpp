// autosched/cpu/passes/tile_fusion/row_dependence.hpp -- which stages have their rows in common,
// and where they part.
//
// From a large tensor between contractions on, stages join that make it, read it, or lie between
// such, as long as each row of what they do needs that row only (or is a sum over all of them).
// What then depends on such a stage by way of others that have no rows (a projection that mixes
// the heads, a sum over the rows) can run only when all rows are there: it is of the next level.
// The stages of one level may run block of rows by block of rows (apply.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>
#include <vector>

#include "autosched/machine/cpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// The axes of a stage, or the dimensions of a tensor, that are the row and the batch around it.
struct RowPlace {
  size_t row = 0;
  std::vector<size_t> batch;
  bool operator==(const RowPlace&) const = default;
};

/// How the stages of one program, which must outlive it, read each other's rows.
class RowReads {
 public:
  RowReads(const Program& program, const CpuMachine& machine);

  const Program& program() const { return program_; }
  const CpuMachine& machine() const { return machine_; }
  const Stage& stage(size_t s) const { return program_.graph.stages[s]; }
  /// SIZE_MAX for inputs and constants.
  size_t producer(TensorId id) const { return producers_[id.value]; }
  const std::vector<TensorId>& read_by(size_t stage) const { return read_by_[stage]; }

  /// Between kernels, and more than L2 holds.
  bool is_large(TensorId id) const;
  bool is_contraction(size_t stage) const;
  /// Whether a contraction writes or reads it.
  bool is_stored(TensorId id) const;
  bool reduces(size_t s, const RowPlace& axes) const {
    return axes.row >= stage(s).domain.output_rank;
  }
  /// The axes by which a stage reads a tensor at these dimensions, the same in all its reads.
  std::optional<RowPlace> axes_reading(size_t stage, TensorId id, const RowPlace& dims) const;
  /// The dimensions at which one of a stage's reads has these axes.
  std::optional<RowPlace> dims_read(size_t stage, ExprId read, const RowPlace& axes) const;

 private:
  const Program& program_;
  const CpuMachine& machine_;
  std::vector<size_t> producers_;               // per tensor
  std::vector<std::vector<TensorId>> read_by_;  // per stage
};

/// Stages that have their rows in common; without stages where a tensor has no such rows.
struct RowStages {
  std::map<size_t, RowPlace> stages;
  std::set<TensorId> passed;  // large results over the rows that only these stages read
  int64_t rows = 0, batches = 1;
};

/// Those that have the rows of a large result in common, which are at `place` in its dimensions.
/// `taken`: first results of stages that may not join, by number.
RowStages stages_in_common(const RowReads& reads, TensorId from, const RowPlace& place,
                           const std::unordered_set<uint32_t>& taken);

/// Whether nothing large over the rows exists as a whole.
bool is_closed(const RowReads& reads, const RowStages& common);

/// When stages can run: those of a level need sums over rows, or what is no rows, of the level
/// before.
struct RowLevels {
  std::vector<int> of;  // every stage of the program
  int last = 0;         // of those that have rows in common
};

/// `kept`: large results that exist as a whole for later levels anyway.
RowLevels levels_of(const RowReads& reads, const RowStages& common, const std::set<TensorId>& kept);

/// Axes whose quotient names the part of a large tensor that a contraction reads (heads that lie
/// side by side: `S[k // 64, i, j]`), taken apart into quotient and residue: then they are a batch.
Program take_batches_apart(Program program, const CpuMachine& machine);

}  // namespace adjit::sched
