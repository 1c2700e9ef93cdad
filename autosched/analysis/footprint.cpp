// autosched/analysis/footprint.cpp -- how the accesses of a kernel move through memory.
#include "autosched/analysis/footprint.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <unordered_map>

#include "autosched/analysis/work.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/program/points.hpp"
#include "autosched/program/segment_loop.hpp"

namespace adjit::sched {
namespace {

double region_bytes(const Program& program, const Nest& producer, TensorId id) {
  double bytes = static_cast<double>(size_of(program.graph.info(id).dtype));
  const size_t rank = program.graph.stages[producer.stage].domain.output_rank;
  for (size_t a = 0; a < rank; ++a)
    bytes *= static_cast<double>(std::max<int64_t>(producer.spans[a], 1));
  return bytes;
}

// The position of an access in its (row-major) tensor, at points of the stage's axes.
class Position {
 public:
  Position(const Graph& graph, const Stage& stage, const MemoryAccess& access) : access_(access) {
    divided_ =
        access.read.valid() && std::ranges::find(access.irregular, true) != access.irregular.end();
    if (!divided_) return;
    IndexMap map = index_map(graph.pool, graph.pool.read_index(access.read), stage.domain);
    form_ = row_major_address(map, graph.info(access.tensor).shape);
    domain_ = std::move(map.domain);
    divided_ = is_countable();
  }

  /// What data adds is left out.
  int64_t operator()(std::span<const int64_t> axes) const {
    if (divided_) return evaluate(form_, domain_.variables_at(axes));
    int64_t position = 0;
    for (size_t a = 0; a < axes.size(); ++a) position += access_.strides[a] * axes[a];
    return position;
  }

 private:
  bool is_countable() const {
    return fits_in_code(domain_, form_) &&
           std::ranges::all_of(domain_.divisions, [&](const Division& division) {
             return fits_in_code(domain_, division.numerator);
           });
  }

  const MemoryAccess& access_;
  Domain domain_;  // the stage's, with the divisions of the index
  Affine form_;    // over the axes and divisions
  bool divided_ = false;
};

// How far the position moves when one trip adds `move` to the axes: looked at in the first trips,
// in the middle and at the end.
Stride stride_along(const Position& position, const std::vector<int64_t>& origin,
                    std::span<const int64_t> move, int64_t trips) {
  Stride stride;
  const auto at = [&](int64_t trip) {
    std::vector<int64_t> axes = origin;
    for (size_t a = 0; a < axes.size(); ++a) axes[a] += trip * move[a];
    return position(axes);
  };
  if (trips < 2) return stride;
  const int64_t start = at(0), step = at(1) - start;
  int64_t reach = std::abs(step);
  for (int64_t trip : {int64_t{2}, int64_t{3}, trips / 2, trips - 1}) {
    if (trip >= trips) continue;
    const int64_t distance = at(trip) - start;
    stride.even = stride.even && distance == trip * step;
    reach = std::max(reach, std::abs(distance));
  }
  stride.bytes = stride.even ? static_cast<double>(step)
                             : static_cast<double>(reach) / static_cast<double>(trips - 1);
  return stride;
}

// Where a scatter writes: some of its axes move it by data.
MemoryAccess scatter_result(const Graph& graph, const Stage& stage, MemoryAccess result) {
  const IndexMap map = index_map(graph.pool, stage.target, stage.domain);
  const Affine address = row_major_address(map, graph.info(result.tensor).shape);
  for (size_t a = 0; a < stage.domain.rank(); ++a) result.strides[a] = address.coefficient(a);
  for (size_t d = 0; d < stage.target.size(); ++d) {
    if (map.forms[d]) continue;
    const ExprId roots[] = {stage.target[d]};
    for (ExprId id : reachable(graph.pool, roots))
      if (graph.pool.is(id, Op::Axis)) result.by_data[graph.pool.axis_number(id)] = true;
  }
  return result;
}

// Which places the dimensions hold that data indexes.
void add_places_of_data(Walk& walk, const Graph& graph, const Stage& stage,
                        std::span<const ExprId> index) {
  const IndexMap map = index_map(graph.pool, index, stage.domain);
  const TensorInfo& info = graph.info(walk.tensor);
  double stride = walk.element_bytes;
  for (size_t d = index.size(); d-- > 0; stride *= static_cast<double>(info.shape[d])) {
    if (map.forms[d]) continue;
    if (walk.data_apart == 0) walk.data_apart = stride;
    walk.data_places *= static_cast<double>(info.shape[d]);
  }
}

class Placer {
 public:
  Placer(const Program& program, const Kernel& kernel) : program_(program), kernel_(kernel) {}

