// jit/engine/backends.hpp -- the machines of an engine, by the names of targets.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "jit/engine/backend/cpu_backend.hpp"
#include "jit/engine/backend/cuda_backend.hpp"

namespace adjit::engine {

/// Any thread. Its backends live as long as it does.
class Backends {
 public:
  Backends(CpuTarget target, int threads, FloatMode mode)
      : cpu_(std::move(target), threads, mode), mode_(mode) {}

  CpuBackend& cpu() { return cpu_; }
  /// "cpu", "cuda", "cuda:1". The first GPU initialises the process's driver. ErrorCode::Device
  /// where there is none of that name, and in a child that was forked since.
  Backend& named(const std::string& target);
  /// The ordinals of the GPUs that were asked for.
  std::vector<int> devices();

 private:
  CpuBackend cpu_;
  const FloatMode mode_;
  std::mutex mutex_;  // of what follows, held while a GPU is looked up
  std::map<std::string, std::shared_ptr<CudaBackend>> gpus_;  // by the names that were asked for
  std::map<int, std::shared_ptr<CudaBackend>> by_ordinal_;
};

}  // namespace adjit::engine
