// autosched/gpu/loops/register_tile.cpp -- kernels whose threads compute several results each.
#include "autosched/gpu/loops/register_tile.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "autosched/analysis/access.hpp"
#include "autosched/gpu/cost/cost.hpp"
#include "autosched/gpu/cost/requests.hpp"
#include "autosched/gpu/loops/flat_loops.hpp"
#include "autosched/gpu/loops/thread_loops.hpp"
#include "autosched/gpu/loops/vector_lanes.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/limits.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"
#include "autosched/program/shared_memory.hpp"
#include "runtime/process/cancellation.hpp"

namespace adjit::sched {
namespace {

// All guesses: no GPU has run these kernels yet.
constexpr double kLeastMicroseconds = 6;  // of a kernel that is worth the search
constexpr double kGain = 0.97;            // of its time that a change of the tile leaves, at most
constexpr double kAboveMemory = 1.1;   // times the time of its bytes, from which it does not wait
constexpr int64_t kAccumulators = 64;  // of a thread: of 255 registers, beside what is read
constexpr int64_t kShort = 16;         // of a reduction that is written out
constexpr int64_t kThreadsTogether = 256;  // that add up a result, at most
constexpr double kTermsInRegisters = 256;  // of a reduction that its reader's threads compute
constexpr size_t kRounds = 12;

// Per axis of a stage.
struct Shape {
  std::vector<int64_t> unrolled;  // results, or terms, of a thread side by side
  std::vector<int64_t> threads;   // of a reduction: that add up together
  int64_t lanes = 1;              // of the last output axis

  auto operator<=>(const Shape&) const = default;
};

class TileSearch {
 public:
  // `reader`: in whose loops the stage is computed, if it is.
  TileSearch(const Program& plain, size_t stage, std::optional<size_t> reader,
             const GpuMachine& machine)
      : plain_(plain),
        number_(stage),
        reader_(reader),
        machine_(machine),
        stage_(plain.graph.stages[stage]),
        from_memory_(leaves_l2(plain, machine)),
        cooperates_(!reader && may_cooperate(plain.graph, stage_)) {
    const size_t rank = stage_.domain.output_rank;
    if (rank == 0) return;
    lanes_ = lanes_along(plain.graph, stage_, rank - 1, stage_.domain.extents[rank - 1]);
    if (!reader) return;
    const Stage& behind = plain.graph.stages[*reader];
    lanes_ = std::min(lanes_,
                      lanes_along(plain.graph, behind, rank - 1, behind.domain.extents[rank - 1]));
  }

  std::optional<Program> operator()(const Program& usual) {
    const GpuKernelCost cost = cost_of(usual, root());
    if (!reader_ && !is_worth_it(usual, cost)) return std::nullopt;
    std::optional<Program> best;
    double least = cost.microseconds;
    if (reader_) least += cost_of(usual, number_).microseconds;
    for (const Shape& start : starts()) {
      std::optional<Found> found = descend(start);
      if (!found || found->microseconds >= kGain * least) continue;
      best = std::move(found->program);
      least = found->microseconds;
    }
    return best;
  }

 private:
  struct Found {
    Program program;
    double microseconds = 0;
  };

  size_t root() const { return reader_.value_or(number_); }

  // Of the kernel that computes a stage.
  GpuKernelCost cost_of(const Program& program, size_t stage) const {
    return predict_kernel(program, find_nest(program, stage)->kernel, machine_, from_memory_);
  }

  // Whether results that lie side by side have more in common than operands that are the same for
  // all: terms of a sum, a tensor that each reads at several places, or sectors of memory.
  bool have_in_common() const {
    if (stage_.domain.reduction_rank() > 0) return true;
    const size_t last = stage_.domain.output_rank - 1;
    std::set<uint32_t> tensors;
    for (const MemoryAccess& read : accesses_of(plain_.graph, stage_).reads) {
      if (!tensors.insert(read.tensor.value).second) return true;
      for (size_t a = 0; a < last; ++a)
        if (read.contiguous(a) && read.depends_on(last)) return true;
    }
    return false;
  }

  bool is_worth_it(const Program& usual, const GpuKernelCost& cost) const {
    const auto term = [&](GpuCostTerm t) { return cost.terms[static_cast<size_t>(t)]; };
    if (stage_.kind != StageKind::Compute || running_of(plain_.graph, stage_)) return false;
    if (stage_.domain.output_rank == 0 || cost.microseconds < kLeastMicroseconds) return false;
    if (!have_in_common()) return false;
    const double rest = std::max({term(GpuCostTerm::Arithmetic), term(GpuCostTerm::Access),
                                  term(GpuCostTerm::L2), term(GpuCostTerm::Latency)});
    return rest > kAboveMemory * microseconds_of_bytes(usual);
  }

