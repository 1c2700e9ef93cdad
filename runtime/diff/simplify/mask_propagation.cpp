// runtime/diff/simplify/mask_propagation.cpp -- domains shrink to where a tensor is not one known
// constant.
//
// Worked example, scores under a causal mask:
//   m(i, j) = select(j <= i, s(i, j), -inf)     is -inf where i - j < 0
//   t(i) max=! m(i, r)                          -inf adds nothing to a maximum: i >= r
//   e(i, j) = exp(m(i, j) - t(i))               exp(-inf) is 0 there:           i >= j
//   o(i, k) +=! e(i, r) * v(r, k)               nor does 0 to a sum:            i >= r
// Every stage asks itself what it is where one row is negative: its body is evaluated with what is
// known of the tensors that it reads there. The rows come from these tensors and from the selects
// of the body.
//
// As in restrict.cpp, what a mask sets to 0 is 0 whatever multiplies it, and -inf stays it whatever
// is added (but another masked value): behind a mask there is no NaN from an infinite v.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "runtime/diff/conditions/condition.hpp"
#include "runtime/diff/conditions/guards.hpp"
#include "runtime/diff/conditions/point_savings.hpp"
#include "runtime/diff/conditions/prefix_reduction.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/domain/bounds.hpp"
#include "runtime/expr/scalar.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::diff {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What a tensor is where a row over its axes is negative.
struct Background {
  Affine row;
  double value = 0;
};

struct Known {
  std::vector<Background> backgrounds;
  bool masked = false;  // some of its points may be an infinity that a mask has put there
  bool vacant = false;  // some may be what a mask leaves no term, or only zeros: 0 over 0
};

// What a point adds that does not count; NaN where there is no such thing.
double identity_of(CombinerKind kind) {
  switch (kind) {
    case CombinerKind::None:
    case CombinerKind::Sum: return 0;
    case CombinerKind::Max: return -kInfinity;
    case CombinerKind::Min: return kInfinity;
    default: return std::numeric_limits<double>::quiet_NaN();
  }
}

bool is_plain(const Domain& domain, const Affine& row) { return row.size() <= domain.rank(); }

Domain with_row(Domain domain, Affine row) {
  domain.inequalities.push_back(std::move(row));
  return domain;
}

// Whether a domain has all points of its box at which a row is negative.
bool all_points(const Domain& domain, const Affine& row) {
  Domain box;
  box.extents = domain.extents;
  box.output_rank = domain.output_rank;
  box.inequalities.push_back(Affine(-1) - row);
  return domain.equalities.empty() &&
         std::ranges::all_of(domain.inequalities, [&](const Affine& other) {
           return is_plain(domain, other) && implies(box, other);
         });
}

// Values of expressions at the points of a domain, where they are one constant there.
class Evaluator {
 public:
  Evaluator(ExprPool& pool, const std::map<uint32_t, Known>& known, Domain domain)
      : pool_(pool), known_(known), domain_(std::move(domain)) {}

  std::optional<double> operator()(ExprId root) {
    for (const ExprId id : reachable(pool_, std::span(&root, 1)))
      if (is_float(pool_.dtype(id))) {
        std::optional<double> value = evaluate(id);
        if (value) value = round_to(*value, pool_.dtype(id));
        values_.emplace(id.value, value);
      }
    return values_.at(root.value);
  }

 private:
  std::optional<double> of(ExprId id) const {
    const auto found = values_.find(id.value);
    return found == values_.end() ? std::nullopt : found->second;
  }

  std::optional<double> evaluate(ExprId id) {
    const std::span<const ExprId> operands = pool_.operands(id);
    const auto of = [&](size_t k) { return this->of(operands[k]); };
    switch (pool_[id].op) {
      case Op::Constant: return pool_.value(id);
      case Op::Read: return read(id);
      case Op::Select: return select(id);
      case Op::Cast: return is_float(pool_.dtype(operands[0])) ? of(0) : std::nullopt;
      case Op::Neg: return of(0) ? std::optional(-*of(0)) : std::nullopt;
      case Op::Exp:
      case Op::Exp2:
      case Op::Sigmoid: return of(0) == -kInfinity ? std::optional(0.0) : std::nullopt;
      case Op::Add: return sum(id, of(0), of(1));
      case Op::Sub: return sum(id, of(0), of(1) ? std::optional(-*of(1)) : std::nullopt);
      case Op::Mul: return product(id, of(0), of(1));
      case Op::Div:
        return of(0) == 0.0 && of(1) != 0.0 && !masked(operands[1]) && !vacant(operands[1])
                   ? of(0)
                   : std::nullopt;
      default: return std::nullopt;
    }
  }

