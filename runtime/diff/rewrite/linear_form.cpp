// runtime/diff/rewrite/linear_form.cpp -- sums of products, found by one walk with the factors so
// far.
#include "runtime/diff/rewrite/linear_form.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "runtime/diff/rewrite/rewrite.hpp"

namespace adjit::diff {
namespace {

// Of one term; what is left stays one factor.
constexpr size_t kMostFactorsOfTerm = 32;

class LinearWalk {
 public:
  LinearWalk(const ExprPool& pool, ExprId root, const std::function<bool(ExprId)>& is_element,
             size_t most)
      : pool_(pool), most_(most) {
    for (ExprId id : reachable(pool, std::span(&root, 1))) {
      const bool element = is_element(id);
      if (element) elements_.insert(id.value);
      if (element || any_operand_contains(id)) containing_.insert(id.value);
    }
    open_.push_back({false, {}, root});
  }

  std::optional<std::vector<LinearTerm>> operator()() {
    while (!open_.empty()) {
      const LinearTerm part = std::move(open_.back());
      open_.pop_back();
      visit(part);
      if (terms_.size() + open_.size() > most_) return std::nullopt;
    }
    return std::move(terms_);
  }

 private:
  bool any_operand_contains(ExprId id) const {
    for (ExprId operand : pool_.operands(id))
      if (containing_.contains(operand.value)) return true;
    return false;
  }
  bool contains(ExprId id) const { return containing_.contains(id.value); }

  // A part still to be taken apart: `element` is the expression that the factors multiply.
  void visit(const LinearTerm& part) {
    const ExprId id = part.element;
    if (elements_.contains(id.value)) {
      terms_.push_back(part);
      return;
    }
    if (!contains(id)) return finish(part);
    const auto operand = [&](size_t k) { return pool_.operand(id, k); };
    switch (pool_[id].op) {
      case Op::Add: open(part, operand(1), false); return open(part, operand(0), false);
      case Op::Sub: open(part, operand(1), true); return open(part, operand(0), false);
      case Op::Neg: return open(part, operand(0), true);
      case Op::Mul: return multiply(part, operand(0), operand(1));
      case Op::Fma: open(part, operand(2), false); return multiply(part, operand(0), operand(1));
      default: return finish(part);
    }
  }

  void open(const LinearTerm& part, ExprId id, bool negated) {
    open_.push_back({part.negative != negated, part.factors, id});
  }

  void multiply(LinearTerm part, ExprId a, ExprId b) {
    if (contains(a) && contains(b)) {
      part.factors.push_back(a);
      part.element = b;
      return finish(part);
    }
    add_factors(part.factors, contains(a) ? b : a);
    open(part, contains(a) ? a : b, false);
  }

  void add_factors(std::vector<ExprId>& factors, ExprId product) const {
    std::vector<ExprId> parts{product};
    while (!parts.empty()) {
      const ExprId id = parts.back();
      parts.pop_back();
      if (!pool_.is(id, Op::Mul) || factors.size() + parts.size() >= kMostFactorsOfTerm) {
        factors.push_back(id);
        continue;
      }
      parts.push_back(pool_.operand(id, 1));
      parts.push_back(pool_.operand(id, 0));
    }
  }

  // A term without an element: what is left is one more factor.
  void finish(LinearTerm part) {
    part.factors.push_back(part.element);
    part.element = {};
    terms_.push_back(std::move(part));
  }

  const ExprPool& pool_;
  size_t most_;
  std::unordered_set<uint32_t> elements_, containing_;
  std::vector<LinearTerm> open_, terms_;
};

}  // namespace

std::optional<std::vector<LinearTerm>> linear_form(const ExprPool& pool, ExprId root,
                                                   const std::function<bool(ExprId)>& is_element,
                                                   size_t most) {
  return LinearWalk(pool, root, is_element, most)();
}

namespace {

// a + share * (b - a), or the same with b and a on other sides.
struct Interpolation {
  ExprId a, b, share;
};

std::optional<Interpolation> interpolation_of(const ExprPool& pool, ExprId id) {
  const bool sum = pool.is(id, Op::Add), difference = pool.is(id, Op::Sub);
  if ((!sum && !difference) || !is_float(pool.dtype(id))) return std::nullopt;
  for (const size_t k : {size_t{0}, size_t{1}}) {
    const ExprId a = pool.operand(id, k), product = pool.operand(id, 1 - k);
    if ((difference && k != 0) || !pool.is(product, Op::Mul)) continue;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const ExprId way = pool.operand(product, side);
      if (!pool.is(way, Op::Sub) || pool.operand(way, sum ? 1 : 0) != a) continue;
      return Interpolation{a, pool.operand(way, sum ? 0 : 1), pool.operand(product, 1 - side)};
    }
  }
  return std::nullopt;
}

}  // namespace

ExprId with_weighed_ends(ExprPool& pool, ExprId root) {
  std::unordered_map<uint32_t, ExprId> now;
  for (ExprId id : reachable(pool, std::span(&root, 1))) {
    const auto known = [&](ExprId part) {
      const auto found = now.find(part.value);
      return found == now.end() ? part : found->second;
    };
    if (const std::optional<Interpolation> found = interpolation_of(pool, id)) {
      const ExprId share = known(found->share), one = pool.constant(1, pool.dtype(id));
      now[id.value] = pool.add(pool.mul(pool.sub(one, share), known(found->a)),
                               pool.mul(share, known(found->b)));
      continue;
    }
    if (std::ranges::any_of(pool.operands(id), [&](ExprId o) { return now.contains(o.value); }))
      now[id.value] = with_operands(pool, id, now);
  }
  const auto found = now.find(root.value);
  return found == now.end() ? root : found->second;
}

ExprId product_of_factors(ExprPool& pool, const std::vector<ExprId>& factors, DType dtype) {
  if (factors.empty()) return pool.constant(1, dtype);
  ExprId product = factors[0];
  for (size_t k = 1; k < factors.size(); ++k) product = pool.mul(product, factors[k]);
  return product;
}

}  // namespace adjit::diff
