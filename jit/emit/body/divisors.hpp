// jit/emit/body/divisors.hpp -- divisions of floats by what stays the same for many of them.
#pragma once

#include <span>

#include "jit/emit/addresses/body_context.hpp"
#include "jit/emit/math/vector_math.hpp"
#include "jit/emit/scopes/emitted.hpp"
#include "jit/emit/scopes/scoped_memo.hpp"

namespace adjit::emit {

class Divisors {
 public:
  explicit Divisors(const BodyContext& context) : context_(context), ready_(context.scopes) {}

  /// Whether a node is a division of floats by what stays the same in an inner loop, or for other
  /// instances, so that to make its divisor ready is worthwhile.
  bool divides_often(ExprId id, std::span<const Emitted> operands) const;
  /// The quotient in all lanes, by the divisor made ready.
  Emitted divided(const Emitted& x, const Emitted& by);
  void forget() { ready_.forget(); }

 private:
  const BodyContext context_;
  ScopedMemo<llvm::Value*, VectorMath::Divisor> ready_;  // in lanes
};

}  // namespace adjit::emit
