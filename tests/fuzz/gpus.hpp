// tests/fuzz/gpus.hpp -- GPUs that programs take turns with, which the fake driver shows and runs.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "jit/engine/engine.hpp"
#include "tests/fake_cuda/fake_cuda.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// A machine of each: as large as an H100, so that every thread has little to do; small ones, on
/// which blocks have many rows and threads many results, also in programs of a few hundred points;
/// little shared memory, in which rows and tiles find no room. Subnormal numbers are kept on some.
class FuzzGpus {
 public:
  FuzzGpus();

  /// Whether kernels run at all: not in builds with sanitizers.
  bool run() const { return fake_.runs_kernels(); }
  Engine& of(uint64_t seed);
  static constexpr size_t kCount = 6;

  /// What kernels have done that may not be done, a line each; "" most often. The driver refuses
  /// all calls after it: what follows runs on GPUs made anew.
  std::string faults();

 private:
  void begin();

  tests::FakeCuda fake_;
  std::array<std::unique_ptr<Engine>, kCount> engines_;
};

}  // namespace adjit::testing
