// jit/emit/shape/lane_windows.cpp -- covering the lanes' offsets by vectors, from the lowest on.
#include "jit/emit/shape/lane_windows.hpp"

#include <algorithm>
#include <numeric>

namespace adjit::emit {

LaneWindows::LaneWindows(std::span<const int64_t> offsets) : lanes_(offsets.size()) {
  std::vector<size_t> order(offsets.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t lane) { return offsets[lane]; });
  for (size_t k = 0; k < order.size(); ++k) {
    const int64_t offset = offsets[order[k]];
    // Distances are compared without overflow: offsets ascend.
    if (windows_.empty() ||
        static_cast<uint64_t>(offset) - static_cast<uint64_t>(windows_.back().start) >= lanes_)
      windows_.push_back({offset, 0, std::vector<int>(lanes_, -1)});
    Window& window = windows_.back();
    const auto element = static_cast<int>(offset - window.start);
    window.element[order[k]] = element;
    window.length = element + 1;
    shared_ |= k > 0 && offsets[order[k - 1]] == offset;
  }
}

// Sixteen lanes of 32 bits have shuffles of two sources: copies of 3 x 3 weights, eight windows a
// vector, take 0.8 ms where gathers take 1.1 (512 x 512 channels, Zen 4). The tile model and the
// cost model still price more than lanes / 4 windows as gathers.
bool LaneWindows::worthwhile() const {
  constexpr size_t kWide = 16, kWideWindows = 8;
  return windows_.size() <= (lanes_ >= kWide ? kWideWindows : std::max<size_t>(2, lanes_ / 4));
}

}  // namespace adjit::emit
