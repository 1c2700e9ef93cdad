// jit/emit/tile/added_terms.cpp -- how accumulators take a term.
#include "jit/emit/tile/added_terms.hpp"

#include <algorithm>

#include "autosched/analysis/work.hpp"
#include "jit/emit/ir/predicated.hpp"

namespace adjit::emit {

using llvm::Value;

TermAdder::TermAdder(NestContext& nest)
    : nest_(nest), shape_(nest.shape), stage_(*nest.shape.stage), kernel_(nest.kernel) {}

Value* TermAdder::value_of(ExprId id, const Point& point) {
  const Emitted value = nest_.body(id, point);
  return shape_.lane_loop ? nest_.splats(value) : value.value;
}

// An accumulator and the value at a point, where that is to be kept.
Partial TermAdder::operator()(const Partial& accumulator, const Point& point, const Emitted& keep) {
  CombinerEmitter& combiner = nest_.combiner;
  Value* mask = keep.value && shape_.lane_loop ? nest_.splats(keep) : keep.value;
  if (kernel_.math.features().gpu && sched::adds_chosen_terms(kernel_.program.graph.pool, stage_))
    return added_where(accumulator, point, mask);
  if (std::ranges::any_of(shape_.bodies, [&](ExprId body) { return is_summed_product(body); })) {
    const Partial sums = with_products(accumulator, point);
    return mask ? combiner.selected(mask, sums, accumulator) : sums;
  }
  Partial values;
  for (ExprId id : shape_.bodies) values.push_back(value_of(id, point));
  // From the back, the new point stands before those that the accumulator holds.
  const bool backwards = shape_.running && shape_.running->reverse;
  if (mask && !backwards) return combiner.combine_where(mask, accumulator, values);
  const Partial both =
      backwards ? combiner.combine(values, accumulator) : combiner.combine(accumulator, values);
  return mask ? combiner.selected(mask, both, accumulator) : both;
}

bool TermAdder::is_summed_product(ExprId body) const {
  const ExprPool& pool = kernel_.program.graph.pool;
  return stage_.combiner.kind == CombinerKind::Sum && pool.is(body, Op::Mul) &&
         is_float(pool.dtype(body));
}

// Sums, each by itself, some of them of products: these are multiply-adds.
Partial TermAdder::with_products(const Partial& accumulator, const Point& point) {
  const ExprPool& pool = kernel_.program.graph.pool;
  Partial sums;
  for (size_t k = 0; k < shape_.bodies.size(); ++k) {
    const ExprId body = shape_.bodies[k];
    if (!is_summed_product(body)) {
      sums.push_back(nest_.combiner.combine_component(k, accumulator[k], value_of(body, point)));
      continue;
    }
    Value* right = value_of(pool.operand(body, 1), point);
    Value* left = value_of(pool.operand(body, 0), point);
    sums.push_back(kernel_.math(emit::multiply_add, left, right, accumulator[k]));
  }
  return sums;
}

// Sums, each by itself, where the mask (null: always) holds and, of a choice between a term and
// zero, its condition.
Partial TermAdder::added_where(const Partial& accumulator, const Point& point, Value* mask) {
  const ExprPool& pool = kernel_.program.graph.pool;
  llvm::IRBuilder<>& builder = kernel_.builder;
  const TargetFeatures& features = kernel_.math.features();
  Partial sums;
  for (size_t k = 0; k < shape_.bodies.size(); ++k) {
    ExprId term = shape_.bodies[k];
    Value* on = mask;
    if (sched::is_choice_of_term(pool, term)) {
      Value* chosen = value_of(pool.operand(term, 0), point);
      on = on ? builder.CreateAnd(on, chosen) : chosen;
      term = pool.operand(term, 1);
    }
    if (is_summed_product(term)) {
      Value* right = value_of(pool.operand(term, 1), point);
      Value* left = value_of(pool.operand(term, 0), point);
      sums.push_back(on ? multiply_add_where(builder, features, on, left, right, accumulator[k])
                        : kernel_.math(emit::multiply_add, left, right, accumulator[k]));
      continue;
    }
    Value* value = value_of(term, point);
    sums.push_back(on ? add_where(builder, features, on, value, accumulator[k])
                      : nest_.combiner.combine_component(k, accumulator[k], value));
  }
  return sums;
}

}  // namespace adjit::emit
