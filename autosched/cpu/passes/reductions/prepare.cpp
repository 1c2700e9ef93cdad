// autosched/cpu/passes/reductions/prepare.cpp -- packed operands and partial results for long
// reductions.
#include "autosched/cpu/passes/reductions/prepare.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autosched/analysis/exact_counts.hpp"
#include "autosched/cpu/passes/fuse_column_sums.hpp"
#include "autosched/cpu/passes/indexed/indexed_rows.hpp"
#include "autosched/cpu/passes/loops/interchange_reductions.hpp"
#include "autosched/cpu/passes/loops/tasks.hpp"
#include "autosched/cpu/passes/pack/bf16_pairs.hpp"
#include "autosched/cpu/passes/pack/gather_layout.hpp"
#include "autosched/cpu/passes/pack/panels.hpp"
#include "autosched/cpu/passes/pack/profit.hpp"
#include "autosched/cpu/passes/pack/shared_packing.hpp"
#include "autosched/cpu/passes/reductions/collapse_columns.hpp"
#include "autosched/cpu/passes/reductions/output_layout.hpp"
#include "autosched/cpu/tile/matmul_like.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {
namespace {

constexpr double kWorthSplitting = 100;  // microseconds below which idle cores do not matter
// Register tiles of outputs that occupy the cores without a split.
constexpr int64_t kTilesEnough = 8;
constexpr int64_t kParts = 16;  // of a split: fixed, whatever the number of cores
// Terms of a sum beside which putting its result in its place is little.
constexpr double kLeastTerms = 24;
// Cycles to copy an element so that rows which data names are whole, and the share of a stage's
// time that this must leave.
constexpr double kRowCopy = 3, kClearly = 0.9;

class Preparer {
 public:
  Preparer(Program program, const Target& target, const Repeats& repeats, ReductionPlans& plans,
           const TaskAxes& task_axes, Choices& choices)
      : program_(std::move(program)),
        target_(target),
        repeats_(repeats),
        plans_(plans),
        task_axes_(task_axes),
        choices_(choices) {}

  Program operator()() {
    // New stages come in just before the one at hand: by name, not by number.
    std::vector<TensorId> names;
    for (const Stage& stage : program_.graph.stages)
      if (stage.kind == StageKind::Compute && stage.domain.reduction_rank() > 0)
        names.push_back(stage.results.front());
    size_t from = 0;
    for (TensorId name : names) {
      while (program_.graph.stages[from].results.front() != name) ++from;
      prepare(from);
    }
    return std::move(program_);
  }

 private:
  void prepare(size_t s) {
    if (const auto plan = plans_.find(stage_key(stage(s)));
        plan != plans_.end() && plan->second.task_points > 0)
      return;
    if (box_points(stage(s).domain) * static_cast<double>(repeats_.times) < 1 << 14) return;
    if (task_axes_.contains(stage_key(stage(s)))) {
      if (!pair_operands(s)) pack_operands(widen_operands(s));
      return;
    }
    if (wants_one_axis_of_columns(program_, s, accessed_by(stage(s))) &&
        keeps(Decision::FuseAxes, s))
      program_ = fuse_axes(std::move(program_), s, stage(s).domain.output_rank - 2);
    s = pad_operand(s);
    if (split(s)) return;
    if (take_residues(s)) s = pad_operand(s);
    if (pair_operands(s)) return;
    s = widen_operands(s);
    s = gather_rows(s);
    if (!nest_of(program_, s).attached.empty()) return;  // rows are summed, the tile is settled
    transpose_results_of(s);
    pack_operands(s);
  }

  // Results with the lanes innermost, and with the loop over these outermost, where it was.
  void transpose_results_of(size_t s) {
    if (plans_.contains(stage_key(stage(s)))) return;  // its loops are settled
    const TileChoice tile = choose(stage(s), accessed_by(stage(s)), 0, true);
    if (!wants_lanes_innermost(program_, s, tile, target_) || !keeps(Decision::TransposeOutput, s))
      return;
    program_ = transpose_output(std::move(program_), s, *tile.vector_axis);
    const Nest& nest = nest_of(program_, s);
    std::vector<size_t> order(nest.loops.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t l) {
      const size_t axis = nest.loops[l].axis;
      const bool lanes = axis + 1 == stage(s).domain.output_rank;
      return lanes ? 2 * *tile.vector_axis : 2 * axis + 1;
    });
    program_ = with_order(std::move(program_), s, order);
  }

