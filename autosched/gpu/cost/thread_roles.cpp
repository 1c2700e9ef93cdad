// autosched/gpu/cost/thread_roles.cpp -- which iterations of a kernel's loops run side by side.
#include "autosched/gpu/cost/thread_roles.hpp"

#include <algorithm>

#include "autosched/machine/gpu_machine.hpp"

namespace adjit::sched {
namespace {

// Threads that have no place in a warp or a block yet.
struct Room {
  int64_t warp = kWarpThreads;
  int64_t block = 0;  // warps
};

// A loop whose iterations are threads, from the inside out: as many as the warp has room for, then
// the block, then the grid.
void place(std::vector<RoleOfLoop>& reversed, size_t l, int64_t trips, Room& room) {
  double apart = 1;
  const auto take = [&](Role role, int64_t& left) {
    const int64_t taken = std::min(trips, left);
    if (taken < 2) return;
    reversed.push_back({l, role, static_cast<double>(taken), apart});
    apart *= static_cast<double>(taken);
    trips = (trips + taken - 1) / taken;
    left /= taken;
  };
  take(Role::Warp, room.warp);
  if (room.warp < 2) take(Role::Block, room.block);
  if (trips > 1) reversed.push_back({l, Role::Grid, static_cast<double>(trips), apart});
}

}  // namespace

std::vector<RoleOfLoop> roles_of(const std::vector<Loop>& path, bool is_block_kernel) {
  std::vector<RoleOfLoop> reversed;
  Room room;
  room.block = is_block_kernel ? INT64_MAX : kFlatBlockThreads / kWarpThreads;
  for (size_t l = path.size(); l-- > 0;) {
    const auto trips = static_cast<double>(path[l].trips);
    switch (path[l].kind) {
      case LoopKind::Parallel:
        if (is_block_kernel)
          reversed.push_back({l, Role::Grid, trips, 1});
        else
          place(reversed, l, path[l].trips, room);
        break;
      case LoopKind::Thread: place(reversed, l, path[l].trips, room); break;
      case LoopKind::Vector: reversed.push_back({l, Role::Lane, trips, 1}); break;
      case LoopKind::Serial:
      case LoopKind::Unrolled: reversed.push_back({l, Role::Step, trips, 1}); break;
    }
  }
  std::ranges::reverse(reversed);
  return reversed;
}

}  // namespace adjit::sched
