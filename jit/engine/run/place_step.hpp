// jit/engine/run/place_step.hpp -- where a step of a scan finds its slices and carries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "jit/engine/plan/plan.hpp"

namespace adjit::engine {

/// Of step number n, by set(buffer, address). `addresses`: of all buffers, in any memory.
template <typename Set>
void place_step(std::span<void* const> addresses, std::byte* workspace, const ScanPlan& scan,
                int64_t n, Set&& set) {
  const int64_t t = scan.reverse ? scan.trips - 1 - n : n;
  for (const ScanPlan::Slice& s : scan.slices)
    set(s.buffer, static_cast<std::byte*>(addresses[s.of]) + t * s.bytes);
  for (const ScanPlan::Carry& c : scan.carries) {
    set(c.in, n == 0 ? addresses[c.start] : workspace + c.spares[(n - 1) % 2]);
    set(c.out, n + 1 == scan.trips ? addresses[c.final] : workspace + c.spares[n % 2]);
  }
}

}  // namespace adjit::engine