  const Stage& stage(size_t s) const { return program_.graph.stages[s]; }
  TileChoice choose(const Stage& stage, const Accesses& accesses, size_t first_axis,
                    bool may_pack) {
    return best_tile(problem_of(stage, accesses, first_axis, may_pack), choices_);
  }
  TileProblem problem_of(const Stage& stage, const Accesses& accesses, size_t first_axis,
                         bool may_pack) const {
    const std::span<const size_t> tasks = tasks_of(stage);
    return {program_.graph,
            stage,
            accesses,
            stage.domain.extents,
            program_.vector_bits,
            first_axis,
            may_pack,
            program_.calls,
            passes_of(stage),
            {tasks.begin(), tasks.end()}};
  }

  // The stage as each task sees it that goes on from what the one before left: one point of the
  // axes of such tasks.
  Stage of_one_pass(Stage stage) const {
    for (size_t axis : tasks_of(stage))
      if (axis >= stage.domain.output_rank) stage.domain.extents[axis] = 1;
    return stage;
  }
  double passes_of(const Stage& stage) const {
    const std::vector<size_t> producers = defining_stages(program_.graph);
    const Domain& whole = this->stage(producers[stage.results.front().value]).domain;
    double passes = 1;
    for (size_t axis : tasks_of(stage))
      if (axis >= whole.output_rank) passes *= static_cast<double>(whole.extents[axis]);
    return passes;
  }
  // Copies of what stays the same pay for themselves over all runs.
  Accesses accessed_by(const Stage& stage) const {
    Accesses accesses = accesses_of(program_.graph, stage);
    const std::vector<TensorId>& inputs = program_.graph.inputs;
    for (MemoryAccess& access : accesses.reads)
      for (size_t k = repeats_.first_same; k < inputs.size(); ++k)
        if (inputs[k] == access.tensor) access.repeats = static_cast<double>(repeats_.times);
    return accesses;
  }
  bool keeps(Decision decision, size_t s) {
    return choices_.keeps(decision, program_.graph, stage(s));
  }

  // Few results of a long reduction, or sums down long columns: partial results.
  bool split(size_t s) {
    const Stage whole = stage(s);
    if (!has_partial_results(whole.combiner.kind)) return false;
    const DType dtype = program_.graph.info(whole.results.front()).dtype;
    if (accumulator_of(dtype) != dtype) return false;
    const Accesses accesses = accessed_by(whole);
    const TileChoice tile = choose(whole, accesses, 0, true);
    double bytes = 0;
    for (TensorId id : tensors_read(program_.graph, whole))
      bytes += static_cast<double>(tensor_bytes(program_.graph, id));
    if (microseconds(tile.cycles, bytes) < kWorthSplitting) return false;
    int64_t tiles = 1;
    for (size_t a = 0; a < whole.domain.output_rank; ++a)
      tiles *= ceil_div(whole.domain.extents[a],
                        tile.factors[a] * (tile.vector_axis == a ? tile.lanes : 1));
    const bool columns = down_columns(whole, accesses, tile);
    if (tiles >= kTilesEnough && !columns) return false;
    for (size_t a = whole.domain.output_rank; a < whole.domain.rank(); ++a) {
      const int64_t extent = whole.domain.extents[a];
      if (extent < 4 || (tile.vector_axis == a && extent < 16 * kParts)) continue;
      if (!keeps(Decision::Rfactor, s)) return false;
      const bool follows =
          !in_reduction(tile, whole) && follows_rows(program_.graph, whole, accesses, a);
      const int64_t parts = follows ? parts_of_columns(bytes, extent, kParts, target_) : kParts;
      program_ = rfactor(std::move(program_), s, a, std::min(parts, extent));
      ReductionPlan plan;
      const Stage& partial = stage(s);
      plan.tile = choose(partial, accessed_by(partial), 1, false);
      plan.in_parts = true;
      plan.reduction_outside = columns && partial.domain.is_box() && plan.tile.vector_axis &&
                               *plan.tile.vector_axis < partial.domain.output_rank;
      plans_[stage_key(partial)] = std::move(plan);
      return true;
    }
    return false;
  }

  static bool in_reduction(const TileChoice& tile, const Stage& stage) {
    return tile.vector_axis && *tile.vector_axis >= stage.domain.output_rank;
  }

