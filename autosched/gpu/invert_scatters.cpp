// autosched/gpu/invert_scatters.cpp -- which scatters are inverted, and which have private arrays.
#include "autosched/gpu/invert_scatters.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "autosched/gpu/cost/cost.hpp"
#include "autosched/gpu/part_cost.hpp"
#include "autosched/moves/attached/attachment.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/moves/scatter/inversion.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/part_of_program.hpp"
#include "autosched/program/points.hpp"
#include "autosched/program/segments.hpp"
#include "runtime/expr/integer.hpp"

namespace adjit::sched {
namespace {

// No GPU has run these kernels yet: all numbers are guesses.
constexpr double kLeastSteps = 128;     // of one thread, that take longer than sorting them does
constexpr double kPartSteps = 256;      // of a part with an array of its own, at most
constexpr double kLeastPart = 64;       // and at least
constexpr double kPointsOfElement = 4;  // of a private array, at least: else most of it is zeros
// Of an inversion, a chunk for each multiprocessor: as many points, at least, as counts of a digit
// take about as long as; a point looks through the words of its chunk for those before it. Of many
// points that takes longer than the sums of more counts, which are then several kernels anyway:
// chunks are as short as the digits of the fewest passes allow.
constexpr int64_t kLeastChunk = 128, kMostChunk = 512;
constexpr double kManyPoints = 1 << 20;
constexpr int64_t kLeastPiece = 64;  // of a long row
// Each row finds its points, also where it has none: so many times the points are no more work than
// the points one after the other.
constexpr double kMostRowsOfPoint = 64;

// What an inversion takes: its launches beside those of a gather, operations of all threads a point
// that is sorted, and a term of a row, all by the model's costs; and what a comparison of a
// gathered scatter takes, of which few need no look at the cost of the rest.
constexpr double kLaunchesOfSort = 6, kOperationsOfSort = 7700, kOperationsOfTerm = 90;
constexpr double kOperationsOfComparison = 3, kFewValues = 64;

constexpr const char* kGathered = "gathered";

struct ScatterPoints {
  double threads = 1;   // of the flat mapping: points that write apart
  double steps = 1;     // of each: points that may meet
  double elements = 1;  // of the result
  size_t longest = 0;   // of the axes along which points may meet
};

ScatterPoints scatter_points(const LoweredGraph& graph, const Stage& stage) {
  ScatterPoints all;
  const std::vector<int64_t>& extents = stage.domain.extents;
  std::optional<size_t> longest;
  for (size_t a = 0; a < extents.size(); ++a) {
    const auto extent = static_cast<double>(extents[a]);
    if (is_independent(graph, stage, a)) {
      all.threads *= extent;
      continue;
    }
    all.steps *= extent;
    if (!longest || extents[a] > extents[*longest]) longest = a;
  }
  all.longest = longest.value_or(0);
  all.elements = static_cast<double>(graph.info(stage.results[0]).element_count());
  return all;
}

// Parts of the longest axis, of so many points each that their arrays have at most a quarter as
// many elements.
int64_t private_parts(const Stage& stage, const ScatterPoints& all) {
  if (!has_partial_results(stage.combiner.kind)) return 0;
  const double part = std::max(kLeastPart, kPointsOfElement * all.elements / all.threads);
  if (part > kPartSteps) return 0;
  const auto extent = static_cast<double>(stage.domain.extents[all.longest]);
  const double chunk = std::max(1.0, std::floor(part * extent / all.steps));
  return static_cast<int64_t>(std::ceil(extent / chunk));
}

int64_t chunk_of(double points, double rows, const GpuMachine& machine) {
  const int64_t bits = std::bit_width(static_cast<uint64_t>(rows));
  const int64_t digit = ceil_div(bits, ceil_div(bits, kMostBitsOfDigit));
  if (points >= kManyPoints) return std::max(kLeastChunk, int64_t{1} << digit);
  const auto each = static_cast<uint64_t>(points / machine.multiprocessors);
  return std::clamp(static_cast<int64_t>(std::bit_ceil(each)), kLeastChunk, kMostChunk);
}

// A row goes through up to two pieces by points, which rows of that many points do, and through all
// others by their sums, which few rows do: half as long as there would be of each.
int64_t piece_of(const Stage& stage, double points) {
  const auto root = static_cast<uint64_t>(std::sqrt(points));
  const int64_t piece = std::max(static_cast<int64_t>(std::bit_ceil(root)) / 2, kLeastPiece);
  const bool is_long = points >= static_cast<double>(16 * piece);
  return is_long && has_partial_results(stage.combiner.kind) ? piece : 0;
}

double points_over(const std::vector<int64_t>& extents, std::span<const size_t> which) {
  double product = 1;
  for (const size_t k : which) product *= static_cast<double>(extents[k]);
  return product;
}

// Microseconds of a scatter as a reduction that goes through all points for each value of an index;
// infinite where that is refused.
double microseconds_gathered(const Program& program, size_t scatter, const GpuMachine& machine) {
  const TensorId result = program.graph.stages[scatter].results[0];
  const size_t tensors = program.graph.tensors.size();
  double microseconds = std::numeric_limits<double>::infinity();
  try {
    const Program gathered = scatter_to_gather(program, scatter);
    std::vector<size_t> made;  // what has the result, and what is added up for it
    for (size_t s = 0; s < gathered.graph.stages.size(); ++s)
      if (const TensorId id = gathered.graph.stages[s].results[0];
          id == result || id.value >= tensors)
        made.push_back(s);
    const Program part = part_of(gathered, made);
    microseconds = microseconds_of_part(part, machine, leaves_l2(part, machine));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Schedule) throw;
  }
  return microseconds;
}

// Whether going through all points for each value of an index is less work than sorting the points.
bool may_gather(const Program& program, size_t s, double points, const ScatterPoints& all,
                const GpuMachine& machine) {
  const LoweredGraph& graph = program.graph;
  const Stage& stage = graph.stages[s];
  if (!has_partial_results(stage.combiner.kind)) return false;
  const double values =
      points_over(graph.info(stage.results[0]).shape, compared_dimensions(graph, stage));
  const double terms = all.threads * all.steps;
  const double sorted =
      kLaunchesOfSort * machine.launch_microseconds +
      (points * kOperationsOfSort + terms * kOperationsOfTerm) / operations_of_microsecond(machine);
  const double compared =
      values * terms * kOperationsOfComparison / operations_of_microsecond(machine);
  return compared <= sorted &&
         (values <= kFewValues || microseconds_gathered(program, s, machine) <= sorted);
}

Program with_threads(Program program, size_t s, const GpuMachine& machine, Choices& choices) {
  const Stage& stage = program.graph.stages[s];
  const InvertedAxes axes = inverted_axes(program.graph, stage);
  const ScatterPoints all = scatter_points(program.graph, stage);
  const double enough = static_cast<double>(machine.multiprocessors) * machine.threads / 2;
  if (axes.rows.empty() || all.steps < kLeastSteps || all.threads >= enough || all.threads == 0 ||
      all.elements == 0)
    return program;
  const int64_t parts = private_parts(stage, all);
  const double points = points_over(stage.domain.extents, axes.points);
  const double rows = points_over(program.graph.info(stage.results[0]).shape, axes.rows);
  const bool has_numbers = points <= kMostInverted && rows <= kMostInverted;
  const bool may_invert = has_numbers && rows <= kMostRowsOfPoint * points;
  std::vector<std::string> options;
  const bool gathers = may_gather(program, s, points, all, machine);
  // Where a warp's threads write neighbours, arrays of their own are as good, and each point is
  // read once.
  const std::vector<int64_t>& shape = program.graph.info(stage.results[0]).shape;
  const bool private_first =
      parts >= 2 && shape.back() >= kWarpThreads && axes.rows.back() + 1 != shape.size();
  if (gathers && !private_first) options.emplace_back(kGathered);
  if (parts >= 2) options.push_back(std::to_string(parts) + " private arrays");
  if (gathers && private_first) options.emplace_back(kGathered);
  if (may_invert) options.emplace_back("inverted");
  options.emplace_back("points in turn");
  const std::string& taken =
      options[choices.pick(Decision::Invert, program.graph, stage, [&] { return options; })];
  const int64_t piece = piece_of(stage, points);
  if (taken == "inverted")
    return invert(std::move(program), s, chunk_of(points, rows, machine), piece);
  if (taken == kGathered) return scatter_to_gather(std::move(program), s);
  if (parts >= 2 && taken != "points in turn")
    return privatize_scatter(std::move(program), s, all.longest, parts);
  return program;
}

// The stage that computes what another one reads, if it is all of a kernel with all that it is.
std::optional<size_t> producer_alone(const Program& program, TensorId id) {
  const size_t s = defining_stages(program.graph)[id.value];
  return s != SIZE_MAX && is_alone(program, s) ? std::optional(s) : std::nullopt;
}

// The stages of a sort's pass (inversion.hpp) in three kernels: a block has the digits of a chunk
// at hand and counts them; then come the sums; a thread finds the rank of its point and places it.
class SortKernels {
 public:
  explicit SortKernels(Program program) : program_(std::move(program)) {}

