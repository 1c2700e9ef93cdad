// runtime/diff/rewrite/linear_form.hpp -- an expression as a sum of products, each linear in one
// element.
//
// Worked example, with elements a and b, which are reads:
//   fma(1 - f, a, f * b) + c   ->   (1 - f) * a  +  f * b  +  rest c
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "runtime/expr/expr.hpp"

namespace adjit::diff {

/// The product of the factors and the element, negated or not. Factors beside an element contain
/// none. The element is invalid in a term that is not linear in one: its factors are the whole
/// term.
struct LinearTerm {
  bool negative = false;
  std::vector<ExprId> factors;
  ExprId element;
};

/// Takes sums, differences, negations, fused multiply-adds and products with a side that contains
/// no element apart, in the order of the expression. What else contains an element (a product of
/// two elements, a function of one) is a term without an element. Nothing where there are more than
/// `most` terms. `is_element` is asked once for every node below the root.
std::optional<std::vector<LinearTerm>> linear_form(const ExprPool& pool, ExprId root,
                                                   const std::function<bool(ExprId)>& is_element,
                                                   size_t most);

/// a + f * (b - a) and a - f * (a - b) written as (1 - f) * a + f * b, everywhere below the root:
/// what is linear in a has one weight then. (Where an end is infinite, this is infinite between
/// them; the difference would be NaN.)
ExprId with_weighed_ends(ExprPool& pool, ExprId root);

/// The product of the factors (1 where there are none), in order.
ExprId product_of_factors(ExprPool& pool, const std::vector<ExprId>& factors, DType dtype);

}  // namespace adjit::diff