  // Every row of a large operand is read once, contiguously along an output axis: rows should
  // stream.
  bool down_columns(const Stage& whole, const Accesses& accesses, const TileChoice& tile) const {
    if (!tile.vector_axis || *tile.vector_axis >= whole.domain.output_rank ||
        !whole.domain.is_box())
      return false;
    double bytes = 0;
    for (const MemoryAccess& access : accesses.reads) {
      if (reuse(whole, access) >= 2 && elements_touched(access, whole.domain) > 1 << 14)
        return false;
      if (reduction_rows(program_.graph, whole, access).stride >= 1024)
        bytes += static_cast<double>(tensor_bytes(program_.graph, access.tensor));
    }
    return bytes > 512 << 10;
  }

  // Whether conditions on an operand's reads only bound loops around the tile, as fast as with
  // zeros.
  bool bound_by_loops(size_t s, const Accesses& accesses, TensorId operand, const Packing& zeros) {
    const Stage& before = stage(s);
    const TileChoice tile = choose(before, accesses, 0, true);
    if (asks_in_tile(before.domain, tile)) return false;
    Program apart = program_;
    const size_t padded = packed(s, operand, zeros);
    const TileChoice other = choose(stage(padded), accessed_by(stage(padded)), 0, true);
    program_ = std::move(apart);
    return other.vector_axis == tile.vector_axis && other.factors == tile.factors;
  }

  // Zeros around an operand in place of the conditions that keep the reads inside it.
  size_t pad_operand(size_t s) {
    const Stage before = stage(s);
    if (!is_product_sum(program_.graph, before)) return s;
    const Accesses accesses = accessed_by(before);
    for (const MemoryAccess& access : accesses.reads) {
      if (!is_factor(program_.graph, before, access.tensor) || reuse(before, access) < kReuse)
        continue;
      std::optional<Packing> packing = zeros_around(program_.graph, before, access.read);
      if (!packing || bound_by_loops(s, accesses, access.tensor, *packing) ||
          !keeps(Decision::Pad, s))
        continue;
      if (reuse(before, access) >= kColumnReuse &&
          long_axis(program_.graph, before, accesses).has_value()) {
        Program apart = program_;
        const size_t walked =
            packed(s, access.tensor, as_walked(program_.graph, before, accesses, access, *packing));
        const Accesses after = accessed_by(stage(walked));
        const TileChoice tile = choose(stage(walked), after, 0, true);
        if (walks_closely(program_.graph, stage(walked), after, accesses, tile, target_))
          return walked;
        program_ = std::move(apart);
      }
      return packed(s, access.tensor, *packing);
    }
    return s;
  }

  // Reads that divide the lanes' axis would be gathered: by residues they are contiguous. A
  // contraction's other axes that reads divide make conditions on which terms there are: by
  // residues these bound its reduction loops. Where an operand depends on an axis by its quotient
  // only (the groups of a convolution), all residues of a tile share what is read of it. Whether
  // there were any.
  bool take_residues(size_t s) {
    const Accesses accesses = accessed_by(stage(s));
    const bool contraction = is_product_sum(program_.graph, stage(s)) &&
                             std::ranges::all_of(accesses.reads, [&](const MemoryAccess& access) {
                               return reuse(stage(s), access) >= kReuse;
                             });
    const TileChoice tile = choose(stage(s), accesses, 0, contraction);
    size_t taken = 0;  // each puts one more axis in front
    const size_t outputs = stage(s).domain.output_rank;
    for (size_t a = 0; a < outputs; ++a) {
      if (!contraction && tile.vector_axis != a) continue;
      const bool divided = std::ranges::any_of(
          accesses.reads, [&](const MemoryAccess& access) { return access.irregular[a]; });
      const Domain& domain = stage(s).domain;
      if (!divided || domain.extents[a + taken] < 2 * kLargestResidue) continue;
      const int64_t modulus = residue_modulus(program_.graph, stage(s), a + taken);
      const bool shared = contraction && !domain.is_bounded(a + taken) &&
                          domain.extents[a + taken] >= 2 * modulus &&
                          terms_of(stage(s).domain) >= kLeastTerms &&
                          std::ranges::any_of(accesses.reads, [&](const MemoryAccess& access) {
                            return access.irregular[a] && access.strides[a] == 0;
                          });
      const int64_t largest = shared ? kLargestGroup : kLargestResidue;
      if (modulus < 2 || modulus > largest || !keeps(Decision::Residues, s)) continue;
      program_ = split_residues(std::move(program_), s, a + taken, modulus, shared);
      if (taken++ > 0) {
        const size_t between[] = {s + 1};  // puts residues together for the next to put together
        program_ = inline_stages(std::move(program_), between);
      }
    }
    return taken > 0;
  }

