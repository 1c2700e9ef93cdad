// autosched/gpu/products/contraction.cpp -- which axes of a sum of products are m, n and batches.
#include "autosched/gpu/products/contraction.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "autosched/analysis/access.hpp"
#include "autosched/analysis/moving_axes.hpp"
#include "autosched/gpu/products/product.hpp"
#include "autosched/gpu/products/product_tile.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/moves/zero_factors.hpp"
#include "autosched/program/points.hpp"
#include "runtime/diff/rewrite/factors.hpp"

namespace adjit::sched {
namespace {

// No GPU has run these kernels yet: guesses.
constexpr double kLeastShare =
    0.25;                     // that a condition leaves of a box, all of which tiles compute
constexpr double kTile = 64;  // points of m and of n that a block computes, at least
constexpr double kClearlyLess = 0.9;
// Multiply-adds in the time in which a result is read and written once more: 8 bytes at 3 TB/s, 25
// T multiply-adds a second (measured: the copy, and products of float32).
constexpr double kMoved = 64;

bool contains(const std::vector<bool>& all, const std::vector<bool>& some) {
  for (size_t a = 0; a < some.size(); ++a)
    if (some[a] && !all[a]) return false;
  return true;
}

// The factors as two operands: one of that with most axes, one of the next that has others.
std::optional<Contraction> operands_of(const ExprPool& pool, const Stage& stage) {
  const diff::Product product = factors_of(pool, stage.bodies.front());
  std::vector<Operand> one_each;
  for (size_t f = 0; f < product.factors.size(); ++f)
    one_each.push_back({{f}, moving_axes(pool, product.factors[f].expr, stage.domain)});
  std::ranges::stable_sort(one_each, std::ranges::greater{},
                           [](const Operand& o) { return std::ranges::count(o.axes, true); });
  Contraction made;
  for (const Operand& operand : one_each) {
    const bool second = !made.first.factors.empty() && !contains(made.first.axes, operand.axes);
    Operand& place = second ? made.second : made.first;
    if (place.factors.empty()) place.axes = operand.axes;
    if (!contains(place.axes, operand.axes)) return std::nullopt;
    place.factors.push_back(operand.factors.front());
  }
  if (made.first.factors.empty() || made.second.factors.empty()) return std::nullopt;
  std::ranges::sort(made.first.factors);
  std::ranges::sort(made.second.factors);
  return made;
}

// Whether zeros of one operand or the other may stand for these rows.
bool rows_fit(const Domain& domain, const Contraction& contraction) {
  const auto fits = [&](const Affine& row) {
    std::vector<bool> used(domain.rank(), false);
    domain.mark_axes(row, used);
    return contains(contraction.first.axes, used) || contains(contraction.second.axes, used);
  };
  return std::ranges::all_of(domain.inequalities, fits) &&
         std::ranges::all_of(domain.equalities, fits);
}

double extent_of(const Domain& domain, const std::vector<size_t>& order, size_t first,
                 size_t count) {
  double extent = 1;
  for (size_t p = first; p < first + count; ++p)
    extent *= static_cast<double>(domain.extents[order[p]]);
  return extent;
}

enum class Side : uint8_t { First, Second, Both };

// Of each output axis; one of a single point goes with its neighbour.
std::vector<Side> sides_of(const Domain& domain, const Contraction& contraction) {
  std::vector<Side> sides(domain.output_rank, Side::Both);
  const auto has_side = [&](size_t a) { return domain.extents[a] > 1; };
  for (size_t a = 0; a < sides.size(); ++a)
    if (has_side(a) && !(contraction.first.axes[a] && contraction.second.axes[a]))
      sides[a] = contraction.first.axes[a] ? Side::First : Side::Second;
  for (size_t a = sides.size(); a-- > 0;)  // the next one
    if (!has_side(a) && a + 1 < sides.size()) sides[a] = sides[a + 1];
  size_t last = sides.size();
  while (last > 0 && !has_side(last - 1)) --last;
  for (size_t a = last; last > 0 && a < sides.size(); ++a) sides[a] = sides[last - 1];
  return sides;
}

// m and n as long as they may be in this order of the output axes.
std::optional<Arrangement> longest_in(std::vector<size_t> order, const std::vector<Side>& sides) {
  const auto side = [&](size_t p) { return sides[order[p]]; };
  const size_t outputs = order.size();
  if (side(outputs - 1) == Side::Both) return std::nullopt;
  Arrangement made;
  while (made.n_axes < outputs && side(outputs - 1 - made.n_axes) == side(outputs - 1))
    ++made.n_axes;
  const Side other = side(outputs - 1) == Side::First ? Side::Second : Side::First;
  size_t end = outputs - made.n_axes;
  while (end > 0 && side(end - 1) != other) --end;
  if (end == 0) return std::nullopt;
  made.m = end - 1;
  while (made.m > 0 && side(made.m - 1) == other) --made.m;
  made.m_axes = end - made.m;
  made.order = std::move(order);
  return made;
}

// Batches first, then the axes of one side, then those of the other: that of the last axis that has
// one, so that results are moved in pieces as long as may be.
std::vector<size_t> sorted_order(const std::vector<Side>& sides, std::vector<size_t> order) {
  Side last = Side::Both;
  for (size_t axis : order)
    if (sides[axis] != Side::Both) last = sides[axis];
  std::ranges::stable_sort(order, {}, [&](size_t axis) {
    return sides[axis] == Side::Both ? 0 : sides[axis] == last ? 2 : 1;
  });
  return order;
}

// Multiply-adds of a result, those of idle parts of tiles, too.
double time_of(const Domain& domain, const Arrangement& arrangement) {
  const std::vector<size_t>& order = arrangement.order;
  const double m = extent_of(domain, order, arrangement.m, arrangement.m_axes);
  const double n = extent_of(domain, order, order.size() - arrangement.n_axes, arrangement.n_axes);
  const auto in_tiles = [](double extent) {
    if (extent < kLeastResults) return 1.0;  // tiles are as long
    return std::ceil(extent / kTile) * kTile / extent;
  };
  const double moved = std::ranges::is_sorted(order) ? 0 : kMoved;
  return terms_of(domain) * in_tiles(m) * in_tiles(n) + moved;
}

bool fills_tiles(const Domain& domain, const Arrangement& arrangement) {
  const std::vector<size_t>& order = arrangement.order;
  const double m = extent_of(domain, order, arrangement.m, arrangement.m_axes);
  const double n = extent_of(domain, order, order.size() - arrangement.n_axes, arrangement.n_axes);
  const auto [less, more] = std::minmax(m, n);
  return terms_of(domain) >= kLeastProductTerms && less >= kFewestResults &&
         more >= (less < kLeastResults ? kLeastBesideFew : kLeastResults);
}

}  // namespace

std::optional<Contraction> contraction_of(const LoweredGraph& graph, const Stage& stage) {
  const Domain& domain = stage.domain;
  if (stage.kind != StageKind::Compute || running_of(graph, stage) ||
      !is_product_sum(graph, stage) || domain.output_rank < 2 || domain.reduction_rank() == 0 ||
      std::ranges::count(domain.extents, 0) > 0)
    return std::nullopt;
  const DType dtype = graph.pool.dtype(stage.bodies.front());
  if (accumulator_of(dtype) != dtype) return std::nullopt;
  std::optional<Contraction> made = operands_of(graph.pool, stage);
  if (!made) return std::nullopt;
  for (size_t a = 0; a < domain.rank(); ++a) {
    const bool both = made->first.axes[a] && made->second.axes[a];
    if (domain.extents[a] == 1) continue;  // there is nothing to read along it
    if (!made->first.axes[a] && !made->second.axes[a]) return std::nullopt;
    if (a >= domain.output_rank && !both) return std::nullopt;
  }
  if (domain.is_box()) return made;
  const bool is_padding = rows_follow_from_reads(graph, stage);
  const bool fits = is_padding
                        ? rows_fit(domain, *made) && have_values(graph, tensors_read(graph, stage))
                        // What a condition excludes may name places that there are not.
                        : share_of_box(domain) >= kLeastShare && !reads_by_data(graph, stage);
  return fits ? made : std::nullopt;
}

double terms_of_value(const Domain& domain, const Contraction& contraction, bool first) {
  const std::vector<bool>& axes = (first ? contraction.first : contraction.second).axes;
  double results = 1;
  for (size_t a = 0; a < domain.output_rank; ++a)
    if (!axes[a]) results *= static_cast<double>(domain.extents[a]);
  return results / std::ceil(results / kTile);
}

std::optional<Arrangement> arrangement_of(const LoweredGraph& graph, const Stage& stage,
                                          const Contraction& contraction, bool reshapes) {
  const Domain& domain = stage.domain;
  const size_t outputs = domain.output_rank;
  std::vector<size_t> as_it_is(outputs);
  std::iota(as_it_is.begin(), as_it_is.end(), size_t{0});
  const std::vector<Side> sides = sides_of(domain, contraction);
  std::vector<std::optional<Arrangement>> all;
  if (const std::optional<Arrangement> whole = longest_in(as_it_is, sides)) {
    if (product_of(graph, stage) || !reshapes)  // the last of each
      all.push_back(Arrangement{as_it_is, whole->m + whole->m_axes - 1, 1, 1});
    if (reshapes) all.push_back(whole);
  }
  if (reshapes) all.push_back(longest_in(sorted_order(sides, as_it_is), sides));
  std::optional<Arrangement> best;
  for (const std::optional<Arrangement>& one : all)
    if (one && fills_tiles(domain, *one) &&
        (!best || time_of(domain, *one) < kClearlyLess * time_of(domain, *best)))
      best = one;
  return best;
}

bool is_thin_product(const LoweredGraph& graph, const Stage& stage) {
  constexpr double kFewest = 4, kMost = 8;  // guesses
  const std::optional<Contraction> contraction = contraction_of(graph, stage);
  if (!contraction || !arrangement_of(graph, stage, *contraction, true)) return false;
  const double terms = std::min(terms_of_value(stage.domain, *contraction, true),
                                terms_of_value(stage.domain, *contraction, false));
  return kFewest <= terms && terms < kMost;
}

}  // namespace adjit::sched
