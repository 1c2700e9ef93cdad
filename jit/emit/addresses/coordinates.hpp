// jit/emit/addresses/coordinates.hpp -- indices that data decides, in 32 bits where that gives the
// same element (narrow_coordinates.hpp).
#pragma once

#include <functional>

#include "jit/emit/addresses/body_context.hpp"
#include "jit/emit/addresses/point_memo.hpp"
#include "jit/emit/scopes/emitted.hpp"

namespace adjit::emit {

class Coordinates {
 public:
  /// The value of a node, of which its coordinate is made.
  using ValueOf = std::function<Emitted(ExprId, const Point&)>;
  Coordinates(const BodyContext& context, ValueOf value_of)
      : context_(context),
        value_of_(std::move(value_of)),
        in_lanes_(context.shape, context.scopes),
        scalars_(context.shape, context.scopes) {}

  /// An index that is no affine form, for an address: Int64, or Int32 in lanes.
  Emitted operator()(ExprId id, const Point& point);
  void forget() {
    in_lanes_.forget();
    scalars_.forget();
  }

 private:
  // `lanes`: one for each lane, else one for all.
  Emitted narrow(ExprId id, const Point& point, bool lanes);
  Emitted made_narrow(ExprId id, const Point& point, bool lanes);
  llvm::Value* truncated(llvm::Value* value);

  const BodyContext context_;
  const ValueOf value_of_;
  PointMemo in_lanes_, scalars_;
};

}  // namespace adjit::emit
