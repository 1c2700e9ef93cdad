// tools/bench/fma_peak.hpp -- what one core's multiply-add units give at most, in FLOP/s.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <benchmark/benchmark.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace adjit::bench {

#if defined(__x86_64__)
// 24 independent chains of 512-bit multiply-adds: nothing else. Gives the FLOPs done.
__attribute__((target("avx512f"))) inline double multiply_adds_avx512(int64_t rounds) {
  __m512 chain[24];
  for (int k = 0; k < 24; ++k) chain[k] = _mm512_set1_ps(static_cast<float>(k));
  const __m512 scale = _mm512_set1_ps(0.999f), add = _mm512_set1_ps(1e-9f);
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 24
    for (int k = 0; k < 24; ++k) chain[k] = _mm512_fmadd_ps(chain[k], scale, add);
    asm volatile("" : : "v"(scale), "v"(add));
  }
  for (int k = 1; k < 24; ++k) chain[0] = _mm512_add_ps(chain[0], chain[k]);
  float lanes[16];
  _mm512_storeu_ps(lanes, chain[0]);
  benchmark::DoNotOptimize(lanes);
  return 2.0 * 16 * 24 * static_cast<double>(rounds);
}

// The same with 12 chains of 256 bits.
__attribute__((target("avx2,fma"))) inline double multiply_adds_avx2(int64_t rounds) {
  __m256 chain[12];
  for (int k = 0; k < 12; ++k) chain[k] = _mm256_set1_ps(static_cast<float>(k));
  const __m256 scale = _mm256_set1_ps(0.999f), add = _mm256_set1_ps(1e-9f);
  for (int64_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int k = 0; k < 12; ++k) chain[k] = _mm256_fmadd_ps(chain[k], scale, add);
    asm volatile("" : : "x"(scale), "x"(add));
  }
  for (int k = 1; k < 12; ++k) chain[0] = _mm256_add_ps(chain[0], chain[k]);
  float lanes[8];
  _mm256_storeu_ps(lanes, chain[0]);
  benchmark::DoNotOptimize(lanes);
  return 2.0 * 8 * 12 * static_cast<double>(rounds);
}
#endif

// FLOPs done; 0 where it is not known how.
inline double multiply_adds(int64_t rounds) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return multiply_adds_avx512(rounds);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return multiply_adds_avx2(rounds);
#endif
  static_cast<void>(rounds);
  return 0;
}

// FLOP/s of one core; 0 where it cannot be measured.
inline double fma_peak() {
  double best = 0;
  for (int repeat = 0; repeat < 7; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    const double flops = multiply_adds(2'000'000);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, flops / seconds.count());
  }
  return best;
}

}  // namespace adjit::bench
