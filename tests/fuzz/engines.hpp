// tests/fuzz/engines.hpp -- the machines that programs take turns with.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "jit/engine/engine.hpp"
#include "tests/fuzz/gpus.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// Engines that programs take turns with: threads, instruction sets, subnormal numbers.
class FuzzEngines {
 public:
  FuzzEngines();
  Engine& of(uint64_t seed) { return *engines_[seed % engines_.size()]; }
  /// Null where none run.
  FuzzGpus* gpus() { return gpus_.get(); }

 private:
  std::unique_ptr<FuzzGpus> gpus_;
  std::vector<std::unique_ptr<Engine>> engines_;
};

}  // namespace adjit::testing
