// jit/cpu/float_mode.cpp -- MXCSR read and written.
#include "jit/cpu/float_mode.hpp"

#include <xmmintrin.h>

namespace adjit::cpu {
namespace {

constexpr uint32_t kFlags = 0x3f;

}  // namespace

FloatMode float_mode() { return static_cast<FloatMode>(_mm_getcsr() & ~kFlags); }

FloatModeScope::FloatModeScope(FloatMode mode) : outer_(_mm_getcsr()) {
  _mm_setcsr(static_cast<uint32_t>(mode));
}

FloatModeScope::~FloatModeScope() { _mm_setcsr(outer_); }

}  // namespace adjit::cpu
