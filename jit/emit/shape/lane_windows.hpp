// jit/emit/shape/lane_windows.hpp -- reads at constant distances as few loads of whole vectors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/process/rooms.hpp"

namespace adjit::emit {

/// Vectors of memory that together hold what all lanes read. Example: 4 lanes at 0, 2, 4, 6 take
/// elements 0 and 2 of the window at 0 and elements 0 and 2 of the window at 4.
class LaneWindows {
 public:
  struct Window {
    int64_t start = 0;         // elements from where lane offsets count
    int length = 0;            // elements up to the last one that a lane wants
    std::vector<int> element;  // per lane: the element that it takes, or -1
  };

  /// `offsets`: per lane, in elements.
  explicit LaneWindows(std::span<const int64_t> offsets);

  const std::vector<Window>& windows() const { return windows_; }
  /// Whether some lanes take the same element.
  bool shared() const { return shared_; }
  /// Whether that is faster than a gather: a load and a shuffle each, for up to a quarter as many
  /// windows as lanes; half as many where there are 16 lanes.
  bool worthwhile() const;

 private:
  std::vector<Window> windows_;  // by start
  size_t lanes_;
  bool shared_ = false;
};

}  // namespace adjit::emit
