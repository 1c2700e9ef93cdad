// tools/bench/machine.cpp -- the constants of a machine that limit a computation: multiply-adds,
// memory bandwidth, reads at computed positions.
//
// compare.py runs it on the threads that its report is for, and takes the best of the repetitions:
//   bench_machine --benchmark_filter='/threads:2$' --benchmark_format=json
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "tools/bench/fma_peak.hpp"

namespace adjit::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Counters of the threads are added up. What cores do on their own is the rate of the best
// iteration, so that whatever else runs on the machine does not count.
constexpr const char* kCounter = "per_second";

// FLOP/s.
void fma(benchmark::State& state) {
  double best = 0;
  for (auto _ : state) {
    const Clock::time_point start = Clock::now();
    const double flops = multiply_adds(200'000);
    best = std::max(best, flops / seconds_since(start));
  }
  state.counters[kCounter] = best;
}

// Bytes/s of a = b + s c with 128 MB an array, beyond any cache; every thread has arrays of its own
// that add up to that. Counted are two reads and one write a number. The threads share the memory:
// the rate is the mean, for one thread's best iteration may be one without the others.
void triad(benchmark::State& state) {
  const size_t count = (size_t{1} << 25) / static_cast<size_t>(state.threads());
  std::vector<float> a(count, 1), b(count, 2), c(count, 3);
  double bytes = 0;
  std::optional<Clock::time_point> start;
  for (auto _ : state) {
    // The threads wait for each other before the first iteration: the arrays are made by then.
    if (!start) start = Clock::now();
    float* __restrict to = a.data();
    for (size_t i = 0; i < count; ++i) to[i] = b[i] + 0.5f * c[i];
    benchmark::ClobberMemory();
    bytes += 12.0 * static_cast<double>(count);
  }
  state.counters[kCounter] = bytes / seconds_since(*start);
}

#if defined(__x86_64__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
void read_at(const float* from, const int32_t* index, float* to, int32_t count) {
  for (int32_t i = 0; i < count; ++i) to[i] = from[index[i]];
}

// Numbers/s read at random positions of 256 KB, which lie in the second level cache.
void gather(benchmark::State& state) {
  constexpr int32_t count = 1 << 14;
  constexpr int32_t extent = 1 << 16;
  std::mt19937 random(1);
  std::uniform_int_distribution<int32_t> position(0, extent - 1);
  std::vector<float> from(extent, 1), to(count);
  std::vector<int32_t> index(count);
  for (int32_t& i : index) i = position(random);
  double best = 0;
  for (auto _ : state) {
    const Clock::time_point start = Clock::now();
    read_at(from.data(), index.data(), to.data(), count);
    benchmark::ClobberMemory();
    best = std::max(best, count / seconds_since(start));
  }
  state.counters[kCounter] = best;
}

void register_all() {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  for (int threads = 1; threads <= cores; ++threads) {
    benchmark::RegisterBenchmark("fma", fma)->Threads(threads)->UseRealTime();
    benchmark::RegisterBenchmark("triad", triad)->Threads(threads)->UseRealTime();
    benchmark::RegisterBenchmark("gather", gather)->Threads(threads)->UseRealTime();
  }
}

}  // namespace
}  // namespace adjit::bench

int main(int argc, char** argv) {
  adjit::bench::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