  bool in_panels(const Stage& stage, const Accesses& accesses, const MemoryAccess& access,
                 const TileChoice& tile) const {
    return access.repeats == 1 &&
           copies_panels(program_.graph, stage, access, tile, accesses, target_);
  }

  // Steps of blocks in which an operand is streamed in place of its panels; 0: none is.
  int64_t streamed(const Stage& stage, const Accesses& accesses, const TileChoice& tile) const {
    const bool any = std::ranges::any_of(accesses.reads, [&](const MemoryAccess& access) {
      return !access.guarded && leaves_caches(program_.graph, access, target_) &&
             in_panels(stage, accesses, access, tile);
    });
    return any ? streamed_steps(program_.graph, stage, tile, accesses, target_) : 0;
  }

  void pack_operands(size_t s) {
    const Stage before = of_one_pass(stage(s));
    const Accesses accesses = accessed_by(before);
    const TileProblem problem = problem_of(before, accesses, 0, true);
    TileChoice tile = best_tile(problem, choices_);
    // The cost model knows nothing of what is fetched ahead: no other tile is offered there.
    const int64_t steps = streamed(before, accesses, tile);
    if (steps == 0)
      tile = choose_tile(problem, choices_, Decision::PackedTile,
                         copies_.tile_for(problem, tile, target_));
    if (!tile.vector_axis || *tile.vector_axis >= before.domain.output_rank) return;
    const size_t lanes_axis = *tile.vector_axis;
    const OperandRows rows(program_.graph, before, accesses, tile, target_);
    std::vector<TensorId> done, panelled;  // of the former, all reads
    bool copied = false, streams = false;
    const auto copy = [&](const MemoryAccess& access, Packing packing) {
      if (one_layout(accesses, access, lanes_axis))
        done.push_back(access.tensor);
      else
        packing.read = read_number(program_.graph, stage(s), access.read);
      s = packed(s, access.tensor, packing);
      copied = true;
    };
    for (size_t r = 0; r < accesses.reads.size(); ++r) {
      const MemoryAccess& access = accesses.reads[r];
      if (access.guarded || std::ranges::find(done, access.tensor) != done.end()) continue;
      const auto shape = wanted_panels(program_.graph, rows, accesses, tile, r);
      if (in_panels(before, accesses, access, tile) &&
          (shape || leaves_caches(program_.graph, access, target_))) {
        if (!keeps(Decision::Pack, s)) continue;
        streams = steps > 0;
        if (streams) continue;
        copy(access, as_it_is(program_.graph, access.tensor));
        panelled.push_back(program_.graph.stages[s - 1].results.front());
        continue;
      }
      if (!shape || !keeps(Decision::Pack, s)) continue;
      copies_.add(before, access.tensor, tile, *shape);
      Packing packing =
          panels(program_.graph, before, access, shape->dimension, shape->width, tasks_of(before));
      if (walks_closely(program_.graph, before, accesses, accesses, tile, target_))
        packing = as_walked(program_.graph, before, accesses, access, std::move(packing));
      copy(access, std::move(packing));
    }
    if (copied || streams)
      plans_[stage_key(before)] = {.tile = std::move(tile),
                                   .panels = std::move(panelled),
                                   .streamed_steps = streams ? steps : 0};
  }

  // Sums of products of bfloat16 where one instruction takes two points of the reduction: both
  // operands have the two side by side, in the lanes' operand for every lane.
  bool pair_operands(size_t s) {
    const Stage before = stage(s);
    const Accesses accesses = accessed_by(before);
    const std::optional<size_t> axis = pair_axis(program_.graph, before, accesses, target_);
    if (!axis) return false;
    TileChoice tile = choose(before, accesses, 0, true);
    if (!tile.vector_axis || *tile.vector_axis >= before.domain.output_rank) return false;
    std::vector<std::pair<TensorId, Packing>> packings;
    for (const MemoryAccess& access : accesses.reads) {
      if (!access.depends_on(*tile.vector_axis) && access.contiguous(*axis)) continue;
      const std::optional<Packing> packing =
          pairs_of(program_.graph, before, access, tile, *axis, tasks_of(before));
      if (!packing) return false;
      packings.emplace_back(access.tensor, *packing);
    }
    if (!keeps(Decision::Pack, s)) return false;
    for (const auto& [tensor, packing] : packings) s = packed(s, tensor, packing);
    tile.factors[*axis] = 2;
    plans_[stage_key(before)] = {.tile = std::move(tile)};
    return true;
  }

