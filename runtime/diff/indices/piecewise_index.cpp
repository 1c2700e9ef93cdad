// runtime/diff/indices/piecewise_index.cpp -- the form is found by a walk; the pieces are those of
// the index over a line.
#include "runtime/diff/indices/piecewise_index.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "runtime/diff/indices/index_choices.hpp"
#include "runtime/diff/indices/index_pieces.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/domain/bounds.hpp"

namespace adjit::diff {
namespace {

// Beyond this no number of a map is told from the ends of int64: sums and differences of two, and a
// step times an argument, are exact.
constexpr int64_t kFarthest = int64_t{1} << 61;

// The largest parts of an index that are affine, by their nodes.
using Parts = std::unordered_map<uint32_t, Affine>;

// False where the index is made of something else, too.
bool find_parts(const ExprPool& pool, ExprId id, Domain& domain, Parts& parts,
                std::unordered_map<uint32_t, bool>& seen) {
  if (seen.contains(id.value)) return true;
  seen[id.value] = true;
  if (pool.dtype(id) == DType::Int64) {
    if (std::optional<Affine> form = as_affine(pool, id, domain)) {
      parts.emplace(id.value, std::move(*form));
      return true;
    }
  }
  if (pool.is(id, Op::Constant)) return true;
  return is_index_operation(pool[id].op) &&
         std::ranges::all_of(pool.operands(id), [&](ExprId operand) {
           return find_parts(pool, operand, domain, parts, seen);
         });
}

size_t first_variable(const Affine& form) {
  return static_cast<size_t>(
      std::ranges::find_if(form.coefficients(), [](int64_t c) { return c != 0; }) -
      form.coefficients().begin());
}

// The form divided by the gcd of its coefficients, the first one positive, without its constant.
Affine direction_of(const Affine& form) {
  const int64_t gcd = form.coefficient(first_variable(form)) < 0 ? -gcd_of_coefficients(form)
                                                                 : gcd_of_coefficients(form);
  Affine direction;
  for (size_t k = 0; k < form.size(); ++k) direction.set_coefficient(k, form.coefficient(k) / gcd);
  return direction;
}

// The form of which all parts are multiples, but for constants; constant where there is none. It
// has the constant of a part that is the form or its negative, so that x[i - 1] and x[i] read the
// same line at different places.
Affine common_form(const Parts& parts) {
  Affine direction;
  int64_t gcd = 0;
  for (const auto& [node, part] : parts) {
    if (part.is_constant()) continue;
    const Affine own = direction_of(part);
    if (gcd == 0) direction = own;
    if (own != direction) return {};
    gcd = std::gcd(gcd, gcd_of_coefficients(part));
  }
  std::optional<int64_t> constant;
  for (const auto& [node, part] : parts) {
    if (part.is_constant() || gcd_of_coefficients(part) != gcd) continue;
    const bool same = part.coefficient(first_variable(part)) > 0;
    const int64_t own = same ? part.constant() : -part.constant();
    constant = constant ? std::min(*constant, own) : own;
  }
  return direction * gcd + Affine(constant.value_or(0));
}

// Values of `map` at t, which is inside its interval.
std::optional<int64_t> value_at(const Piecewise& map, int64_t t) {
  for (const AffinePiece& piece : map)
    if (piece.begin <= t && t < piece.end) return piece.at(t);
  return std::nullopt;
}

// Adds a piece behind the others, as a part of the last one where it goes on like that.
void append(Piecewise& map, const AffinePiece& piece) {
  if (!map.empty()) {
    AffinePiece& last = map.back();
    const bool lone = last.end - last.begin == 1, short_one = piece.end - piece.begin == 1;
    const int64_t step = lone ? piece.start - last.start : last.step;
    if (last.at(last.begin) + step * (piece.begin - last.begin) == piece.start &&
        (short_one || piece.step == step)) {
      last.step = step;
      last.end = piece.end;
      return;
    }
  }
  // What the last piece only repeats belongs to the one that goes on: 0 for t < 1 and t from there
  // is 0 for t < 0 and t from there.
  AffinePiece next = piece;
  if (next.end - next.begin == 1) next.step = 0;
  if (!map.empty() && map.back().step == 0 && next.step != 0)
    while (map.back().end - map.back().begin > 1 && next.start - next.step == map.back().start) {
      --map.back().end;
      --next.begin;
      next.start -= next.step;
    }
  map.push_back(next);
}

// Raises Overflow for numbers too large to compute with.
void check_reach(const AffinePiece& piece) {
  const Exact step = piece.step;
  const int64_t reached[] = {
      piece.begin,        piece.end,
      piece.start,        piece.start + step * (Exact(piece.end) - piece.begin),
      step * piece.begin, step * piece.end};
  if (std::ranges::any_of(reached, [](int64_t n) { return n > kFarthest || n < -kFarthest; }))
    throw Overflow();
}

// The pieces of an index over the line 0 <= axis 0 < length, where t is axis 0 plus `first`.
std::optional<Piecewise> pieces_on_line(ExprPool& pool, ExprId index, int64_t first,
                                        int64_t length) {
  Domain line;
  line.extents = {length};
  line.output_rank = 1;
  const auto pieces = index_pieces(pool, line, std::span(&index, 1), {});
  if (!pieces) return std::nullopt;
  std::vector<AffinePiece> found;
  for (const IndexPiece& piece : *pieces) {
    const std::optional<Interval> part = interval(piece.domain, Affine::variable(0));
    if (!part || part->empty() || piece.index[0].size() > 1) return std::nullopt;
    const std::array<int64_t, 1> at{part->lo};
    found.push_back({checked_add(first, part->lo), checked_add(first, checked_add(part->hi, 1)),
                     evaluate(piece.index[0], at), piece.index[0].coefficient(0)});
    check_reach(found.back());
  }
  std::ranges::sort(found, {}, &AffinePiece::begin);
  Piecewise map;
  int64_t next = first;
  for (const AffinePiece& piece : found) {
    if (piece.begin != next) return std::nullopt;
    next = piece.end;
    append(map, piece);
  }
  if (next != checked_add(first, length) || map.size() > kMostPiecewise) return std::nullopt;
  return map;
}

std::optional<PiecewiseIndex> function_of(ExprPool& pool, ExprId index, Domain& domain) {
  Parts parts;
  std::unordered_map<uint32_t, bool> seen;
  if (!find_parts(pool, index, domain, parts, seen)) return std::nullopt;
  const Affine form = common_form(parts);
  const size_t any = first_variable(form);
  const int64_t step = form.coefficient(any);
  if (step == 0) return std::nullopt;  // no part depends on an axis
  const std::optional<Interval> values = interval(domain, form);
  if (!values || values->empty()) return std::nullopt;
  const int64_t length = checked_add(checked_sub(values->hi, values->lo), 1);
  std::unordered_map<uint32_t, ExprId> on_line;
  for (const auto& [node, part] : parts) {
    const int64_t scale = part.coefficient(any) / step;
    // scale * (form - its constant) + the part's constant, where the form is values->lo.
    const int64_t start =
        checked_add(part.constant(), checked_mul(scale, checked_sub(values->lo, form.constant())));
    on_line[node] =
        pool.add(pool.mul(pool.axis(0), pool.constant_int(scale)), pool.constant_int(start));
  }
  const ExprId rebuilt = replace_nodes(pool, std::span(&index, 1), on_line)[0];
  std::optional<Piecewise> map = pieces_on_line(pool, rebuilt, values->lo, length);
  if (!map) return std::nullopt;
  return PiecewiseIndex{form, std::move(*map)};
}

}  // namespace

std::optional<PiecewiseIndex> piecewise_index(ExprPool& pool, ExprId index, Domain& domain) {
  try {
    return function_of(pool, index, domain);
  } catch (const Overflow&) {
    return std::nullopt;
  }
}

std::optional<Piecewise> joined(const Piecewise& a, const Piecewise& b) {
  if (b.front().begin < a.front().begin) return joined(b, a);
  if (b.front().begin > a.back().end) return std::nullopt;
  std::vector<int64_t> ends;
  for (const Piecewise* map : {&a, &b})
    for (const AffinePiece& piece : *map) {
      ends.push_back(piece.begin);
      ends.push_back(piece.end);
    }
  std::ranges::sort(ends);
  ends.erase(std::ranges::unique(ends).begin(), ends.end());
  Piecewise whole;
  for (size_t k = 0; k + 1 < ends.size(); ++k) {
    const int64_t first = ends[k], last = ends[k + 1] - 1;
    const auto a_first = value_at(a, first), b_first = value_at(b, first);
    const auto a_last = value_at(a, last), b_last = value_at(b, last);
    if (a_first && b_first && (a_first != b_first || a_last != b_last)) return std::nullopt;
    const int64_t start = a_first ? *a_first : *b_first, end = a_last ? *a_last : *b_last;
    append(whole, {first, last + 1, start, first == last ? 0 : (end - start) / (last - first)});
  }
  return whole;
}

}  // namespace adjit::diff