  std::optional<double> sum(ExprId id, std::optional<double> a, std::optional<double> b) const {
    if (a && b) return std::isnan(*a + *b) ? std::nullopt : std::optional(*a + *b);
    for (size_t k = 0; k < 2; ++k)
      if (const auto& one = k == 0 ? a : b;
          one && std::isinf(*one) && !masked(other(id, k)) && !vacant(other(id, k)))
        return one;
    return std::nullopt;
  }

  // 0 times what is not known; an infinity times a positive constant.
  std::optional<double> product(ExprId id, std::optional<double> a, std::optional<double> b) const {
    if (a && b) return std::isnan(*a * *b) ? std::nullopt : std::optional(*a * *b);
    for (size_t k = 0; k < 2; ++k)
      if (const auto& one = k == 0 ? a : b; one == 0.0 && !masked(other(id, k))) return 0.0;
    return std::nullopt;
  }

  ExprId other(ExprId id, size_t k) const { return pool_.operand(id, 1 - k); }

  // Whether an expression may be an infinity from a mask: of a tensor, or of its own.
  bool masked(ExprId root) const {
    return any_in(root, [&](ExprId id) {
      if (const auto value = pool_.value(id); value && std::isinf(*value)) return true;
      return reads(id, &Known::masked);
    });
  }
  // Whether it may be 0, or the logarithm of 0, where a mask has put that or left a sum no terms.
  bool vacant(ExprId root) const {
    return any_in(root, [&](ExprId id) {
      return chooses_zero(id) || reads(id, &Known::vacant) || reads_zeros(id);
    });
  }

  bool chooses_zero(ExprId id) const {
    return pool_.is(id, Op::Select) &&
           (pool_.value(pool_.operand(id, 1)) == 0.0 || pool_.value(pool_.operand(id, 2)) == 0.0);
  }

  // Whether a read may be of what a mask has set to 0.
  bool reads_zeros(ExprId id) const {
    if (!pool_.is(id, Op::Read)) return false;
    const auto known = known_.find(pool_.read_tensor(id).value);
    return known != known_.end() &&
           std::ranges::any_of(known->second.backgrounds, [&](const Background& background) {
             if (background.value != 0) return false;
             const auto row = at_index(pool_, background.row, pool_.read_index(id), domain_);
             return !row || !implies(row->domain, row->form);
           });
  }

  template <class Predicate>
  bool any_in(ExprId root, const Predicate& holds) const {
    return std::ranges::any_of(reachable(pool_, std::span(&root, 1)), holds);
  }

  bool reads(ExprId id, bool Known::* what) const {
    if (!pool_.is(id, Op::Read)) return false;
    const auto known = known_.find(pool_.read_tensor(id).value);
    return known != known_.end() && known->second.*what;
  }

  std::optional<double> read(ExprId id) {
    const auto known = known_.find(pool_.read_tensor(id).value);
    if (known == known_.end()) return std::nullopt;
    const bool guarded = pool_.read_predicate(id).valid();
    for (const Background& background : known->second.backgrounds) {
      if (guarded && background.value != 0) continue;
      const auto row = at_index(pool_, background.row, pool_.read_index(id), domain_);
      if (row && implies(row->domain, Affine(-1) - row->form)) return background.value;
    }
    return std::nullopt;
  }

  std::optional<double> select(ExprId id) {
    const auto yes = of(pool_.operand(id, 1)), no = of(pool_.operand(id, 2));
    if (yes && yes == no) return yes;
    switch (decided(pool_, pool_.operand(id, 0), domain_)) {
      case Decided::True: return yes;
      case Decided::False: return no;
      case Decided::Open: break;
    }
    return std::nullopt;
  }

  ExprPool& pool_;
  const std::map<uint32_t, Known>& known_;
  Domain domain_;
  std::map<uint32_t, std::optional<double>> values_;
};

class SupportRestrictor {
 public:
  explicit SupportRestrictor(Graph graph) : graph_(std::move(graph)) {}

  Graph operator()() {
    for (Stage& stage : graph_.stages) {
      if (stage.kind != StageKind::Compute || stage.bodies.size() != 1 ||
          !is_float(graph_.info(stage.results[0]).dtype) ||
          std::isnan(identity_of(stage.combiner.kind))) {
        pass_on(stage);
        continue;
      }
      restrict(stage);
    }
    return std::move(graph_);
  }

 private:
  // What a stage of another kind reads may come out of it.
  void pass_on(const Stage& stage) {
    for (TensorId id : tensors_read(graph_, stage)) {
      const auto known = known_.find(id.value);
      if (known == known_.end()) continue;
      const bool masked = known->second.masked, vacant = known->second.vacant;
      for (TensorId result : stage.results) {
        known_[result.value].masked |= masked;
        known_[result.value].vacant |= vacant;
      }
    }
  }