  // Operands whose lanes data puts anywhere, with the dimension innermost that data does not
  // decide: rows of it are loaded whole, where a gather takes element by element.
  size_t gather_rows(size_t s) {
    const Stage before = stage(s);
    const size_t first = s;
    std::vector<TensorId> seen;
    for (const MemoryAccess& access : accessed_by(before).reads) {
      if (std::ranges::find(seen, access.tensor) != seen.end()) continue;
      const std::optional<Packing> packing = rows_innermost(program_.graph, before, access);
      if (!packing) continue;
      seen.push_back(access.tensor);
      const double now = choose(stage(s), accessed_by(stage(s)), 0, true).cycles;
      Program trial = pack(program_, s, access.tensor, *packing);
      const size_t moved = s + trial.graph.stages.size() - program_.graph.stages.size();
      std::swap(program_, trial);
      const double then = choose(stage(moved), accessed_by(stage(moved)), 0, true).cycles +
                          kRowCopy * access.elements / access.repeats;
      std::swap(program_, trial);
      if (then > kClearly * now) continue;
      if (auto summed = with_summed_rows(program_, s, access.tensor, *packing, plans_, choices_)) {
        s += summed->graph.stages.size() - program_.graph.stages.size();
        program_ = std::move(*summed);
        return s;
      }
      if (!keeps(Decision::Pack, s)) continue;
      program_ = std::move(trial);
      s = moved;
    }
    if (s == first) return s;
    // Tiles that walk rows along an output axis need all of it: no loop over it goes outside.
    const Accesses accesses = accessed_by(stage(s));
    const TileChoice tile = choose(stage(s), accesses, 0, true);
    if (walks_rows_of_data(stage(s), accesses, tile))
      plans_[stage_key(stage(s))] = {tile, false, {}};
    return s;
  }

  // Half types that are read often are converted once, not in the tile.
  size_t widen_operands(size_t s) {
    const Stage before = stage(s);
    if (!is_product_sum(program_.graph, before)) return s;
    for (const MemoryAccess& access : accessed_by(before).reads) {
      if (access.guarded || reuse(before, access) < kReuse) continue;
      if (!is_widened(program_.graph, stage(s), access.tensor) || !keeps(Decision::Pack, s))
        continue;
      Packing packing = as_it_is(program_.graph, access.tensor);
      packing.widen = true;
      s = packed(s, access.tensor, packing);
    }
    return s;
  }

  std::span<const size_t> tasks_of(const Stage& stage) const {
    const auto found = task_axes_.find(stage_key(stage));
    return found == task_axes_.end() ? std::span<const size_t>() : found->second.axes;
  }

  // The stage's number after packing an operand of it.
  size_t packed(size_t s, TensorId operand, const Packing& packing) {
    const size_t before = program_.graph.stages.size();
    program_ = pack(std::move(program_), s, operand, packing);
    return s + program_.graph.stages.size() - before;
  }

  // Whether all reads of the tensor have the axis as the same dimension and are not guarded: one
  // layout serves them.
  bool one_layout(const Accesses& accesses, const MemoryAccess& access, size_t axis) const {
    const size_t dim = dimension_of(program_.graph, access, axis);
    return std::ranges::all_of(accesses.reads, [&](const MemoryAccess& other) {
      return other.tensor != access.tensor || other.read == access.read ||
             (!other.guarded && dim != SIZE_MAX &&
              dimension_of(program_.graph, other, axis) == dim);
    });
  }

  Program program_;
  const Target& target_;
  const Repeats& repeats_;
  ReductionPlans& plans_;
  const TaskAxes& task_axes_;
  Choices& choices_;
  SharedCopies copies_;
};

}  // namespace

Program prepare_reductions(Program program, const Target& target, const Repeats& repeats,
                           ReductionPlans& plans, const TaskAxes& task_axes, Choices& choices) {
  return Preparer(std::move(program), target, repeats, plans, task_axes, choices)();
}

}  // namespace adjit::sched