  // That the kernel's bytes take, once each, from wherever they come.
  double microseconds_of_bytes(const Program& program) const {
    const double bytes = requests_of(program, find_nest(program, root())->kernel, machine_).bytes;
    return roofline(0, bytes, machine_, from_memory_);
  }

  // Each thread by itself, and as many as go along the reduction's memory together.
  std::vector<Shape> starts() const {
    const size_t rank = stage_.domain.rank();
    Shape alone{std::vector<int64_t>(rank, 1), std::vector<int64_t>(rank, 1), lanes_};
    std::vector<Shape> shapes{alone};
    const std::optional<size_t> along = longest_reduction();
    if (!cooperates_ || !along || stage_.domain.extents[*along] < kWarpThreads) return shapes;
    alone.threads[*along] = std::min(
        kThreadsTogether / 2, power_below(static_cast<double>(stage_.domain.extents[*along])));
    shapes.push_back(std::move(alone));
    return shapes;
  }

  // The contiguous one, else the longest.
  std::optional<size_t> longest_reduction() const {
    const Domain& domain = stage_.domain;
    const std::optional<size_t> contiguous = contiguous_axis(plain_.graph, stage_);
    if (contiguous && *contiguous >= domain.output_rank &&
        domain.extents[*contiguous] >= kWarpThreads)
      return contiguous;
    std::optional<size_t> longest;
    for (size_t a = domain.output_rank; a < domain.rank(); ++a)
      if (!longest || domain.extents[a] >= domain.extents[*longest]) longest = a;
    return longest;
  }

  // The best neighbour of the best one, until there is no better one.
  std::optional<Found> descend(Shape shape) {
    std::optional<Found> best = made(shape);
    if (!best) return std::nullopt;
    std::set<Shape> seen{shape};
    for (size_t round = 0; round < kRounds; ++round) {
      check_cancelled();
      std::optional<Found> next;
      Shape next_shape;
      for (Shape& other : neighbours(shape)) {
        if (!seen.insert(other).second) continue;
        std::optional<Found> found = made(other);
        if (!found ||
            found->microseconds >= (next ? next->microseconds : kGain * best->microseconds))
          continue;
        next = std::move(found);
        next_shape = std::move(other);
      }
      if (!next) break;
      best = std::move(next);
      shape = std::move(next_shape);
    }
    return best;
  }

  std::vector<Shape> neighbours(const Shape& shape) const {
    const Domain& domain = stage_.domain;
    std::vector<Shape> all;
    const auto add = [&](auto&& change) {
      Shape other = shape;
      change(other);
      if (fits(other)) all.push_back(std::move(other));
    };
    for (size_t a = 0; a < domain.rank(); ++a) {
      const int64_t now = shape.unrolled[a], extent = domain.extents[a];
      add([&](Shape& s) { s.unrolled[a] = 2 * now; });
      if (now > 1) add([&](Shape& s) { s.unrolled[a] = now / 2; });
      if (extent <= kShort) add([&](Shape& s) { s.unrolled[a] = extent; });
      if (a < domain.output_rank || !cooperates_) continue;
      const int64_t threads = shape.threads[a];
      add([&](Shape& s) { s.threads[a] = 2 * threads; });
      if (threads > 1) add([&](Shape& s) { s.threads[a] = threads / 2; });
    }
    if (lanes_ > 1) add([&](Shape& s) { s.lanes = s.lanes == 1 ? lanes_ : 1; });
    return all;
  }

  bool fits(const Shape& shape) const {
    const Domain& domain = stage_.domain;
    int64_t copies = shape.lanes, threads = 1;
    auto accumulators = shape.lanes * static_cast<int64_t>(stage_.results.size());
    for (size_t a = 0; a < domain.rank(); ++a) {
      const bool is_output = a < domain.output_rank;
      const int64_t lanes = a + 1 == domain.output_rank ? shape.lanes : 1;
      if (shape.unrolled[a] * lanes * shape.threads[a] > domain.extents[a]) return false;
      // A tile that is not whole has conditions in each of its points.
      if (shape.unrolled[a] > 1 && domain.extents[a] % (shape.unrolled[a] * lanes) != 0)
        return false;
      copies *= shape.unrolled[a];
      threads *= shape.threads[a];
      if (is_output) accumulators *= shape.unrolled[a];
    }
    return copies <= kTileInstances && accumulators <= kAccumulators &&
           threads <= kThreadsTogether && (threads == 1 || threads >= kWarpThreads);
  }

