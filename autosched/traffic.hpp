// autosched/traffic.hpp -- cache lines that enter each cache while a kernel runs.
//
// For each nest and each cache: the outermost loop whose one iteration works on no more than the
// cache holds. What an access touches in one trip of the loop around it is fetched once, since the
// next trip still finds what both use; further out everything has been displaced.
#pragma once

#include <array>
#include <vector>

#include "autosched/footprint.hpp"
#include "autosched/target.hpp"

namespace adjit {

inline constexpr size_t kCaches = 3;  // L1, L2, L3

/// Lines that enter a cache, fetched or written back by stores.
struct Traffic {
  std::array<double, kCaches> streamed{};   // all
  std::array<double, kCaches> scattered{};  // those of them that nothing foresees
};

/// Per nest, in one run of the kernel by one core. What fits into a cache together with everything
/// else of the program (`program_bytes`) is there from before.
std::vector<Traffic> traffic(const std::vector<PlacedNest>& nests, const Target& target,
                             double program_bytes);

}  // namespace adjit
