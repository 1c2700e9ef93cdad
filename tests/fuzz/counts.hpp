// tests/fuzz/counts.hpp -- what a run of many programs has seen.
#pragma once

#include <cstdint>
#include <string>

#include "tests/rooms.hpp"

namespace adjit::testing {

struct FuzzCounts {
  int64_t programs = 0, stages = 0, derivatives = 0;
  int64_t compiled = 0, on_gpu = 0, unusual = 0, scheduled = 0;  // computations
  int64_t judged = 0, unsure = 0;  // elements; unsure: rounding may make them anything
  // Derivatives that agree with differences, and that have none: at a kink of the function, or
  // where differences of all steps lie far apart.
  int64_t differences = 0, kinks = 0, unsettled = 0;
  double draw_s = 0, wide_s = 0, schedule_s = 0, literal_s = 0, compile_s = 0;
  double gpu_compile_s = 0, gpu_run_s = 0;
  // Schedules for GPUs: with blocks of threads, tiles of products, sorted or private scatters,
  // parts of sums and prefixes.
  int64_t blocks = 0, tiles = 0, sorted = 0, parts = 0;
  /// By its moves, as JSON.
  void note_gpu_schedule(const std::string& moves);
  std::string text() const;
};

}  // namespace adjit::testing
