// jit/emit/tile/added_terms.hpp -- how the accumulators of a reduction take the term of one point.
//
// Terms that are products are added by multiply-adds. On a GPU, a term that a mask or a condition
// leaves out is an instruction that a predicate switches off (predicated.hpp).
#pragma once

#include "jit/emit/operations/combine.hpp"
#include "jit/emit/tile/nest_context.hpp"

namespace adjit::emit {

class TermAdder {
 public:
  /// `nest` must outlive the adder.
  explicit TermAdder(NestContext& nest);

  /// The accumulators of one result, one for each body, with the values at a point, where `keep`
  /// holds (no value: everywhere).
  Partial operator()(const Partial& accumulator, const Point& point, const Emitted& keep);

 private:
  llvm::Value* value_of(ExprId id, const Point& point);
  bool is_summed_product(ExprId body) const;
  Partial with_products(const Partial& accumulator, const Point& point);
  Partial added_where(const Partial& accumulator, const Point& point, llvm::Value* mask);

  NestContext& nest_;
  const NestShape& shape_;
  const Stage& stage_;
  KernelContext& kernel_;
};

}  // namespace adjit::emit
