// jit/engine/plan/workspace.hpp -- where intermediate tensors lie in one block of memory, by
// liveness.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "runtime/expr/integer.hpp"

namespace adjit::engine {

/// A buffer that is alive from step `first` to step `last`, both included.
struct Lifetime {
  int64_t bytes = 0;
  size_t first = 0;
  size_t last = 0;
};

struct WorkspacePlan {
  std::vector<int64_t> offsets;  // per buffer, multiples of the alignment
  int64_t bytes = 0;             // of the whole block
};
/// Of a processor's blocks (alignment_of(Target) says it of all machines').
inline constexpr int64_t kWorkspaceAlignment = 64;
/// The next multiple of the alignment.
inline int64_t aligned(int64_t bytes, int64_t alignment) {
  return ceil_div(bytes, alignment) * alignment;
}

/// Buffers whose lifetimes overlap never share a byte. Greedy by size (Pisarchyk and Lee, 2020):
/// the largest buffer first, each into the smallest gap that holds it between those placed already
/// and alive at the same time.
WorkspacePlan plan_workspace(std::span<const Lifetime> lifetimes, int64_t alignment);

struct FreeBlock {
  void operator()(std::byte* block) const { std::free(block); }
};
using WorkspaceBlock = std::unique_ptr<std::byte, FreeBlock>;

/// Memory of the process, aligned to kWorkspaceAlignment, with unspecified contents; null for 0
/// bytes. ErrorCode::Memory when there is none.
WorkspaceBlock allocate_block(int64_t bytes);

}  // namespace adjit::engine