  std::vector<PlacedNest> operator()() {
    add(kernel_.root, SIZE_MAX, 0);
    for (const PlacedNest& placed : nests_)
      for (TensorId id : program_.graph.stages[placed.nest->stage].results)
        region_bytes_[id.value] = region_bytes(program_, *placed.nest, id);
    for (PlacedNest& placed : nests_) add_walks(placed);
    return std::move(nests_);
  }

 private:
  // Recursive over nests attached to nests, which are few levels.
  void add(const Nest& nest, size_t host, size_t depth) {
    const size_t number = nests_.size();
    PlacedNest& placed = nests_.emplace_back();
    placed.nest = &nest;
    placed.host = host;
    if (host != SIZE_MAX) {
      const PlacedNest& around = nests_[host];
      const auto end = around.path.begin() + static_cast<std::ptrdiff_t>(around.first + depth);
      placed.path.assign(around.path.begin(), end);
      placed.runs = around.runs * iterations(*around.nest, depth);
    }
    placed.first = placed.path.size();
    placed.path.insert(placed.path.end(), nest.loops.begin(), nest.loops.end());
    shorten_segments(placed);
    for (const Nest::Attached& attached : nest.attached) add(attached.nest, number, attached.depth);
    nests_[number].end = nests_.size();
  }

  // A loop over a segment has as many trips as segments have points on average, at least one.
  void shorten_segments(PlacedNest& placed) const {
    const Stage& stage = program_.graph.stages[placed.nest->stage];
    const std::optional<Segments> segments = segments_of(program_.graph.pool, stage);
    if (!segments) return;
    const std::optional<size_t> over = segment_loop(program_.graph, *placed.nest, *segments);
    if (!over) return;
    const double length = mean_length(program_.graph.pool, stage, *segments);
    Loop& loop = placed.path[placed.first + *over];
    loop.trips = std::min(loop.trips, static_cast<int64_t>(std::ceil(length)));
  }

  void add_walks(PlacedNest& placed) const {
    const Stage& stage = program_.graph.stages[placed.nest->stage];
    const Accesses accesses = accesses_of(program_.graph, stage);
    for (const MemoryAccess& access : accesses.reads) {
      placed.walks.push_back(walk(placed, access));
      add_places_of_data(placed.walks.back(), program_.graph, stage,
                         program_.graph.pool.read_index(access.read));
    }
    MemoryAccess result = accesses.result;
    if (stage.kind == StageKind::Scatter)  // to where the data says
      result = scatter_result(program_.graph, stage, std::move(result));
    for (TensorId id : stage.results) {
      result.tensor = id;
      placed.walks.push_back(walk(placed, result));
      placed.walks.back().store = true;
      add_places_of_data(placed.walks.back(), program_.graph, stage, stage.target);
    }
  }

  Walk walk(const PlacedNest& placed, const MemoryAccess& access) const {
    Walk walk;
    walk.tensor = access.tensor;
    walk.element_bytes = static_cast<double>(size_of(program_.graph.info(access.tensor).dtype));
    walk.local = program_.scopes[access.tensor.value] == Scope::Local;
    walk.most_bytes = access.elements * walk.element_bytes;
    if (walk.local) walk.most_bytes = region_bytes_.at(access.tensor.value);
    const Position position(program_.graph, program_.graph.stages[placed.nest->stage], access);
    std::vector<int64_t> origin;
    for (const Affine& base : placed.nest->axis_base)
      origin.push_back(std::max<int64_t>(base.constant(), 0));
    walk.offset = static_cast<double>(access.offset) * walk.element_bytes;
    for (size_t l = 0; l < placed.path.size(); ++l) {
      const bool fixed = walk.local && l < placed.first;  // the buffer moves with its nest
      walk.strides.push_back(fixed ? Stride{} : stride_of(placed, access, position, origin, l));
    }
    for (Stride& stride : walk.strides) stride.bytes *= walk.element_bytes;
    return walk;
  }

