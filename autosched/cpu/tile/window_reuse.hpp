// autosched/cpu/tile/window_reuse.hpp -- what instances of a tile along results and along a
// reduction read together: a window's.
#pragma once

#include <optional>
#include <vector>

#include "autosched/cpu/tile/tile_setting.hpp"

namespace adjit::sched {

class WindowReuse {
 public:
  explicit WindowReuse(const TileSetting& setting) : t_(setting) {}

  /// What instances read of one operand, vectors (or elements): x(k + r) of 8 x 9 instances are 16.
  double distinct(const MemoryAccess& access, const std::vector<int64_t>& factors) const;
  /// The operand that they share most of, if any.
  const MemoryAccess* shared_read(const std::vector<int64_t>& factors) const;

 private:
  // What instances read together, of the factors that were last asked for.
  struct Sharing {
    std::vector<int64_t> factors;
    std::vector<double> distinct;  // per read
    const MemoryAccess* read = nullptr;
  };
  const Sharing& sharing(const std::vector<int64_t>& factors) const;

  const TileSetting& t_;
  mutable Sharing sharing_;
};

/// The result's axis, if any, along which instances read what others along this reduction axis do.
std::optional<size_t> window_along(const TileSetting& t, size_t axis);

/// Cycles that a step of instances that share a window waits for its lines: from L2, where other
/// channels come between two tiles that read it, or from memory, where it is walked in several
/// steps (a tile that takes it as a whole has the next tile's lines in sight). Measured on Zen 4: 3
/// x 3 windows of an image of 12 MB 1,080 us instead of 700.
double window_waits(const TileSetting& t, const WindowReuse& windows,
                    const std::vector<int64_t>& factors);

}  // namespace adjit::sched
