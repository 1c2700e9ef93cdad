// tests/fuzz/counts.cpp -- what a run of many programs has seen, in words.
#include "tests/fuzz/counts.hpp"

#include <algorithm>
#include <cstdio>

namespace adjit::testing {

void FuzzCounts::note_gpu_schedule(const std::string& moves) {
  const auto has = [&](const char* move) {
    return moves.find("\"" + std::string(move) + "\"") != std::string::npos;
  };
  blocks += has("threads");
  tiles += has("pipeline");
  sorted += has("invert") || has("privatize_scatter") || has("scatter_to_gather");
  parts += has("rfactor") || has("split_running");
}

std::string FuzzCounts::text() const {
  const auto n = [](int64_t count) { return static_cast<long long>(count); };
  char text[800];
  std::snprintf(
      text, sizeof text,
      "%lld programs of %.1f stages, %lld with derivatives; %lld computations compiled, %lld of "
      "them for a GPU, %lld of unusual numbers (schedules for GPUs: %lld with blocks, %lld with "
      "tiles, "
      "%lld with sorted, private or gathered scatters, %lld with parts), %lld "
      "scheduled and run literally; %lld elements judged, %lld unsure; %lld differences, "
      "left out %lld at kinks and %lld that do not settle; seconds: drawing %.1f, "
      "wide %.1f, "
      "scheduling %.1f, "
      "literally %.1f, compiling %.1f, for GPUs %.1f, running on them %.1f",
      n(programs),
      static_cast<double>(stages) / static_cast<double>(std::max<int64_t>(programs, 1)),
      n(derivatives), n(compiled), n(on_gpu), n(unusual), n(blocks), n(tiles), n(sorted), n(parts),
      n(scheduled), n(judged), n(unsure), n(differences), n(kinks), n(unsettled), draw_s, wide_s,
      schedule_s, literal_s, compile_s, gpu_compile_s, gpu_run_s);
  return text;
}

}  // namespace adjit::testing
