// runtime/graph/verify/linear_system.cpp -- proving that no integer point satisfies a conjunction
// of affine rows.
#include "runtime/graph/verify/linear_system.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace adjit::graph {
namespace {

constexpr size_t kMaxRows = 400;

struct Contradiction {};

Affine divided(const Affine& row, int64_t by) {
  Affine result(floor_div(row.constant(), by));
  for (size_t k = 0; k < row.size(); ++k) result.set_coefficient(k, row.coefficient(k) / by);
  return result;
}

class Eliminator {
 public:
  explicit Eliminator(LinearSystem system) : equalities_(std::move(system.equalities)) {
    for (const Affine& row : system.inequalities) add(row);
  }

  // Throws Contradiction; returns when the rows are used up, or too many.
  void operator()() {
    while (!equalities_.empty()) {
      const Affine equality = equalities_.back();
      equalities_.pop_back();
      use_equality(equality);
    }
    while (rows_.size() <= kMaxRows) {
      const std::optional<size_t> variable = cheapest_variable();
      if (!variable) return;
      project(*variable);
    }
  }

 private:
  // Keeps the tightest constant per direction; two opposite directions that miss each other are a
  // contradiction.
  void add(const Affine& given) {
    const int64_t g = gcd_of_coefficients(given);
    if (g == 0) {
      if (given.constant() < 0) throw Contradiction();
      return;
    }
    Affine row = g > 1 ? divided(given, g) : given;
    const int64_t constant = row.constant();
    row.set_constant(0);
    const std::vector<int64_t> direction(row.coefficients().begin(), row.coefficients().end());
    const auto [at, fresh] = rows_.emplace(direction, constant);
    if (!fresh) at->second = std::min(at->second, constant);
    std::vector<int64_t> opposite = direction;
    for (int64_t& c : opposite) c = checked_mul(c, -1);
    if (const auto other = rows_.find(opposite); other != rows_.end())
      if (at->second < checked_mul(other->second, -1)) throw Contradiction();
  }

  static Affine affine(const std::pair<const std::vector<int64_t>, int64_t>& row) {
    Affine form(row.second);
    for (size_t k = row.first.size(); k-- > 0;) form.set_coefficient(k, row.first[k]);
    return form;
  }

  void use_equality(const Affine& given) {
    const int64_t g = gcd_of_coefficients(given);
    if (g == 0) {
      if (given.constant() != 0) throw Contradiction();
      return;
    }
    if (given.constant() % g != 0) throw Contradiction();
    const Affine equality = divided(given, g);
    // The smallest coefficient loses least; with 1 the elimination is exact over the integers.
    size_t pivot = 0;
    int64_t best = 0;
    for (size_t k = 0; k < equality.size(); ++k) {
      const int64_t c = std::abs(equality.coefficient(k));
      if (c != 0 && (best == 0 || c < best)) {
        best = c;
        pivot = k;
      }
    }
    const auto substituted = [&](const Affine& row) {
      const int64_t c = row.coefficient(pivot);
      if (c == 0) return row;
      const int64_t sign = equality.coefficient(pivot) > 0 ? -1 : 1;
      return row * best + equality * checked_mul(c, sign);
    };
    for (Affine& row : equalities_) row = substituted(row);
    std::map<std::vector<int64_t>, int64_t> before;
    std::swap(before, rows_);
    for (const auto& row : before) add(substituted(affine(row)));
    if (best > 1) {  // the pivot's value must still be an integer: keep both halves
      add(equality);
      add(-equality);
    }
  }

  std::optional<size_t> cheapest_variable() const {
    std::vector<size_t> positive, negative;
    for (const auto& [direction, constant] : rows_)
      for (size_t k = 0; k < direction.size(); ++k) {
        if (k >= positive.size()) {
          positive.resize(k + 1);
          negative.resize(k + 1);
        }
        (direction[k] > 0 ? positive : negative)[k] += direction[k] != 0;
      }
    std::optional<size_t> best;
    for (size_t k = 0; k < positive.size(); ++k) {
      if (positive[k] + negative[k] == 0) continue;
      if (!best || positive[k] * negative[k] < positive[*best] * negative[*best]) best = k;
    }
    return best;
  }

  void project(size_t k) {
    std::vector<Affine> lower, upper;
    std::map<std::vector<int64_t>, int64_t> before;
    std::swap(before, rows_);
    for (const auto& row : before) {
      const int64_t c = k < row.first.size() ? row.first[k] : 0;
      if (c == 0)
        rows_.insert(row);
      else
        (c > 0 ? lower : upper).push_back(affine(row));
    }
    for (const Affine& low : lower)
      for (const Affine& high : upper) {
        add(low * -high.coefficient(k) + high * low.coefficient(k));
        if (rows_.size() > kMaxRows) return;
      }
  }

  std::vector<Affine> equalities_;
  std::map<std::vector<int64_t>, int64_t> rows_;  // direction to constant
};

}  // namespace

bool is_certainly_empty(LinearSystem system) {
  try {
    Eliminator(std::move(system))();
  } catch (const Contradiction&) {
    return true;
  } catch (const Overflow&) {
    return false;  // not certain
  }
  return false;
}

}  // namespace adjit::graph
