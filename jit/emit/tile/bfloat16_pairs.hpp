// jit/emit/tile/bfloat16_pairs.hpp -- sums of products of bfloat16, two points of the reduction at
// a time: vdpbf16ps adds the products of a lane's two pairs to a float32.
//
// The products are exact and each sum is rounded, as by two multiply-adds, the second point's
// first; subnormal numbers count as zeros. A schedule brings the two points side by side in memory
// (autosched/cpu/passes/reductions/prepare.cpp); where a tile's instances are not so, they are
// multiplied and added as any others.
#pragma once

#include <cstddef>
#include <optional>

#include "jit/emit/tile/nest_context.hpp"

namespace adjit::emit {

class BFloat16PairEmitter {
 public:
  /// `nest` must outlive it.
  explicit BFloat16PairEmitter(NestContext& nest);

  /// Whether two instances of a tile may be a pair.
  bool any() const { return pair_loop_.has_value(); }
  /// Whether an instance and its neighbour are added at once: no constraint of `asked` has to be
  /// asked of either, and they are pairs in memory. Leaves the instance selected.
  bool in_pair(const TileInstance& instance, const Constraints& asked);
  /// Of a pair: it brings the second one with it.
  bool is_first(const TileInstance& instance) const;
  /// The sum and what the pair adds to it, at the point of its first instance.
  llvm::Value* add(const Point& point, llvm::Value* sum);

 private:
  bool asks(const TileInstance& instance, const Constraints& asked);
  bool are_neighbours(const TileInstance& instance);

  NestContext& nest_;
  std::optional<size_t> pair_loop_;  // into the unrolled loops: an axis' two neighbouring points
};

}  // namespace adjit::emit
