// jit/emit/shape/instance_number.hpp -- numbers of the instances that a tile unrolls: the trip of
// each unrolled loop, a byte each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/process/rooms.hpp"

namespace adjit::emit {

inline constexpr size_t kMaxUnrolledLoops = 8;
inline constexpr int64_t kMaxUnrolledTrips = 255;  // of one of them

/// The bits of an instance's number that hold a loop's trip.
constexpr uint64_t trip_bits(size_t loop) { return uint64_t{0xff} << (8 * loop); }

constexpr int64_t trip_of(uint64_t instance, size_t loop) {
  return static_cast<int64_t>(instance >> (8 * loop) & 0xff);
}

/// The instance at another trip of a loop.
constexpr uint64_t with_trip(uint64_t instance, size_t loop, int64_t trip) {
  return (instance & ~trip_bits(loop)) | static_cast<uint64_t>(trip) << (8 * loop);
}

}  // namespace adjit::emit
