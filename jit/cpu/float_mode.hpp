// jit/cpu/float_mode.hpp -- how a thread's floating-point unit rounds and treats subnormal numbers.
#pragma once

#include <cstdint>

#include "runtime/process/rooms.hpp"

namespace adjit::cpu {

/// MXCSR of x86-64 without the flags that operations leave behind; both values round to nearest and
/// trap nothing.
enum class FloatMode : uint32_t {
  KeepSubnormals = 0x1f80,
  /// Subnormal arguments and results of arithmetic are zeros of their sign. On some processors
  /// every instruction that meets one takes over a hundred cycles otherwise, and the tails of exp
  /// (softmax, kernels of distances) are full of them.
  FlushSubnormals = 0x9fc0,
};

/// The calling thread's; may be neither of the above.
FloatMode float_mode();

/// The calling thread has a mode as long as this lives. What its operations flagged is forgotten.
class FloatModeScope {
 public:
  explicit FloatModeScope(FloatMode mode);
  ~FloatModeScope();
  FloatModeScope(const FloatModeScope&) = delete;
  FloatModeScope& operator=(const FloatModeScope&) = delete;

 private:
  uint32_t outer_;
};

}  // namespace adjit::cpu
