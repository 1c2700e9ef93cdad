// jit/engine/report/stopwatch.hpp -- wall-clock milliseconds.
#pragma once

#include <chrono>

#include "runtime/process/rooms.hpp"

namespace adjit::engine {

class Stopwatch {
 public:
  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace adjit::engine
