// tests/jit/emit/emulated_function.hpp -- a function of VectorMath for a GPU, run over arrays by
// the emulator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "tests/jit/emit/compiled_function.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

struct EmulatedArrays {
  const void* x;
  const void* y;
  void* out;
  size_t count;  // of elements, a multiple of the lanes times 32
};

/// Runs the function of one or two operands (the second may be left out) for vectors of so many
/// lanes, a thread each; 0: for numbers. Needs the emulator.
void emulate(Element element, const Emit& emit, unsigned lanes, const EmulatedArrays& arrays);

template <class T>
std::vector<T> emulate(const Emit& emit, unsigned lanes, std::vector<T> x, std::vector<T> y = {}) {
  const size_t count = x.size(), step = 32 * size_t{std::max(lanes, 1u)};
  x.resize((count + step - 1) / step * step, T{});
  y.resize(x.size(), T{});
  std::vector<T> out(x.size());
  emulate(element_of<T>(), emit, lanes, {x.data(), y.data(), out.data(), x.size()});
  out.resize(count);
  return out;
}

}  // namespace adjit::testing
