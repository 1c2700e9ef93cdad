// autosched/gpu/loops/thread_loops.cpp -- which threads of a block take which points of a nest.
#include "autosched/gpu/loops/thread_loops.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "autosched/analysis/access.hpp"
#include "autosched/gpu/loops/vector_lanes.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"
#include "autosched/program/segments.hpp"
#include "autosched/program/winners.hpp"

namespace adjit::sched {
namespace {

// A guess: a fifth of the 40 multiply-adds that an FMA unit does while an element of 4 bytes comes
// from memory (63 TFLOP/s, 3 TB/s), since threads share what they read.
constexpr double kContractionReuse = 8;  // of each operand's elements

// Fewer terms threads do not share, since they would wait for each other: a guess, too (finding
// 0112).
constexpr int64_t kShortReduction = 8;

struct AxisThreads {
  size_t axis = 0;
  int64_t threads = 1;  // that go along it
};

// The threads of a block by axes.
struct ThreadGrid {
  std::optional<AxisThreads> neighbours;  // along the contiguous axis
  int64_t lanes = 1;                      // of each of these threads
  std::vector<AxisThreads> others;        // slowest first
};

class ThreadGridMaker {
 public:
  ThreadGridMaker(const Program& program, size_t stage, size_t first, int64_t threads,
                  int64_t neighbours)
      : graph_(program.graph),
        stage_(program.graph.stages[stage]),
        nest_(nest_of(program, stage)),
        left_(threads),
        neighbours_(neighbours) {
    for (size_t l = first; l < nest_.loops.size(); ++l) loops_.push_back(nest_.loops[l]);
  }

  ThreadGrid operator()() {
    if (const std::optional<size_t> axis = contiguous_axis(graph_, stage_)) place_neighbours(*axis);
    // Results first, the innermost of them next to the neighbours; then the reduction.
    for (const bool reduction : {false, true})
      for (size_t l = loops_.size(); l-- > 0;)
        if (is_reduction(loops_[l]) == reduction) place(loops_[l]);
    std::ranges::reverse(grid_.others);
    return std::move(grid_);
  }

 private:
  bool is_reduction(const Loop& loop) const { return loop.axis >= stage_.domain.output_rank; }
  bool takes_threads(const Loop& loop) const {
    if (!is_reduction(loop)) return loop.trips > 1;
    const bool is_long = loop.trips >= kShortReduction || neighbours_ > 1;  // as was asked for
    return loop.trips > 1 && is_long && may_cooperate(graph_, stage_);
  }

  int64_t at_most_left(int64_t trips) const {
    return power_below(static_cast<double>(std::min(left_, trips)));
  }

  // Whether as many threads as were asked for go along the loop; results of a reduction are
  // exchanged quickly between whole warps, or in a part of one.
  bool takes_neighbours(const Loop& loop, int64_t trips) const {
    if (neighbours_ < 2 || neighbours_ > left_ || trips % neighbours_ != 0) return false;
    return !is_reduction(loop) || neighbours_ % kWarpThreads == 0 ||
           (neighbours_ < kWarpThreads && std::has_single_bit(static_cast<uint64_t>(neighbours_)));
  }

  void place_neighbours(size_t axis) {
    const auto loop = std::ranges::find(loops_, axis, &Loop::axis);
    if (loop == loops_.end() || !takes_threads(*loop) || loop->step != 1) return;
    int64_t lanes = lanes_along(graph_, stage_, axis, loop->trips);
    // Few vectors leave threads idle; and a tile that is not whole is no reduction that threads
    // share.
    if (loop->trips / lanes < std::min<int64_t>(left_, kWarpThreads) &&
        !takes_neighbours(*loop, loop->trips / lanes))
      lanes = 1;
    const auto threads_for = [&](int64_t trips) {
      return takes_neighbours(*loop, trips) ? neighbours_ : at_most_left(trips);
    };
    int64_t threads = threads_for(loop->trips / lanes);
    const bool ragged = loop->trips % (threads * lanes) != 0;
    if (lanes > 1 && ragged && !is_reduction(*loop) && stage_.domain.reduction_rank() > 0) {
      lanes = 1;
      threads = threads_for(loop->trips);
    }
    grid_.lanes = lanes;
    grid_.neighbours = AxisThreads{axis, threads};
    left_ /= threads;
  }

  void place(const Loop& loop) {
    if (left_ < 2 || !takes_threads(loop)) return;
    if (grid_.neighbours && grid_.neighbours->axis == loop.axis) return;
    const int64_t threads = at_most_left(loop.trips);
    grid_.others.push_back({loop.axis, threads});
    left_ /= threads;
  }

