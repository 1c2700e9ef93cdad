// jit/engine/backends.hpp -- the machines of an engine, by the names of targets.
#pragma once

#include <string>
#include <utility>

#include "jit/engine/backend/cpu_backend.hpp"

namespace adjit::engine {

/// Any thread. Its backends live as long as it does.
class Backends {
 public:
  Backends(CpuTarget target, int threads, FloatMode mode)
      : cpu_(std::move(target), threads, mode) {}

  CpuBackend& cpu() { return cpu_; }
  /// "cpu", "cuda", "cuda:1". The first GPU initialises the process's driver. ErrorCode::Device
  /// where there is none of that name, and in a child that was forked since.
  Backend& named(const std::string& target);

 private:
  CpuBackend cpu_;
};

}  // namespace adjit::engine
