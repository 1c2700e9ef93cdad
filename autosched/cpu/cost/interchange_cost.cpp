// autosched/cpu/cost/interchange_cost.cpp -- a nest's accesses, walked by its loops in another
// order.
#include "autosched/cpu/cost/interchange_cost.hpp"

#include "autosched/cpu/cost/features.hpp"

namespace adjit::sched {
namespace {

template <typename T>
std::vector<T> in_order(const std::vector<T>& list, const std::vector<size_t>& order) {
  std::vector<T> result;
  result.reserve(order.size());
  for (size_t k : order) result.push_back(list[k]);
  return result;
}

}  // namespace

LoneNest::LoneNest(const Program& program, size_t kernel, const CpuMachine& machine)
    : placed_(placed_nests(program, program.kernels[kernel]).front()),
      nest_(program.kernels[kernel].root),
      machine_(beside_streams(machine)),
      bytes_(program_bytes(program, static_cast<double>(machine.l3_bytes))) {}

LoneNest LoneNest::with_split(size_t loop, int64_t trips) const {
  const auto at = static_cast<std::ptrdiff_t>(loop);
  LoneNest split = *this;
  Loop outer = nest_.loops[loop];
  outer.step *= trips;
  outer.trips = ceil_div(outer.trips, trips);
  split.nest_.loops[loop].trips = trips;
  split.nest_.loops.insert(split.nest_.loops.begin() + at, outer);
  for (Walk& walk : split.placed_.walks) {
    Stride far = walk.strides[loop];
    far.bytes *= static_cast<double>(trips);
    walk.strides.insert(walk.strides.begin() + at, far);
  }
  return split;
}

CacheCycles LoneNest::cycles(const std::vector<size_t>& order) const {
  Nest nest = nest_;
  nest.loops = in_order(nest.loops, order);
  PlacedNest placed = placed_;
  placed.nest = &nest;
  placed.path = nest.loops;
  for (Walk& walk : placed.walks) walk.strides = in_order(walk.strides, order);
  return cache_cycles(traffic({std::move(placed)}, machine_, bytes_).front(), machine_);
}

}  // namespace adjit::sched
