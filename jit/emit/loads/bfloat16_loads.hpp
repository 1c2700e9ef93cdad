// jit/emit/loads/bfloat16_loads.hpp -- pairs of bfloat16 that lie side by side.
#pragma once

#include "jit/emit/addresses/body_context.hpp"
#include "jit/emit/addresses/point_memo.hpp"
#include "jit/emit/scopes/emitted.hpp"

namespace adjit::emit {

class BFloat16Loads {
 public:
  explicit BFloat16Loads(const BodyContext& context)
      : context_(context), pairs_(context.shape, context.scopes) {}

  /// Two neighbouring bfloat16 as one i32: those of a read that has a plain address, and of what
  /// lies behind it, which is in bounds, too. In lanes where the address differs between lanes.
  Emitted operator()(ExprId read, const Point& point);
  void forget() { pairs_.forget(); }

 private:
  const BodyContext context_;
  PointMemo pairs_;
};

}  // namespace adjit::emit