  // nullopt: a move refused.
  std::optional<Found> made(const Shape& shape) const {
    try {
      Program program = reader_ ? loops_inside(shape) : loops_of(shape);
      const Kernel& kernel = program.kernels[find_nest(program, root())->kernel];
      if (shared_bytes(program, kernel) > machine_.block_shared_bytes) return std::nullopt;
      const double microseconds = cost_of(program, root()).microseconds;
      return Found{std::move(program), microseconds};
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Schedule) throw;
      return std::nullopt;
    }
  }

  Program loops_of(const Shape& shape) const {
    const Domain& domain = stage_.domain;
    Program program = plain_;
    const size_t last = domain.output_rank - 1;
    if (shape.lanes > 1) program = vectorize(std::move(program), number_, last, shape.lanes);
    for (size_t a = 0; a < domain.rank(); ++a)
      if (shape.unrolled[a] > 1)
        program = unroll(std::move(program), number_, a, shape.unrolled[a]);
    for (size_t a = domain.output_rank; a < domain.rank(); ++a)
      if (shape.threads[a] > 1) program = threads(std::move(program), number_, a, shape.threads[a]);
    program = with_order(std::move(program), number_, order_of(program));
    size_t loops = 0;
    const Nest& nest = nest_of(program, number_);
    while (loops < tile_begin(nest) && nest.loops[loops].axis < domain.output_rank) ++loops;
    return loops > 0 ? parallel(std::move(program), number_, loops) : program;
  }

  // The reader's loops go over tiles, and in one over its points, behind the sum's.
  Program loops_inside(const Shape& shape) const {
    const size_t rank = stage_.domain.output_rank;
    Program program = plain_;
    const auto points = [&](size_t a) {
      return shape.unrolled[a] * (a + 1 == rank ? shape.lanes : 1);
    };
    for (size_t a = 0; a < rank; ++a)
      if (points(a) > 1) program = tile(std::move(program), *reader_, a, std::array{points(a)});
    const std::vector<Loop>& loops = nest_of(program, *reader_).loops;
    std::vector<size_t> order(loops.size());
    for (size_t l = 0; l < order.size(); ++l) order[l] = l;
    const auto inside = std::ranges::stable_partition(
        order, [&](size_t l) { return points(loops[l].axis) == 1 || loops[l].step > 1; });
    const auto depth = static_cast<size_t>(inside.begin() - order.begin());
    program = with_order(std::move(program), *reader_, order);
    program = compute_at(std::move(program), number_, *reader_, depth);
    for (const size_t stage : {number_, *reader_}) {
      if (shape.lanes > 1) program = vectorize(std::move(program), stage, rank - 1, shape.lanes);
      for (size_t a = 0; a < program.graph.stages[stage].domain.rank(); ++a)
        if (shape.unrolled[a] > 1)
          program = unroll(std::move(program), stage, a, shape.unrolled[a]);
    }
    return depth > 0 ? parallel(std::move(program), *reader_, depth) : program;
  }

  // Results first, then serial loops of the reduction, then threads; the tile stays.
  std::vector<size_t> order_of(const Program& program) const {
    const Nest& nest = nest_of(program, number_);
    std::vector<size_t> order(nest.loops.size());
    for (size_t l = 0; l < order.size(); ++l) order[l] = l;
    std::stable_sort(order.begin(), order.begin() + static_cast<long>(tile_begin(nest)),
                     [&](size_t a, size_t b) { return rank(nest.loops[a]) < rank(nest.loops[b]); });
    return order;
  }
  int rank(const Loop& loop) const {
    if (loop.kind == LoopKind::Thread) return 2;
    return loop.axis < stage_.domain.output_rank ? 0 : 1;
  }

  const Program& plain_;
  size_t number_;  // of the stage
  std::optional<size_t> reader_;
  const GpuMachine& machine_;
  const Stage& stage_;
  bool from_memory_;
  bool cooperates_;
  int64_t lanes_ = 1;
};

}  // namespace

std::optional<Program> with_register_tile(const Program& plain, size_t root, const Program& usual,
                                          const GpuMachine& machine) {
  return TileSearch(plain, root, std::nullopt, machine)(usual);
}

std::optional<Program> with_sum_in_registers(const Program& plain, size_t sum, size_t reader,
                                             const Program& apart, const GpuMachine& machine) {
  const Stage& stage = plain.graph.stages[sum];
  if (stage.kind != StageKind::Compute || stage.domain.reduction_rank() == 0 ||
      stage.domain.output_rank == 0 || stage.results.size() != 1 ||
      running_of(plain.graph, stage) || terms_of(stage.domain) > kTermsInRegisters)
    return std::nullopt;
  return TileSearch(plain, sum, reader, machine)(apart);
}

}  // namespace adjit::sched
