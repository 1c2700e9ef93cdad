// runtime/trace/ops/contractions/contraction_order.cpp -- the cheapest order, by subsets.
#include "runtime/trace/ops/contractions/contraction_order.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "runtime/expr/error.hpp"

namespace adjit::trace {
namespace {

constexpr size_t kExactUpTo = 8;

using Subset = uint32_t;  // a bit for each operand

void widen(LabelledExtents& to, const LabelledExtents& by) {
  for (const auto& [label, extent] : by) {
    int64_t& own = to.try_emplace(label, extent).first->second;
    if (own == 1) own = extent;  // which broadcasts, also to 0
  }
}

double elements(const LabelledExtents& operand) {
  double product = 1;
  for (const auto& [label, extent] : operand) product *= static_cast<double>(extent);
  return product;
}

// The multiply-adds of joining two operands.
double points(const LabelledExtents& a, const LabelledExtents& b) {
  LabelledExtents both = a;
  widen(both, b);
  return elements(both);
}

// What is made between two joins is stored and read, and so is its gradient: in multiply-adds, as
// what memory gives in their time goes.
double passing(const LabelledExtents& joined, bool is_last) {
  constexpr double kElement = 48;
  return is_last ? 0 : kElement * elements(joined);
}

// How often a gradient computes a join: once for its value, unless that is the result, and once for
// the gradient of each operand.
double times(bool is_last) { return is_last ? 2 : 3; }

// What is left of `all` where only `others` and the result need labels.
LabelledExtents kept(LabelledExtents all, std::span<const LabelledExtents* const> others,
                     const Labels& out) {
  std::erase_if(all, [&](const auto& entry) {
    return std::ranges::find(out, entry.first) == out.end() &&
           std::ranges::none_of(others,
                                [&](const LabelledExtents* x) { return x->contains(entry.first); });
  });
  return all;
}

// Cheapest ways to join subsets of the operands.
class Table {
 public:
  Table(std::span<const LabelledExtents> operands, const Labels& out)
      : operands_(operands), all_((Subset{1} << operands.size()) - 1), ways_(all_ + 1) {
    for (Subset s = 1; s <= all_; ++s) ways_[s] = best_of(s, out);
  }

  // The subsets that are joined, smaller ones first.
  [[nodiscard]] std::vector<std::pair<Subset, Subset>> pairs() const {
    std::vector<std::pair<Subset, Subset>> found;
    collect(all_, found);
    return found;
  }

 private:
  struct Way {
    double cost = 0;
    LabelledExtents joined;
    Subset left = 0;  // the part with the first operand; 0 for a single operand
  };

  [[nodiscard]] Way best_of(Subset s, const Labels& out) const {
    if (std::has_single_bit(s)) return {0, operands_[static_cast<size_t>(std::countr_zero(s))], 0};
    const Subset first = s & -s;
    Way best{std::numeric_limits<double>::infinity(), {}, 0};
    for (Subset left = (s - 1) & s; left != 0; left = (left - 1) & s) {
      if ((left & first) == 0) continue;
      const Way &a = ways_[left], &b = ways_[s ^ left];
      const double cost = a.cost + b.cost + times(s == all_) * points(a.joined, b.joined);
      if (cost < best.cost || (cost == best.cost && comes_before(left, best.left)))
        best = {cost, {}, left};
    }
    LabelledExtents joined;
    std::vector<const LabelledExtents*> others;
    for (size_t k = 0; k < operands_.size(); ++k)
      if ((s >> k & 1) != 0)
        widen(joined, operands_[k]);
      else
        others.push_back(&operands_[k]);
    best.joined = kept(std::move(joined), others, out);
    best.cost += passing(best.joined, s == all_);
    return best;
  }

  // Of parts that are joined to the rest of their subset at last: from left to right that is all
  // but the last operand.
  static bool comes_before(Subset a, Subset b) {
    return std::popcount(a) > std::popcount(b) || (std::popcount(a) == std::popcount(b) && a < b);
  }

  void collect(Subset s, std::vector<std::pair<Subset, Subset>>& found) const {
    const Subset left = ways_[s].left;
    if (left == 0) return;
    collect(left, found);
    collect(s ^ left, found);
    found.emplace_back(left, s ^ left);
  }

  std::span<const LabelledExtents> operands_;
  Subset all_;
  std::vector<Way> ways_;  // by subset
};

std::vector<Join> exact(std::span<const LabelledExtents> operands, const Labels& out) {
  std::vector<Subset> list;  // the operands that are left, each as what it was joined of
  for (size_t k = 0; k < operands.size(); ++k) list.push_back(Subset{1} << k);
  std::vector<Join> joins;
  for (const auto& [a, b] : Table(operands, out).pairs()) {
    const auto at = [&](Subset s) {
      return static_cast<size_t>(std::ranges::find(list, s) - list.begin());
    };
    const Join join{std::min(at(a), at(b)), std::max(at(a), at(b))};
    list[join.first] = a | b;
    list.erase(list.begin() + static_cast<long>(join.second));
    joins.push_back(join);
  }
  return joins;
}

std::vector<Join> greedy(std::span<const LabelledExtents> operands, const Labels& out) {
  std::vector<LabelledExtents> list(operands.begin(), operands.end());
  std::vector<std::vector<double>> costs(list.size());  // of an operand with each later one
  const auto price = [&](size_t a, size_t b) { costs[a][b - a - 1] = points(list[a], list[b]); };
  for (size_t a = 0; a < list.size(); ++a) {
    costs[a].resize(list.size() - a - 1);
    for (size_t b = a + 1; b < list.size(); ++b) price(a, b);
  }
  std::vector<Join> joins;
  while (list.size() > 1) {
    Join best{0, 1};
    double least = std::numeric_limits<double>::infinity();
    for (size_t a = 0; a + 1 < list.size(); ++a) {
      const auto cheapest = std::ranges::min_element(costs[a]);
      if (*cheapest >= least) continue;
      least = *cheapest;
      best = {a, a + 1 + static_cast<size_t>(cheapest - costs[a].begin())};
    }
    LabelledExtents joined = list[best.first];
    widen(joined, list[best.second]);
    list.erase(list.begin() + static_cast<long>(best.second));
    costs.erase(costs.begin() + static_cast<long>(best.second));
    for (size_t a = 0; a < best.second; ++a)
      costs[a].erase(costs[a].begin() + static_cast<long>(best.second - a - 1));
    std::vector<const LabelledExtents*> others;
    for (size_t k = 0; k < list.size(); ++k)
      if (k != best.first) others.push_back(&list[k]);
    list[best.first] = kept(std::move(joined), others, out);
    for (size_t k = 0; k < list.size(); ++k)
      if (k != best.first) price(std::min(k, best.first), std::max(k, best.first));
    joins.push_back(best);
  }
  return joins;
}

}  // namespace

std::vector<Join> contraction_order(std::span<const LabelledExtents> operands, const Labels& out) {
  invariant(operands.size() >= 2, "operands to join");
  return operands.size() <= kExactUpTo ? exact(operands, out) : greedy(operands, out);
}

}  // namespace adjit::trace
