// jit/engine/plan/workspace.cpp -- greedy placement of buffers by size.
#include "jit/engine/plan/workspace.hpp"

#include <algorithm>
#include <numeric>

#include "runtime/expr/integer.hpp"

namespace adjit::engine {
namespace {

struct Placed {
  int64_t begin, end;
};

// The offset of the smallest gap between `neighbours` (ascending) that holds `bytes`, or after them
// all.
int64_t best_gap(const std::vector<Placed>& neighbours, int64_t bytes) {
  int64_t best = -1, best_size = 0, end = 0;
  for (const Placed& p : neighbours) {
    const int64_t gap = p.begin - end;
    if (gap >= bytes && (best < 0 || gap < best_size)) {
      best = end;
      best_size = gap;
    }
    end = std::max(end, p.end);
  }
  return best < 0 ? end : best;
}

}  // namespace

WorkspacePlan plan_workspace(std::span<const Lifetime> lifetimes, int64_t alignment) {
  WorkspacePlan plan;
  plan.offsets.assign(lifetimes.size(), 0);
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(
      order, [&](size_t a, size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  std::vector<size_t> placed;
  for (size_t k : order) {
    const Lifetime& life = lifetimes[k];
    std::vector<Placed> neighbours;
    for (size_t other : placed)
      if (lifetimes[other].first <= life.last && life.first <= lifetimes[other].last)
        neighbours.push_back({plan.offsets[other],
                              plan.offsets[other] + aligned(lifetimes[other].bytes, alignment)});
    std::ranges::sort(neighbours, {}, &Placed::begin);
    const int64_t bytes = aligned(life.bytes, alignment);
    plan.offsets[k] = best_gap(neighbours, bytes);
    plan.bytes = std::max(plan.bytes, checked_add(plan.offsets[k], bytes));
    placed.push_back(k);
  }
  return plan;
}

WorkspaceBlock allocate_block(int64_t bytes) {
  if (bytes == 0) return nullptr;
  WorkspaceBlock block(static_cast<std::byte*>(std::aligned_alloc(
      kWorkspaceAlignment, static_cast<size_t>(aligned(bytes, kWorkspaceAlignment)))));
  if (!block)
    throw Error(ErrorCode::Memory, "a workspace of " + std::to_string(bytes) +
                                       " bytes cannot be allocated; use smaller batches");
  return block;
}

}  // namespace adjit::engine