  void restrict(Stage& stage) {
    const double identity = identity_of(stage.combiner.kind);
    const bool whole = prefix_reduction(graph_.pool, stage) || reads_at_data(graph_.pool, stage);
    Known result;
    Domain terms = stage.domain;  // points that are not 0 or nothing by a mask
    bool zeros = false;           // that a maximum or minimum may be
    for (const Affine& row : candidates(stage)) {
      const auto value =
          Evaluator(graph_.pool, known_, with_row(stage.domain, Affine(-1) - row))(stage.bodies[0]);
      if (!value) continue;
      if (*value == 0 || *value == identity) terms.inequalities.push_back(row);
      zeros = zeros || (*value == 0 && std::isinf(identity));
      if (*value == identity && !whole) {
        const Domain restricted = with_row(stage.domain, row);
        const bool kept = std::isinf(identity) ? always_has_terms(restricted) : true;
        if (kept && saves_points(stage.domain, restricted)) {
          stage.domain = restricted;
          continue;
        }
      }
      if (stage.combiner.kind != CombinerKind::None) continue;
      // The body says nothing of where the domain has no point: there the result is 0.
      if (*value != 0 && !all_points(stage.domain, row)) continue;
      result.backgrounds.push_back({row, *value});
      result.masked = result.masked || std::isinf(*value);
    }
    // Rows of the results alone leave the identity.
    for (const Affine& row : stage.domain.inequalities) {
      if (row.size() > stage.domain.output_rank) continue;
      result.backgrounds.push_back({row, identity});
      result.masked = result.masked || std::isinf(identity);
    }
    result.masked = result.masked || reads_masked(stage) ||
                    (std::isinf(identity) && !always_has_terms(stage.domain));
    result.vacant = zeros || reads_vacant(stage) ||
                    (stage.combiner.kind != CombinerKind::None && !always_has_terms(terms));
    if (result.masked || result.vacant || !result.backgrounds.empty())
      known_[stage.results[0].value] = std::move(result);
  }

  // Rows that may leave the stage's body without a value that counts.
  std::vector<Affine> candidates(const Stage& stage) {
    constexpr size_t kMostNodes = 256, kMostRows = 4;
    ExprPool& pool = graph_.pool;
    std::vector<Affine> rows;
    const auto add = [&](const Domain& domain, const Affine& row) {
      if (rows.size() < kMostRows && is_plain(domain, row) && !row.is_constant() &&
          std::ranges::find(rows, row) == rows.end() && !implies(stage.domain, row))
        rows.push_back(row);
    };
    const std::vector<ExprId> nodes = reachable(pool, stage.bodies);
    if (nodes.size() > kMostNodes) return rows;
    for (const ExprId id : nodes) {
      if (pool.is(id, Op::Select) && is_float(pool.dtype(id))) {
        for (const bool negated : {false, true}) {
          const ExprId condition = pool.operand(id, 0);
          Domain domain = stage.domain;
          const size_t before = domain.inequalities.size();
          restrict_by(pool, negated ? negation(pool, condition) : condition, domain);
          for (size_t k = before; k < domain.inequalities.size(); ++k)
            add(stage.domain, domain.inequalities[k]);
        }
      } else if (pool.is(id, Op::Read)) {
        const auto known = known_.find(pool.read_tensor(id).value);
        if (known == known_.end()) continue;
        for (const Background& background : known->second.backgrounds)
          if (const auto row = at_index(pool, background.row, pool.read_index(id), stage.domain))
            add(stage.domain, row->form);
      }
    }
    return rows;
  }

  bool reads_vacant(const Stage& stage) {
    return std::ranges::any_of(tensors_read(graph_, stage), [&](TensorId id) {
      const auto known = known_.find(id.value);
      return known != known_.end() && known->second.vacant;
    });
  }

  // Whether the stage reads what a mask may have made infinite, at points where it may have.
  bool reads_masked(const Stage& stage) {
    ExprPool& pool = graph_.pool;
    return std::ranges::any_of(reachable(pool, stage.bodies), [&](ExprId id) {
      if (!pool.is(id, Op::Read)) return false;
      const auto known = known_.find(pool.read_tensor(id).value);
      if (known == known_.end() || !known->second.masked) return false;
      bool infinite = false;
      for (const Background& background : known->second.backgrounds) {
        if (!std::isinf(background.value)) continue;
        infinite = true;
        const auto row = at_index(pool, background.row, pool.read_index(id), stage.domain);
        if (!row || !implies(row->domain, row->form)) return true;
      }
      return !infinite;  // it came from elsewhere
    });
  }

  Graph graph_;
  std::map<uint32_t, Known> known_;  // by tensor
};

}  // namespace

Graph restrict_to_supports(Graph graph) { return SupportRestrictor(std::move(graph))(); }

}  // namespace adjit::diff
