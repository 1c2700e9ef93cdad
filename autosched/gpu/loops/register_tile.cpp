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
constexpr double kAboveMemory = 1.1;  // times the time of its bytes, from which it does not wait
constexpr double kRegistersOfTile = 144;   // of a thread, as they are counted: code takes more
constexpr int64_t kAccumulators = 96;      // of a thread, of 255 registers (finding 0111)
constexpr int64_t kShort = 16;             // of a reduction that is written out
constexpr int64_t kThreadsTogether = 256;  // that add up a result, at most
constexpr double kTermsInRegisters = 256;  // of a reduction that its reader's threads compute
constexpr size_t kRounds = 12;

// Whether results that lie side by side have more in common than operands that are the same for
// all: terms of a sum, a tensor that each reads at several places, or sectors of memory.
bool have_in_common(const LoweredGraph& graph, const Stage& stage) {
  if (stage.domain.reduction_rank() > 0) return true;
  const size_t last = stage.domain.output_rank - 1;
  std::set<uint32_t> tensors;
  for (const MemoryAccess& read : accesses_of(graph, stage).reads) {
    if (!tensors.insert(read.tensor.value).second) return true;
    for (size_t a = 0; a < last; ++a)
      if (read.contiguous(a) && read.depends_on(last)) return true;
  }
  return false;
}

// Whether a kernel takes longer than its bytes do, once each, from wherever they come.
bool is_worth_it(const Program& usual, const GpuKernelCost& cost, const GpuMachine& machine,
                 bool from_memory) {
  const Stage& stage = usual.graph.stages.front();
  if (stage.domain.output_rank == 0 || cost.microseconds < kLeastMicroseconds ||
      !have_in_common(usual.graph, stage))
    return false;
  const auto term = [&](GpuCostTerm t) { return cost.terms[static_cast<size_t>(t)]; };
  const double rest = std::max({term(GpuCostTerm::Arithmetic), term(GpuCostTerm::Access),
                                term(GpuCostTerm::L2), term(GpuCostTerm::Latency)});
  const double bytes = requests_of(usual, 0, machine).bytes;
  return rest > kAboveMemory * roofline(0, bytes, machine, from_memory);
}

// Over a program of one stage, or of a sum and the stage in whose loops it is computed.
class TileSearch {
 public:
  TileSearch(const Program& part, const GpuMachine& machine, bool from_memory)
      : part_(part),
        machine_(machine),
        from_memory_(from_memory),
        stage_(part.graph.stages.front()),
        has_reader_(part.graph.stages.size() > 1),
        cooperates_(!has_reader_ && may_cooperate(part.graph, stage_)) {
    const size_t rank = stage_.domain.output_rank;
    lanes_ = kAccessBits / 8;
    for (const Stage& stage : part.graph.stages)
      lanes_ = std::min(lanes_,
                        lanes_along(part.graph, stage, rank - 1, stage.domain.extents[rank - 1]));
  }

  // The shape that is predicted to take less than this; nullopt: there is none.
  std::optional<TileShape> operator()(double microseconds) {
    std::optional<TileShape> best;
    for (const TileShape& start : starts()) {
      std::optional<Found> found = descend(start);
      if (!found || found->microseconds >= kGain * microseconds) continue;
      microseconds = found->microseconds;
      best = std::move(found->shape);
    }
    return best;
  }

 private:
  struct Found {
    TileShape shape;
    double microseconds = 0;
  };

  // Each thread by itself, and as many as go along the reduction's memory together; of one result
  // each, and of all results along two short axes: what is the same along one of them is then
  // computed once.
  std::vector<TileShape> starts() const {
    const Domain& domain = stage_.domain;
    TileShape alone{std::vector<int64_t>(domain.rank(), 1), std::vector<int64_t>(domain.rank(), 1),
                    lanes_};
    std::vector<TileShape> shapes{alone};
    if (const auto& [a, b] = short_axes(); a != b) {
      TileShape& whole = shapes.emplace_back(alone);
      whole.unrolled[a] = domain.extents[a];
      whole.unrolled[b] = domain.extents[b];
      whole.lanes = 1;
    }
    const std::optional<size_t> along = longest_reduction();
    if (!cooperates_ || !along || domain.extents[*along] < kWarpThreads) return shapes;
    for (size_t k = 0, count = shapes.size(); k < count; ++k)
      shapes.emplace_back(shapes[k]).threads[*along] =
          std::min(kThreadsTogether / 2, power_below(static_cast<double>(domain.extents[*along])));
    return shapes;
  }

