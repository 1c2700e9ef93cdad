// runtime/graph/affine_expr.cpp -- scalar index expressions as affine forms over a domain, and
// back.
#include <algorithm>
#include <optional>

#include "runtime/expr/floor_form.hpp"
#include "runtime/graph/graph.hpp"

namespace adjit::graph {
namespace {

// floor(form / divisor) of one axis as an affine form of it, where it is one at all of the axis'
// few points: (i + 1) // 2 is i for i in 0:2.
std::optional<Affine> affine_floor(const Affine& form, int64_t divisor, const Domain& domain) {
  constexpr int64_t kFew = 16;
  size_t axis = SIZE_MAX;
  for (size_t k = 0; k < form.size(); ++k) {
    if (form.coefficient(k) == 0) continue;
    if (axis != SIZE_MAX || k >= domain.rank()) return std::nullopt;
    axis = k;
  }
  if (axis == SIZE_MAX || domain.extents[axis] < 2 || domain.extents[axis] > kFew)
    return std::nullopt;
  const auto value = [&](int64_t point) {
    const Exact at = Exact(form.coefficient(axis)) * point + form.constant();
    return Exact(floor_div(at, divisor));
  };
  const int64_t step = value(1) - value(0);
  for (int64_t point = 2; point < domain.extents[axis]; ++point)
    if (value(point) - value(point - 1) != step) return std::nullopt;
  return Affine::variable(axis, step, value(0));
}

// Which division a form is, but for a constant.
std::optional<size_t> lone_division(const Affine& form, const Domain& domain) {
  if (form.size() <= domain.rank() || form.coefficients().back() != 1) return std::nullopt;
  for (size_t k = 0; k + 1 < form.size(); ++k)
    if (form.coefficient(k) != 0) return std::nullopt;
  return form.size() - 1 - domain.rank();
}

// floor(form / divisor) as a form of the domain's axes and divisions, one more if need be.
Affine divided(const Affine& form, int64_t divisor, Domain& domain) {
  FloorForm floor = floor_form(form, divisor, [&](const Affine& f) { return domain.box_range(f); });
  if (floor.rest.is_constant()) return floor.whole;
  if (const std::optional<Affine> affine = affine_floor(floor.rest, floor.divisor, domain))
    return floor.whole + *affine;
  if (const std::optional<size_t> q = lone_division(floor.rest, domain)) {
    // floor((floor(n / a) + c) / b) = floor((n + a c) / (a b))
    const Division inner = domain.divisions[*q];
    const Affine numerator =
        inner.numerator + Affine(checked_mul(inner.divisor, floor.rest.constant()));
    return floor.whole + divided(numerator, checked_mul(inner.divisor, floor.divisor), domain);
  }
  return floor.whole + Affine::variable(domain.add_division(floor.rest, floor.divisor));
}

class Converter {
 public:
  Converter(const ExprPool& pool, Domain& domain, ExprId root)
      : pool_(pool), domain_(domain), nodes_(reachable(pool, std::span(&root, 1))) {
    forms_.reserve(nodes_.size());
  }

  std::optional<Affine> operator()() {
    for (ExprId id : nodes_) {
      std::optional<Affine> form = convert(id);
      if (!form) return std::nullopt;
      forms_.push_back(std::move(*form));
    }
    return std::move(forms_.back());  // the root's id is the largest
  }

 private:
  const Affine& form(ExprId id, size_t operand) const {
    const auto found = std::ranges::lower_bound(nodes_, pool_.operand(id, operand));
    return forms_[static_cast<size_t>(found - nodes_.begin())];
  }

  std::optional<Affine> convert(ExprId id) {
    const Node& node = pool_[id];
    if (node.dtype != DType::Int64) return std::nullopt;
    switch (node.op) {
      case Op::Constant: return Affine(*pool_.int_value(id));
      case Op::Axis:
        if (pool_.axis_number(id) >= domain_.rank()) return std::nullopt;
        return Affine::variable(pool_.axis_number(id));
      case Op::Neg: return form(id, 0) * -1;
      case Op::Add: return form(id, 0) + form(id, 1);
      case Op::Sub: return form(id, 0) - form(id, 1);
      case Op::Mul:
        if (form(id, 0).is_constant()) return form(id, 1) * form(id, 0).constant();
        if (form(id, 1).is_constant()) return form(id, 0) * form(id, 1).constant();
        return std::nullopt;
      case Op::FloorDiv:
      case Op::Mod: {
        const Affine& divisor = form(id, 1);
        if (!divisor.is_constant() || divisor.constant() < 1) return std::nullopt;
        const Affine numerator = form(id, 0);
        (void)domain_.box_range(numerator);  // a numerator that wraps has another quotient
        const Affine quotient = divided(numerator, divisor.constant(), domain_);
        return node.op == Op::FloorDiv ? quotient : numerator - quotient * divisor.constant();
      }
      default: return std::nullopt;
    }
  }

  const ExprPool& pool_;
  Domain& domain_;
  const std::vector<ExprId> nodes_;  // children before parents
  std::vector<Affine> forms_;        // of the first of them
};

}  // namespace

std::optional<Affine> as_affine(const ExprPool& pool, ExprId expr, Domain& domain) {
  if (pool.is(expr, Op::Axis) && pool.axis_number(expr) < domain.rank())  // as most indices are
    return Affine::variable(pool.axis_number(expr));
  const auto before = static_cast<std::ptrdiff_t>(domain.divisions.size());
  std::optional<Affine> form;
  try {
    form = Converter(pool, domain, expr)();
    // Code wraps at 64 bits where the form does not. Sums on the way may wrap, as they wrap back.
    if (form) (void)domain.box_range(*form);
  } catch (const Overflow&) {
    form.reset();
  }
  if (!form) domain.divisions.erase(domain.divisions.begin() + before, domain.divisions.end());
  return form;
}

ExprId to_expr(ExprPool& pool, const Affine& form, const Domain& domain) {
  // Divisions use earlier divisions only: their expressions are built in order.
  std::vector<ExprId> variables;
  for (size_t k = 0; k < domain.rank(); ++k) variables.push_back(pool.axis(k));
  const auto build = [&](const Affine& f) {
    ExprId total = pool.constant_int(0);
    for (size_t k = 0; k < f.size(); ++k)
      if (f.coefficient(k) != 0)
        total = pool.add(total, pool.mul(variables[k], pool.constant_int(f.coefficient(k))));
    return pool.add(total, pool.constant_int(f.constant()));
  };
  for (const Division& d : domain.divisions)
    variables.push_back(
        pool.make(Op::FloorDiv, {build(d.numerator), pool.constant_int(d.divisor)}));
  return build(form);
}

}  // namespace adjit::graph
