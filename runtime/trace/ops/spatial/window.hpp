// runtime/trace/ops/spatial/window.hpp -- sliding windows: what convolution and pooling read from
// their attributes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/trace/ops/call/operator_call.hpp"
#include "runtime/trace/ops/stages/formula.hpp"

namespace adjit::trace {

/// One spatial dimension: output position h and window position p read input h * stride + p *
/// dilation - before.
struct SlidingWindow {
  int64_t input = 0, output = 0;  // extents
  int64_t kernel = 0, stride = 1, dilation = 1;
  int64_t before = 0, behind = 0;  // padding

  Formula position(Formula h, Formula p) const { return h * stride + p * dilation - before; }
};

/// "stride", "padding" (int, one per dimension, pairs, 'same', 'valid') and "dilation" over these
/// input and kernel extents. ErrorCode::Shape when a window does not fit.
std::vector<SlidingWindow> windows_of(const OperatorCall& call, const Shape& inputs,
                                      const Shape& kernels, const Shape& default_strides,
                                      bool ceil_mode = false);

}  // namespace adjit::trace
