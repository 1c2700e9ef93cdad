// jit/engine/alignment.hpp -- what a GPU's code knows of the addresses of its arguments.
//
// A vector of 16 bytes is loaded and stored at once where 16 bytes divide its address, else element
// by element. So code for a GPU depends on a class of each argument: kArgumentAlignment divides the
// address of its element 0, which is usual, or only the size of its elements does. Arrays in the
// host's memory are copied to where the former holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/emit/layout.hpp"
#include "jit/engine/request.hpp"

namespace adjit::engine {

inline constexpr int64_t kArgumentAlignment = 16;

/// How the arguments of a request's code lie. `outputs`: as TensorLayout::alignment.
struct ArgumentLayouts {
  std::vector<TensorLayout> inputs;
  std::vector<int64_t> outputs;
};
/// An array of which no vector lies in memory as it is has an element's alignment: where it begins
/// makes no other code.
ArgumentLayouts argument_layouts(const Request& request);

/// The classes as a component of keys.
std::string alignment_text(const Request& request);

}  // namespace adjit::engine
