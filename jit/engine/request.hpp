// jit/engine/request.hpp -- which code is wanted of a computation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jit/emit/layout.hpp"
#include "jit/engine/computation.hpp"

namespace adjit::engine {

/// As a schedule: the one that is chosen where nothing was kept.
inline constexpr const char* kOwnSchedule = "heuristic";

struct Request {
  std::shared_ptr<const Computation> computation;
  std::vector<TensorLayout> layouts;  // per input
  std::string title;                  // for people
  std::string target = "cpu";         // or "cuda", "cuda:1" (jit/cuda/device.hpp)
  std::string schedule_json;          // "": what was kept (keep_schedule), else what is chosen
  double trace_ms = 0;                // for the records
  int64_t memory_budget = 0;          // bytes of workspace (memory_budget.hpp); 0: no bound
  /// For a GPU: arguments, numbered with the outputs behind the inputs, whose addresses only the
  /// size of their elements divides (alignment.hpp); ascending.
  std::vector<size_t> unaligned = {};
};

inline bool is_for_cpu(const Request& request) { return request.target == "cpu"; }

/// Whether it brings a schedule of its own.
inline bool is_scheduled(const Request& request) {
  return !request.schedule_json.empty() && request.schedule_json != kOwnSchedule;
}

inline const std::string& title_of(const Request& request) {
  return request.title.empty() ? request.computation->name() : request.title;
}

}  // namespace adjit::engine
