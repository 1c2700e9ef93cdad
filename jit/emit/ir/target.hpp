// jit/emit/ir/target.hpp -- what the emitter must know about the CPU that it writes for.
#pragma once

#include <string_view>

#include "runtime/process/rooms.hpp"

namespace adjit::emit {

/// The instruction-set extensions that change which IR is written. Everything else is the back
/// end's business.
struct TargetFeatures {
  bool sse41 = false;       // rounding instructions
  bool avx2 = false;        // 256-bit integer vectors
  bool fma = false;         // llvm.fma is one instruction; else a library call per lane
  bool f16c = false;        // conversions between float16 and float32
  bool avx512f = false;     // scalef, masks
  bool avx512vl = false;    // the same on 128 and 256 bits
  bool avx512dq = false;    // 64-bit integer products and conversions
  bool avx512bf16 = false;  // float32 to bfloat16; products of pairs of bfloat16 summed in float32
  int vector_bits = 128;    // widest vector worth using
  // Functions of jit/cpu/math_symbols.hpp can be called; if not, the module holds what it needs.
  bool has_library = true;

  /// Lanes of one register for elements of so many bytes.
  int lanes(int element_bytes) const { return vector_bits / (8 * element_bytes); }
};

/// Reads LLVM's notation: names with "+" or "-" in front, separated by commas; the last mention of
/// a name wins and unknown names are ignored. An extension counts only if the ones that it builds
/// on are there as well.
TargetFeatures from_feature_string(std::string_view features);

}  // namespace adjit::emit
