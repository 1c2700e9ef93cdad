// autosched/gpu/products/nearness.cpp -- how near to each other neighbours read.
#include "autosched/gpu/products/nearness.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "autosched/program/required_region.hpp"
#include "runtime/expr/integer.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

// The element of a read, counted from its tensor's first one, at a point of the read's domain.
int64_t element_at(const LoweredGraph& graph, TensorId tensor, const IndexMap& map,
                   std::vector<int64_t> point) {
  for (const Division& division : map.domain.divisions)
    point.push_back(floor_div(evaluate(division.numerator, point), division.divisor));
  const std::vector<int64_t>& shape = graph.info(tensor).shape;
  int64_t element = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    element = element * shape[d] + evaluate(*map.forms[d], point);
  return element;
}

constexpr int64_t kNearPoints = 16;  // at which nearness is looked at

// How near what a read finds lies to what it finds at the next point along an axis, at some points
// all over the stage: elements of a sector that both have. Fused axes are divided, so that some lie
// apart.
int64_t nearness_of_read(const LoweredGraph& graph, const Domain& domain, ExprId read,
                         size_t axis) {
  // Fractions that extents of powers of two, and of images, do not divide: 3/115, 10/115, ...
  constexpr int64_t kApart = 7, kParts = 115;
  const IndexMap map = index_map(graph.pool, graph.pool.read_index(read), domain);
  if (!map.is_affine()) return 0;
  const TensorId tensor = graph.pool.read_tensor(read);
  int64_t nearness = 0;
  for (int64_t k = 0; k < kNearPoints; ++k) {
    std::vector<int64_t> here;
    for (const int64_t extent : domain.extents)
      here.push_back(extent / kParts * (kApart * k + 3) +
                     extent % kParts * (kApart * k + 3) / kParts);
    std::vector<int64_t> next = here;
    if (++next[axis] >= domain.extents[axis]) continue;
    const int64_t apart =
        std::abs(element_at(graph, tensor, map, next) - element_at(graph, tensor, map, here));
    nearness += std::max<int64_t>(0, kSectorElements - apart);
  }
  return nearness;
}

}  // namespace

int64_t nearness_along(const LoweredGraph& graph, const Stage& stage, size_t axis) {
  int64_t nearness = 0;
  for (const ExprId read : reads_of(graph, stage))
    nearness += nearness_of_read(graph, stage.domain, read, axis);
  return nearness;
}

double sector_bytes_read(const LoweredGraph& graph, const Stage& stage) {
  size_t along = 0;
  int64_t nearest = -1;
  for (size_t axis = 0; axis < stage.domain.rank(); ++axis)
    if (const int64_t nearness = nearness_along(graph, stage, axis); nearness > nearest) {
      nearest = nearness;
      along = axis;
    }
  double bytes = 0;
  for (const ExprId read : reads_of(graph, stage)) {
    const auto near = static_cast<double>(nearness_of_read(graph, stage.domain, read, along));
    bytes += static_cast<double>(size_of(graph.pool.dtype(read))) *
             (kSectorElements - near / kNearPoints);
  }
  return bytes;
}

}  // namespace adjit::sched
