// tests/fuzz/gpus.cpp -- GPUs that programs take turns with.
#include "tests/fuzz/gpus.hpp"

#include <cstdlib>

#include "jit/cuda/driver.hpp"
#include "jit/cuda/driver_numbers.hpp"
#include "jit/engine/backends.hpp"
#include "tests/jit/engine/run_compiled.hpp"

namespace adjit::testing {
namespace {

struct Shown {
  int capability, multiprocessors, threads, block_shared_bytes;
  FloatMode mode;
};
constexpr std::array<Shown, FuzzGpus::kCount> kShown{{
    {90, 132, 2048, 227 << 10, FloatMode::FlushSubnormals},
    {80, 1, 2048, 163 << 10, FloatMode::KeepSubnormals},
    {90, 1, 64, 227 << 10, FloatMode::FlushSubnormals},
    {80, 2, 256, 8 << 10, FloatMode::KeepSubnormals},
    {89, 1, 32, 1 << 10, FloatMode::FlushSubnormals},
    {90, 4, 128, 48 << 10, FloatMode::KeepSubnormals},
}};

}  // namespace

FuzzGpus::FuzzGpus() : fake_(ADJIT_FAKE_CUDA) {
  setenv("ADJIT_CUDA_LIBRARY", ADJIT_FAKE_CUDA, 1);
  begin();
}

void FuzzGpus::begin() { cuda::driver().init(0); }

Engine& FuzzGpus::of(uint64_t seed) {
  const size_t k = seed % kCount;
  const Shown& shown = kShown[k];  // at each turn: what runs is held against these numbers, too
  fake_.show_devices(1, shown.capability);
  fake_.have_multiprocessors(shown.multiprocessors);
  fake_.have(cuda::attribute::kThreads, shown.threads);
  fake_.have(cuda::attribute::kBlockSharedBytes, shown.block_shared_bytes);
  if (engines_[k]) return *engines_[k];
  EngineOptions options = memory_only(1);
  options.float_mode = shown.mode;
  engines_[k] = std::make_unique<Engine>(options);
  engines_[k]->compiler().backends->named("cuda");  // which asks for these numbers
  return *engines_[k];
}

std::string FuzzGpus::faults() {
  std::string found = fake_.faults();
  if (found.empty()) return found;
  for (auto& engine : engines_) engine.reset();
  fake_ = tests::FakeCuda(ADJIT_FAKE_CUDA);
  begin();
  return found;
}

}  // namespace adjit::testing
