// jit/emit/ir/target.hpp -- what the emitter must know about the machine that it writes for.
#pragma once

#include <string_view>

#include "runtime/process/rooms.hpp"

namespace adjit::emit {

/// What changes which IR is written: a CPU's instruction-set extensions, or that it is a GPU.
/// Everything else is the back end's business.
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
  /// Functions of jit/cpu/math_symbols.hpp can be called; if not, the module holds what it needs.
  bool has_library = true;
  /// NVPTX: a task is a thread's, tensors are in address space 1, positions are computed in 32 bits
  /// where these hold them, and what is not to be loaded or stored is branched around.
  bool gpu = false;
  /// Subnormal float32 count as zeros by the code itself. A CPU has a mode for it instead, which
  /// its code knows nothing of (jit/cpu/float_mode.hpp).
  bool flushes_subnormals = false;

  /// Lanes of one register for elements of so many bytes.
  int lanes(int element_bytes) const { return vector_bits / (8 * element_bytes); }
};

/// NVPTX's numbers of memories: the one that all threads see, and the one that a block shares.
inline constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;

/// Where tensors and constants are.
inline unsigned address_space(const TargetFeatures& features) {
  return features.gpu ? kGlobalSpace : 0;
}

/// Reads LLVM's notation: names with "+" or "-" in front, separated by commas; the last mention of
/// a name wins and unknown names are ignored. An extension counts only if the ones that it builds
/// on are there as well.
TargetFeatures from_feature_string(std::string_view features);

/// Those of every GPU that code is generated for: multiply-adds, conversions of float16, vectors of
/// 16 bytes.
TargetFeatures gpu_features(bool flushes_subnormals = false);

}  // namespace adjit::emit
