// tests/runtime/graph/random_values.hpp -- numbers at random, and inputs of graphs.
//
// Deterministic in the seed on every platform (no std:: distribution).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/graph/graph.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// splitmix64. Its states follow each other by a constant, so the seed is mixed into the first one:
/// were it multiplied by that constant, seed s + 1 would draw what seed s draws, one number later.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(mixed(seed ^ 0x6a09e667f3bcc908ull)) {}
  uint64_t next() { return mixed(state_ += 0x9e3779b97f4a7c15ull); }
  /// Uniform in [low, high].
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return between(1, 100) <= percent; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(between(0, static_cast<int64_t>(from.size()) - 1))];
  }

 private:
  static uint64_t mixed(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

/// Small values: multiples of 1/8 in [-2, 2] for floats, -4..4 for integers; of uint8 0..8.
inline std::vector<Array> small_inputs(const Graph& graph, uint64_t seed) {
  Random random(seed + 77);
  std::vector<Array> inputs;
  for (TensorId id : graph.inputs) {
    const TensorInfo& info = graph.info(id);
    Array array = Array::zeros(info.dtype, info.shape);
    for (int64_t k = 0; k < array.element_count(); ++k) {
      double value = is_float(info.dtype) ? static_cast<double>(random.between(-16, 16)) / 8
                                          : static_cast<double>(random.between(-4, 4));
      if (info.dtype == DType::UInt8) value += 4;
      array.set(k, info.dtype == DType::Bool ? (value > 0 ? 1.0 : 0.0) : value);
    }
    inputs.push_back(std::move(array));
  }
  return inputs;
}

}  // namespace adjit::testing
