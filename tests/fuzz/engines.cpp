// tests/fuzz/engines.cpp -- the machines that programs take turns with.
#include "tests/fuzz/engines.hpp"

#include "tests/jit/engine/run_compiled.hpp"

namespace adjit::testing {

FuzzEngines::FuzzEngines() {
  auto gpus = std::make_unique<FuzzGpus>();
  if (gpus->run()) gpus_ = std::move(gpus);
  for (const char* features : {"", "x86-64-v3"})
    for (const int threads : {1, 2})
      for (const FloatMode mode : {FloatMode::FlushSubnormals, FloatMode::KeepSubnormals}) {
        EngineOptions options = memory_only(threads, features);
        options.float_mode = mode;
        try {
          engines_.push_back(std::make_unique<Engine>(options));
        } catch (const Error&) {
          if (engines_.empty()) throw;  // else this processor has no AVX2
        }
      }
}

}  // namespace adjit::testing
