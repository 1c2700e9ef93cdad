// autosched/gpu/split_reductions.cpp -- long reductions to few results, by more threads.
#include "autosched/gpu/split_reductions.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "autosched/analysis/access.hpp"
#include "autosched/gpu/cost/cost.hpp"
#include "autosched/gpu/loops/block_loops.hpp"
#include "autosched/gpu/loops/thread_loops.hpp"
#include "autosched/gpu/part_cost.hpp"
#include "autosched/gpu/products/product_loops.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/part_of_program.hpp"
#include "autosched/program/points.hpp"
#include "autosched/program/segments.hpp"
#include "autosched/program/threads.hpp"
#include "autosched/program/winners.hpp"
#include "runtime/process/cancellation.hpp"

namespace adjit::sched {
namespace {

// No GPU has run these kernels yet: where no finding is named, a number is a guess.
constexpr double kShort = 512;         // terms that one thread adds alone
constexpr double kLeastOfThread = 32;  // terms of a part that a thread adds up
constexpr double kLeastRow = 4096;     // terms of a part of a row, of which a block takes all
constexpr double kLeastRows = 128;     // terms of a part of columns
// A kernel written by hand with so many parts reached 0.95 of the copy (32768 x 1024, measured);
// more were not tried.
constexpr double kBlocksOfMultiprocessor = 2;
// Of a reduction whose threads compute several results each (register_tile.hpp): they load single
// elements and wait for them, so that it takes all threads that there may be.
constexpr double kTiledBlocksOfMultiprocessor = 8;
constexpr double kResultsOfTile = 64;

// Whose first axis has parts.
bool has_winners(const LoweredGraph& graph, const Stage& stage) {
  return tells_order(graph, stage) && stage.domain.is_box() && stage.domain.reduction_rank() == 1;
}

bool may_split(const LoweredGraph& graph, const Stage& stage) {
  return stage.kind == StageKind::Compute && !running_of(graph, stage) &&
         !segments_of(graph.pool, stage) &&
         (has_partial_results(stage.combiner.kind) || has_winners(graph, stage)) &&
         std::ranges::all_of(stage.results, [&](TensorId id) {
           const DType dtype = graph.info(id).dtype;
           return accumulator_of(dtype) == dtype;
         });
}

struct Split {
  size_t axis = 0;
  int64_t parts = 0;
  bool tiled = false;  // its threads compute several results each (register_tile.hpp)
};

size_t longest_reduction_axis(const Domain& domain) {
  size_t longest = domain.output_rank;
  for (size_t a = domain.output_rank; a < domain.rank(); ++a)
    if (domain.extents[a] > domain.extents[longest]) longest = a;
  return longest;
}

// Parts as long as each other, and of whole vectors, ask for no conditions.
int64_t even_parts(int64_t extent, int64_t wanted) {
  constexpr int64_t kVector = 8;
  for (const int64_t whole : {kVector, int64_t{1}})
    for (int64_t parts = wanted; 2 * parts > wanted && parts > 1; --parts)
      if (extent % (parts * whole) == 0) return parts;
  return wanted;
}

// As many parts as give each multiprocessor its blocks. Rows are cut along the axis of which most
// are elsewhere in memory, if it has enough points.
std::optional<Split> split_among_blocks(const LoweredGraph& graph, const Stage& stage,
                                        const BlockShare& share, const GpuMachine& machine) {
  const Domain& domain = stage.domain;
  const bool rows = share.kind == BlockShare::Kind::Rows;
  const double wanted = std::min(kBlocksOfMultiprocessor * machine.multiprocessors / share.blocks,
                                 terms_of(domain) / (rows ? kLeastRow : kLeastRows));
  if (wanted < 2) return std::nullopt;
  const auto parts = static_cast<int64_t>(wanted);
  const std::optional<size_t> along = contiguous_axis(graph, stage);
  size_t axis = longest_reduction_axis(domain);
  for (size_t a = domain.output_rank; rows && a < domain.rank(); ++a)
    if (a != along && domain.extents[a] >= parts) axis = a;
  const int64_t most = std::min(parts, domain.extents[axis]);
  if (most < 2) return std::nullopt;
  return Split{axis, even_parts(domain.extents[axis], most)};
}

std::vector<std::string> in_words(const std::vector<int64_t>& parts) {
  std::vector<std::string> words;
  for (const int64_t count : parts)
    words.push_back(count > 1 ? std::to_string(count) + " parts" : "no parts");
  return words;
}

// Along the axis that has most points; the parts are as many as fill the multiprocessors when a
// block computes so many results at once as read each operand again.
std::optional<Split> split_among_tiles(const LoweredGraph& graph, const Stage& stage,
                                       const GpuMachine& machine) {
  const double points = box_points(stage.domain), terms = terms_of(stage.domain);
  double together = std::min(kResultsOfTile, points / terms);
  for (const MemoryAccess& read : accesses_of(graph, stage).reads)
    together = std::min(together, points / elements_touched(read, stage.domain));
  const double wanted =
      std::min(kTiledBlocksOfMultiprocessor * machine.multiprocessors / (points / terms / together),
               terms / kLeastRow);
  const size_t axis = longest_reduction_axis(stage.domain);
  const int64_t most = std::min(static_cast<int64_t>(wanted), stage.domain.extents[axis]);
  if (most < 2) return std::nullopt;
  return Split{axis, even_parts(stage.domain.extents[axis], most), true};
}

// Of half, twice and four times as many parts, too, which tiles may leave fewer threads for.
int64_t fastest_parts(const Program& program, size_t s, const Split& split,
                      const GpuMachine& machine) {
  const Domain& domain = program.graph.stages[s].domain;
  const bool from_memory = leaves_l2(program, machine);
  int64_t best = split.parts;
  double least = 0;
  for (const int64_t wanted : {split.parts, split.parts / 2, 2 * split.parts, 4 * split.parts}) {
    if (wanted < 2 || wanted > domain.extents[split.axis] ||
        terms_of(domain) / static_cast<double>(wanted) < kLeastRow)
      continue;
    check_cancelled();
    const int64_t parts = even_parts(domain.extents[split.axis], wanted);
    Program in_parts = rfactor(part_of(program, std::array{s}), 0, split.axis, parts);
    const double microseconds = microseconds_of_kernels(std::move(in_parts), machine, from_memory);
    if (least > 0 && microseconds >= least) continue;
    least = microseconds;
    best = parts;
  }
  return best;
}

std::optional<Split> worth_splitting(const LoweredGraph& graph, const Stage& stage,
                                     const GpuMachine& machine) {
  if (!may_split(graph, stage)) return std::nullopt;
  if (has_partial_results(stage.combiner.kind) && is_contraction(graph, stage))
    if (const std::optional<Split> split = split_among_tiles(graph, stage, machine)) return split;
  const BlockShare share = block_share(graph, stage, machine);
  if (share.kind != BlockShare::Kind::None) return split_among_blocks(graph, stage, share, machine);
  const double terms = terms_of(stage.domain);
  const double results = box_points(stage.domain) / terms;
  const double threads = static_cast<double>(machine.multiprocessors) * machine.threads / 2;
  if (terms < kShort || 2 * results > threads) return std::nullopt;
  const size_t axis = longest_reduction_axis(stage.domain);
  const auto wanted = static_cast<int64_t>(std::min(threads / results, terms / kLeastOfThread));
  const int64_t parts = std::min(wanted, stage.domain.extents[axis]);
  return parts >= 2 ? std::optional(Split{axis, parts}) : std::nullopt;
}

// Half as many parts, or twice as many, or none.
int64_t chosen_parts(const LoweredGraph& graph, const Stage& stage, const Split& split,
                     Choices& choices) {
  const int64_t extent = stage.domain.extents[split.axis];
  std::vector<int64_t> parts{split.parts, 1};
  if (split.parts >= 4) parts.push_back(even_parts(extent, split.parts / 2));
  if (2 * split.parts <= extent) parts.push_back(even_parts(extent, 2 * split.parts));
  return parts[choices.pick(Decision::Rfactor, graph, stage, [&] { return in_words(parts); })];
}

// The tile's parts, of which there are those that some tile is best with.
std::optional<ProductTile> chosen_split(const Program& program, const Stage& stage,
                                        const GpuMachine& machine, Choices& choices) {
  std::vector<ProductTile> best;
  for (const ProductTile& tile : product_tiles(program, stage, machine, {.may_split = true}))
    if (std::ranges::find(best, tile.parts, &ProductTile::parts) == best.end())
      best.push_back(tile);
  if (best.empty()) return std::nullopt;
  return best[choices.pick(Decision::Rfactor, program.graph, stage, [&] {
    std::vector<int64_t> parts;
    for (const ProductTile& tile : best) parts.push_back(tile.parts);
    return in_words(parts);
  })];
}

}  // namespace

Program split_long_reductions(Program program, const GpuMachine& machine, Choices& choices) {
  // What combines the parts stands behind them: it is looked at next.
  for (size_t s = 0; s < program.graph.stages.size(); ++s) {
    if (!is_alone(program, s)) continue;
    // It has its loops (fuse_columns).
    if (is_block_kernel(program.kernels[find_nest(program, s)->kernel])) continue;
    const Stage& stage = program.graph.stages[s];
    if (const std::optional<ProductTile> tile = chosen_split(program, stage, machine, choices)) {
      program = split_product(std::move(program), s, *tile);
    } else if (auto split = worth_splitting(program.graph, stage, machine)) {
      if (split->tiled) split->parts = fastest_parts(program, s, *split, machine);
      const int64_t parts = chosen_parts(program.graph, stage, *split, choices);
      if (parts > 1) program = rfactor(std::move(program), s, split->axis, parts);
    }
  }
  return program;
}

}  // namespace adjit::sched