  Program operator()() {
    std::vector<TensorId> orders;
    for (const Stage& stage : program_.graph.stages)
      if (program_.graph.distinct.contains(stage_key(stage))) orders.push_back(stage.results[0]);
    for (const TensorId order : orders) {
      const size_t s = defining_stages(program_.graph)[order.value];
      if (is_alone(program_, s)) place(s);
    }
    return std::move(program_);
  }

 private:
  void place(size_t order) {
    for (const TensorId id : tensors_read(program_.graph, program_.graph.stages[order])) {
      const std::optional<size_t> s = producer_alone(program_, id);
      if (!s) continue;
      const size_t loops = nest_of(program_, order).loops.size();
      if (running_of(program_.graph, program_.graph.stages[*s])) {
        count(*s);
      } else if (program_.graph.stages[*s].domain.reduction_rank() > 0 &&
                 !attachment(program_, *s, order, loops).refusal) {
        program_ = compute_at(std::move(program_), *s, order, loops);
      }
    }
  }

  // Chunks first, of which each has what is counted in it.
  void count(size_t starts) {
    const TensorId counts = tensors_read(program_.graph, program_.graph.stages[starts]).front();
    const std::optional<size_t> host = producer_alone(program_, counts);
    if (!host || nest_of(program_, *host).loops.size() != 3) return;
    const size_t chunks_first[] = {1, 0, 2};
    program_ = reorder(std::move(program_), *host, chunks_first);
    attach_producers_of(*host, *host);
  }

  void attach_producers_of(size_t reader, size_t host) {
    for (const TensorId id : tensors_read(program_.graph, program_.graph.stages[reader])) {
      const std::optional<size_t> s = producer_alone(program_, id);
      if (!s || attachment(program_, *s, host, 1).refusal) continue;
      program_ = compute_at(std::move(program_), *s, host, 1);
      attach_producers_of(*s, host);
    }
  }

  Program program_;
};

}  // namespace

Program invert_scatters(Program program, const GpuMachine& machine, Choices& choices) {
  // Those that there are now: what is inverted makes further ones.
  std::vector<TensorId> scatters;
  for (const Stage& stage : program.graph.stages)
    if (stage.kind == StageKind::Scatter) scatters.push_back(stage.results[0]);
  for (const TensorId id : scatters) {
    const size_t s = defining_stages(program.graph)[id.value];
    const Stage& stage = program.graph.stages[s];
    if (is_alone(program, s) && !program.graph.distinct.contains(stage_key(stage)) &&
        !segments_of(program.graph.pool, stage))
      program = with_threads(std::move(program), s, machine, choices);
  }
  return SortKernels(std::move(program))();
}

}  // namespace adjit::sched