  // The two short axes of results that together have most, if a thread may have as many; else one
  // axis twice.
  std::pair<size_t, size_t> short_axes() const {
    const std::vector<int64_t>& extents = stage_.domain.extents;
    std::pair<size_t, size_t> best{0, 0};
    int64_t most = 1;
    for (size_t b = 1; b < stage_.domain.output_rank; ++b)
      for (size_t a = 0; a < b; ++a) {
        const int64_t results = extents[a] * extents[b];
        if (extents[a] < 2 || extents[b] < 2 || extents[a] > kShort || extents[b] > kShort ||
            results > kAccumulators || results <= most)
          continue;
        best = {a, b};
        most = results;
      }
    return best;
  }

  // The contiguous one, else the longest.
  std::optional<size_t> longest_reduction() const {
    const Domain& domain = stage_.domain;
    const std::optional<size_t> contiguous = contiguous_axis(part_.graph, stage_);
    if (contiguous && *contiguous >= domain.output_rank &&
        domain.extents[*contiguous] >= kWarpThreads)
      return contiguous;
    std::optional<size_t> longest;
    for (size_t a = domain.output_rank; a < domain.rank(); ++a)
      if (!longest || domain.extents[a] >= domain.extents[*longest]) longest = a;
    return longest;
  }

  // The best neighbour of the best one, until there is no better one.
  std::optional<Found> descend(const TileShape& start) {
    std::optional<Found> best = priced(start);
    if (!best) return std::nullopt;
    std::set<TileShape> seen{start};
    for (size_t round = 0; round < kRounds; ++round) {
      check_cancelled();
      std::optional<Found> next;
      for (const TileShape& other : neighbours(best->shape)) {
        if (!seen.insert(other).second) continue;
        std::optional<Found> found = priced(other);
        const double least = next ? next->microseconds : kGain * best->microseconds;
        if (found && found->microseconds < least) next = std::move(found);
      }
      if (!next) break;
      best = std::move(next);
    }
    return best;
  }

  std::vector<TileShape> neighbours(const TileShape& shape) const {
    const Domain& domain = stage_.domain;
    std::vector<TileShape> all;
    const auto add = [&](auto&& change) {
      TileShape other = shape;
      change(other);
      if (fits(other)) all.push_back(std::move(other));
    };
    for (size_t a = 0; a < domain.rank(); ++a) {
      const int64_t now = shape.unrolled[a], extent = domain.extents[a];
      add([&](TileShape& s) { s.unrolled[a] = 2 * now; });
      if (extent % 3 == 0) add([&](TileShape& s) { s.unrolled[a] = 3 * now; });
      if (now > 1) add([&](TileShape& s) { s.unrolled[a] = now / 2; });
      if (extent <= kShort) add([&](TileShape& s) { s.unrolled[a] = extent; });
      if (a < domain.output_rank || !cooperates_) continue;
      const int64_t threads = shape.threads[a];
      add([&](TileShape& s) { s.threads[a] = 2 * threads; });
      if (threads > 1) add([&](TileShape& s) { s.threads[a] = threads / 2; });
    }
    if (lanes_ > 1) add([&](TileShape& s) { s.lanes = s.lanes == 1 ? lanes_ : 1; });
    return all;
  }

  bool fits(const TileShape& shape) const {
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
  std::optional<Found> priced(const TileShape& shape) const {
    try {
      const Program program =
          has_reader_ ? sum_loops(part_, 0, 1, shape) : register_tile_loops(part_, 0, shape);
      if (shared_bytes(program, program.kernels[0]) > machine_.block_shared_bytes)
        return std::nullopt;
      for (const PlacedNest& nest : placed_nests(program, program.kernels[0]))
        if (registers_of(program, nest) > kRegistersOfTile) return std::nullopt;
      return Found{shape, predict_kernel(program, 0, machine_, from_memory_).microseconds};
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Schedule) throw;
      return std::nullopt;
    }
  }

  const Program& part_;
  const GpuMachine& machine_;
  bool from_memory_;
  const Stage& stage_;
  bool has_reader_;
  bool cooperates_;
  int64_t lanes_;
};

}  // namespace

std::optional<TileShape> register_tile(const Program& part, const Program& usual,
                                       const GpuMachine& machine, bool from_memory) {
  const GpuKernelCost cost = predict_kernel(usual, 0, machine, from_memory);
  if (!is_worth_it(usual, cost, machine, from_memory)) return std::nullopt;
  return TileSearch(part, machine, from_memory)(cost.microseconds);
}

bool has_few_terms(const Stage& sum) {
  return sum.domain.output_rank > 0 && terms_of(sum.domain) <= kTermsInRegisters;
}

std::optional<TileShape> sum_tile(const Program& part, double apart, const GpuMachine& machine,
                                  bool from_memory) {
  return TileSearch(part, machine, from_memory)(apart);
}

}  // namespace adjit::sched
