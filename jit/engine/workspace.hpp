// jit/engine/workspace.hpp -- where intermediate tensors lie in one block of memory, by liveness.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace adjit {

/// A buffer that is alive from step `first` to step `last`, both included.
struct Lifetime {
  int64_t bytes = 0;
  size_t first = 0;
  size_t last = 0;
};

struct WorkspacePlan {
  std::vector<int64_t> offsets;  // per buffer, multiples of kWorkspaceAlignment
  int64_t bytes = 0;             // of the whole block
};
inline constexpr int64_t kWorkspaceAlignment = 64;

/// Buffers whose lifetimes overlap never share a byte. Greedy by size (Pisarchyk and Lee, 2020):
/// the largest buffer first, each into the smallest gap that holds it between those placed already
/// and alive at the same time.
WorkspacePlan plan_workspace(std::span<const Lifetime> lifetimes);

}  // namespace adjit