  // In elements.
  static Stride stride_of(const PlacedNest& placed, const MemoryAccess& access,
                          const Position& position, const std::vector<int64_t>& origin, size_t l) {
    const Loop& loop = placed.path[l];
    std::vector<int64_t> move(origin.size(), 0);
    if (l >= placed.first) {
      move[loop.axis] = loop.step;
    } else {
      for (size_t a = 0; a < move.size(); ++a)
        move[a] = loop.step * placed.nest->axis_base[a].coefficient(loop.variable);
    }
    Stride stride = stride_along(position, origin, move, loop.trips);
    for (size_t a = 0; a < move.size(); ++a)
      stride.data = stride.data || (move[a] != 0 && access.by_data[a]);
    return stride;
  }

  const Program& program_;
  const Kernel& kernel_;
  std::vector<PlacedNest> nests_;
  std::unordered_map<uint32_t, double> region_bytes_;
};

}  // namespace

double data_pieces(const Walk& walk, double piece) {
  return std::max(1.0, walk.data_places * std::min(1.0, walk.data_apart / piece));
}

std::vector<PlacedNest> placed_nests(const Program& program, const Kernel& kernel) {
  return Placer(program, kernel)();
}

double iterations(const Nest& nest, size_t depth) {
  double count = 1;
  for (size_t a = 0; a < nest.spans.size(); ++a) {
    int64_t step = 0;
    for (size_t l = 0; l < depth; ++l)
      if (nest.loops[l].axis == a)
        step = nest.loops[l].kind == LoopKind::Vector ? nest.loops[l].trips : nest.loops[l].step;
    if (step > 0) count *= static_cast<double>(ceil_div(nest.spans[a], step));
  }
  return count;
}

Rows rows_touched(std::span<std::pair<double, double>> loops, double element_bytes, double piece) {
  // From the shortest strides to the longest.
  std::ranges::sort(loops);
  Rows rows{element_bytes, 1, 0};
  double count = 1;
  for (const auto& [bytes, trips] : loops) {
    if (rows.apart == 0 && bytes <= std::max(rows.extent, piece)) {
      rows.extent += bytes * (trips - 1);
    } else if (bytes <= rows.apart * count) {
      count += bytes / rows.apart * (trips - 1);
    } else {
      rows.count *= count;
      rows.apart = bytes;
      count = trips;
    }
  }
  rows.count *= count;
  return rows;
}

Lines lines_touched(const Walk& walk, const std::vector<Loop>& path, size_t from) {
  constexpr auto kPage = static_cast<double>(kPageBytes);
  constexpr size_t kFew = 24;  // loops, for which nothing is allocated: searches ask very often
  std::array<std::pair<double, double>, kFew> few;
  std::vector<std::pair<double, double>> many(path.size() > kFew ? path.size() : 0);
  std::pair<double, double>* const steps = many.empty() ? few.data() : many.data();
  size_t count_of_steps = 0;
  double places = 1;
  for (size_t l = from; l < path.size(); ++l) {
    const Stride& stride = walk.strides[l];
    const auto trips = static_cast<double>(path[l].trips);
    if (stride.data) {
      places *= trips;
    } else if (stride.bytes != 0) {
      steps[count_of_steps++] = {std::abs(stride.bytes), trips};
    }
  }
  places = std::min(places, data_pieces(walk, kLineBytes));
  const Rows rows = rows_touched({steps, count_of_steps}, walk.element_bytes, kLineBytes);
  const bool unforeseen =
      places > 1 ||
      (rows.apart >= kPage && rows.extent < static_cast<double>(thresholds().stream_row_bytes));
  const double most = std::max(1.0, walk.most_bytes / kLineBytes);
  const double each = rows.count * std::max(1.0, rows.extent / kLineBytes);
  return {std::min(places * each, most), unforeseen ? std::min(places * rows.count, most) : 0};
}

}  // namespace adjit::sched
