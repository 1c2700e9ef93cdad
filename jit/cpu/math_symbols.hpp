// jit/cpu/math_symbols.hpp -- the functions of this process that generated code may call, by name.
#pragma once

#include <span>

#include "runtime/process/rooms.hpp"

namespace adjit::cpu {

struct RuntimeSymbol {
  const char* name;
  void* address;
};

/// Library functions of VectorMath (`adjit_math_lgamma_f32(float* values, int64_t count)`, in
/// place), and what LLVM's back end calls of its own accord (memcpy, memset, fmaf, ...).
std::span<const RuntimeSymbol> runtime_symbols();

}  // namespace adjit::cpu
