// autosched/analysis/access.cpp -- how a stage's reads and results move through memory.
#include "autosched/analysis/access.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "autosched/analysis/work.hpp"
#include "autosched/program/required_region.hpp"

namespace adjit::sched {
namespace {

void mark_data(const ExprPool& pool, ExprId index, std::vector<bool>& marks) {
  const ExprId roots[] = {index};
  for (ExprId id : reachable(pool, roots))
    if (pool.is(id, Op::Axis)) marks[pool.axis_number(id)] = true;
}

MemoryAccess access_of(const LoweredGraph& graph, ExprId read, const IndexMap& map) {
  const ExprPool& pool = graph.pool;
  MemoryAccess access;
  access.tensor = pool.read_tensor(read);
  access.read = read;
  const Domain& domain = map.domain;
  access.strides.assign(domain.rank(), 0);
  access.irregular.assign(domain.rank(), false);
  access.by_data.assign(domain.rank(), false);
  access.guarded = pool.read_predicate(read).valid();
  access.elements = static_cast<double>(graph.info(access.tensor).element_count());
  const std::span<const ExprId> index = pool.read_index(read);
  for (size_t d = 0; d < index.size(); ++d) {
    if (map.forms[d]) continue;
    mark_data(pool, index[d], access.irregular);
    mark_data(pool, index[d], access.by_data);
  }
  // Divisions of several indices may cancel each other, as in a reshaped tensor's.
  const Affine address = address_of(map, strides_of(graph, access.tensor));
  access.offset = address.constant();
  for (size_t v = 0; v < address.size(); ++v) {
    if (v < domain.rank()) {
      access.strides[v] = address.coefficient(v);
    } else if (address.coefficient(v) != 0) {
      domain.mark_axes(domain.divisions[v - domain.rank()].numerator, access.irregular);
    }
  }
  return access;
}

}  // namespace

Accesses accesses_of(const LoweredGraph& graph, const Stage& stage) {
  Accesses accesses;
  Domain domain = stage.domain;  // with the divisions of all reads
  for (ExprId read : reads_of(graph, stage)) {
    IndexMap map = index_map(graph.pool, graph.pool.read_index(read), std::move(domain));
    accesses.reads.push_back(access_of(graph, read, map));
    domain = std::move(map.domain);
  }
  accesses.result.tensor = stage.results.front();
  accesses.result.strides = strides_of(graph, stage.results.front());
  accesses.result.strides.resize(stage.domain.rank(), 0);
  accesses.result.irregular.assign(stage.domain.rank(), false);
  accesses.result.by_data.assign(stage.domain.rank(), false);
  accesses.result.elements =
      static_cast<double>(graph.info(accesses.result.tensor).element_count());
  return accesses;
}

bool reads_by_data(const LoweredGraph& graph, const Stage& stage) {
  const ExprPool& pool = graph.pool;
  return std::ranges::any_of(reads_of(graph, stage), [&](ExprId read) {
    const std::vector<ExprId> within = reachable(pool, pool.read_index(read));
    return std::ranges::any_of(within, [&](ExprId id) { return pool.is(id, Op::Read); });
  });
}

Affine address_of(const IndexMap& map, std::span<const int64_t> strides) {
  Affine address;
  for (size_t d = 0; d < map.forms.size(); ++d) {
    if (!map.forms[d]) continue;
    // Term by term: searches ask very often, and a product of a form would be allocated.
    const Affine& form = *map.forms[d];
    for (size_t k = 0; k < form.size(); ++k)
      if (const int64_t c = form.coefficient(k); c != 0)
        address.set_coefficient(k, checked_add(address.coefficient(k), checked_mul(c, strides[d])));
    address += checked_mul(form.constant(), strides[d]);
  }
  return address;
}

Affine row_major_address(const IndexMap& map, const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * std::max<int64_t>(shape[d], 1);
  return address_of(map, strides);
}

double elements_touched(const MemoryAccess& access, const Domain& domain) {
  double elements = 1;
  for (size_t axis = 0; axis < domain.rank(); ++axis)
    if (access.depends_on(axis))
      elements *= static_cast<double>(std::max<int64_t>(domain.extents[axis], 1));
  return std::min(elements, std::max(access.elements, 1.0));
}

double distinct_reads(const MemoryAccess& access, const std::vector<int64_t>& instances,
                      size_t output_rank, std::optional<size_t> lanes_axis) {
  double all = 1;
  bool outputs = false, reductions = false;
  for (size_t a = 0; a < instances.size(); ++a) {
    if (!access.depends_on(a)) continue;
    all *= static_cast<double>(instances[a]);
    if (instances[a] > 1 && lanes_axis != a && !access.irregular[a])
      (a < output_rank ? outputs : reductions) = true;
  }
  constexpr double kMost = 1 << 12;  // instances that a tile can have, by far
  if (!outputs || !reductions || all > kMost) return all;
  double apart = 1;  // along the lanes, and where data or divisions decide
  struct Walk {
    int64_t stride, count;
  };
  std::vector<Walk> walks;  // axes of one stride are one walk: their steps add up
  for (size_t a = 0; a < instances.size(); ++a) {
    if (!access.depends_on(a) || instances[a] < 2) continue;
    const int64_t stride = std::abs(access.strides[a]);
    if (lanes_axis == a || access.irregular[a]) {
      apart *= static_cast<double>(instances[a]);
    } else if (const auto same = std::ranges::find(walks, stride, &Walk::stride);
               same != walks.end()) {
      same->count += instances[a] - 1;
    } else {
      walks.push_back({stride, instances[a]});
    }
  }
  std::ranges::sort(walks, {}, &Walk::stride);
  if (walks.size() == 2) {  // runs of the finer one, a step of the other apart
    const Walk &fine = walks[0], &coarse = walks[1];
    if (coarse.stride % fine.stride == 0)
      return apart * static_cast<double>(fine.count +
                                         (coarse.count - 1) *
                                             std::min(coarse.stride / fine.stride, fine.count));
  }
  int64_t reach = 0;  // of the finer walks together
  double places_apart = 1;
  const bool no_two_meet = std::ranges::all_of(walks, [&](const Walk& walk) {
    const bool beyond = walk.stride > reach;
    reach += walk.stride * (walk.count - 1);
    places_apart *= static_cast<double>(walk.count);
    return beyond;
  });
  if (no_two_meet) return apart * places_apart;
  std::vector<int64_t> places{0};
  for (const Walk& walk : walks) {
    const size_t so_far = places.size();
    for (int64_t k = 1; k < walk.count; ++k)
      for (size_t p = 0; p < so_far; ++p) places.push_back(places[p] + k * walk.stride);
    std::ranges::sort(places);
    places.erase(std::ranges::unique(places).begin(), places.end());
  }
  return apart * static_cast<double>(places.size());
}

}  // namespace adjit::sched