  const LoweredGraph& graph_;
  const Stage& stage_;
  const Nest& nest_;
  std::vector<Loop> loops_;
  int64_t left_;
  int64_t neighbours_;
  ThreadGrid grid_;
};

// First the loops that stay, then serial ones over results, then threads, neighbours innermost, the
// serial ones of the reduction inside them or, where threads share it, outside; last the tile.
std::vector<size_t> order_of(const Stage& stage, const Nest& nest, size_t first,
                             const ThreadGrid& grid) {
  const size_t tile = tile_begin(nest);
  const auto is_reduction = [&](size_t l) {
    return nest.loops[l].axis >= stage.domain.output_rank;
  };
  const auto is_thread = [&](size_t l) { return nest.loops[l].kind == LoopKind::Thread; };
  bool cooperative = false;
  for (size_t l = first; l < tile; ++l) cooperative |= is_thread(l) && is_reduction(l);
  const auto rank = [&](size_t l) -> size_t {
    if (!is_thread(l)) return !is_reduction(l) ? 0 : cooperative ? 1 : 4;
    if (grid.neighbours && nest.loops[l].axis == grid.neighbours->axis) return 3;
    return 2;
  };
  const auto place = [&](size_t l) {  // of threads of the same rank
    const auto found = std::ranges::find(grid.others, nest.loops[l].axis, &AxisThreads::axis);
    return is_thread(l) ? static_cast<size_t>(found - grid.others.begin()) : 0;
  };
  std::vector<size_t> order(nest.loops.size());
  for (size_t l = 0; l < order.size(); ++l) order[l] = l;
  std::stable_sort(order.begin() + static_cast<long>(first),
                   order.begin() + static_cast<long>(tile), [&](size_t a, size_t b) {
                     return std::pair(rank(a), place(a)) < std::pair(rank(b), place(b));
                   });
  return order;
}

}  // namespace

std::optional<size_t> contiguous_axis(const LoweredGraph& graph, const Stage& stage) {
  const Accesses accesses = accesses_of(graph, stage);
  std::vector<double> elements(stage.domain.rank(), 0);
  const auto count = [&](const MemoryAccess& access) {
    for (size_t a = 0; a < elements.size(); ++a)
      if (stage.domain.extents[a] > 1 && access.contiguous(a))
        elements[a] += elements_touched(access, stage.domain);
  };
  for (const MemoryAccess& read : accesses.reads) count(read);
  count(accesses.result);
  std::optional<size_t> best;
  for (size_t a = 0; a < elements.size(); ++a)
    if (elements[a] > 0 && (!best || elements[a] >= elements[*best])) best = a;
  return best;
}

bool is_contraction(const LoweredGraph& graph, const Stage& stage) {
  if (stage.domain.reduction_rank() == 0) return false;
  const Accesses accesses = accesses_of(graph, stage);
  return !accesses.reads.empty() &&
         std::ranges::all_of(accesses.reads, [&](const MemoryAccess& access) {
           return box_points(stage.domain) >=
                  kContractionReuse * elements_touched(access, stage.domain);
         });
}

bool may_cooperate(const LoweredGraph& graph, const Stage& stage) {
  return stage.kind == StageKind::Compute && !running_of(graph, stage) &&
         threads_may_reduce(graph, stage) && !segments_of(graph.pool, stage);
}

Program thread_loops(Program program, size_t stage, size_t first, int64_t threads,
                     int64_t neighbours) {
  const ThreadGrid grid = ThreadGridMaker(program, stage, first, threads, neighbours)();
  const size_t rank = program.graph.stages[stage].domain.output_rank;
  if (grid.lanes > 1)
    program = vectorize(std::move(program), stage, grid.neighbours->axis, grid.lanes);
  std::vector<AxisThreads> all = grid.others;
  if (grid.neighbours) all.push_back(*grid.neighbours);
  // Threads share a reduction only where all loops inside are theirs, or the reduction's.
  for (const bool reduction : {false, true}) {
    for (const auto& [axis, count] : all)
      if ((axis >= rank) == reduction && count > 1)
        program = sched::threads(std::move(program), stage, axis, count);
    const std::vector<size_t> order =
        order_of(program.graph.stages[stage], nest_of(program, stage), first, grid);
    program = with_order(std::move(program), stage, order);
  }
  return program;
}

}  // namespace adjit::sched
