// runtime/diff/rewrite/factors.cpp -- products taken apart and put together.
#include "runtime/diff/rewrite/factors.hpp"

#include <algorithm>

#include "runtime/diff/conditions/condition.hpp"

namespace adjit::diff {

AxisSet axes_used(const ExprPool& pool, ExprId expr) {
  AxisSet used = 0;
  const ExprId roots[] = {expr};
  for (ExprId id : reachable(pool, roots))
    if (pool.is(id, Op::Axis)) used |= AxisSet{1} << std::min<size_t>(pool.axis_number(id), 63);
  return used;
}

Product factors_of(const ExprPool& pool, ExprId body) {
  constexpr size_t kMostFactors = 32;
  Product product;
  struct Item {
    ExprId expr;
    bool inverse;
  };
  std::vector<Item> stack{{body, false}};
  while (!stack.empty()) {
    const Item item = stack.back();
    stack.pop_back();
    const Op op = pool[item.expr].op;
    const bool open =
        is_float(pool.dtype(item.expr)) && stack.size() + product.factors.size() < kMostFactors;
    if (open && op == Op::Mul) {
      stack.push_back({pool.operand(item.expr, 1), item.inverse});
      stack.push_back({pool.operand(item.expr, 0), item.inverse});
    } else if (open && op == Op::Div && !item.inverse) {
      stack.push_back({pool.operand(item.expr, 1), true});
      stack.push_back({pool.operand(item.expr, 0), false});
    } else if (open && op == Op::Neg) {
      product.negative = !product.negative;
      stack.push_back({pool.operand(item.expr, 0), item.inverse});
    } else if (pool.value(item.expr) != 1.0) {  // as 1 / x begins
      product.factors.push_back({item.expr, item.inverse, axes_used(pool, item.expr)});
    }
  }
  return product;
}

ExprId product_of(ExprPool& pool, const Product& product, DType dtype) {
  ExprId total;
  for (const Factor& f : product.factors)
    if (!f.inverse) total = total.valid() ? pool.mul(total, f.expr) : f.expr;
  if (!total.valid()) total = pool.constant(1, dtype);
  for (const Factor& f : product.factors)
    if (f.inverse) total = pool.div(total, f.expr);
  return product.negative ? pool.neg(total) : total;
}

namespace {

// The terms of a sum, left to right; empty when there are more than `most`.
std::vector<ExprId> terms_of(const ExprPool& pool, ExprId body, size_t most) {
  std::vector<ExprId> terms, stack{body};
  while (!stack.empty()) {
    const ExprId id = stack.back();
    stack.pop_back();
    if (pool.is(id, Op::Add)) {
      stack.push_back(pool.operand(id, 1));
      stack.push_back(pool.operand(id, 0));
    } else {
      terms.push_back(id);
    }
    if (terms.size() + stack.size() > most) return {};
  }
  return terms;
}

bool removes(Product& product, ExprId factor) {
  const auto at = std::ranges::find_if(
      product.factors, [&](const Factor& f) { return f.expr == factor && !f.inverse; });
  if (at == product.factors.end()) return false;
  product.factors.erase(at);
  return true;
}

}  // namespace

ExprId common_factor_out(ExprPool& pool, ExprId body) {
  constexpr size_t kMostTerms = 16;
  if (!pool.is(body, Op::Add) || !is_float(pool.dtype(body))) return body;
  const std::vector<ExprId> terms = terms_of(pool, body, kMostTerms);
  if (terms.empty()) return body;
  std::vector<Product> products;
  for (ExprId term : terms) products.push_back(factors_of(pool, term));
  const std::vector<Factor> candidates = products[0].factors;
  std::vector<ExprId> common;
  for (const Factor& candidate : candidates) {
    if (candidate.inverse || pool.is(candidate.expr, Op::Constant)) continue;
    std::vector<Product> without = products;
    if (!std::ranges::all_of(without, [&](Product& p) { return removes(p, candidate.expr); }))
      continue;
    products = std::move(without);
    common.push_back(candidate.expr);
  }
  if (common.empty()) return body;
  const DType dtype = pool.dtype(body);
  std::vector<ExprId> rests;
  for (const Product& p : products) rests.push_back(product_of(pool, p, dtype));
  ExprId total = balanced_sum(pool, rests);
  for (ExprId factor : common) total = pool.mul(total, factor);
  return total;
}

}  // namespace adjit::diff
