// runtime/diff/rules/transpose_access.cpp -- from accesses to gathers and scatters.
#include "runtime/diff/rules/transpose_access.hpp"

#include <algorithm>
#include <unordered_map>

#include "runtime/diff/indices/index_pieces.hpp"
#include "runtime/diff/indices/indices.hpp"
#include "runtime/diff/rewrite/factors.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/domain/bounds.hpp"
#include "runtime/domain/fibre.hpp"
#include "runtime/graph/affine_constraint.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::diff {
namespace {

// The common case without the solver: every coordinate is a different axis over the tensor's whole
// extent and the domain is a box. Output axes j are those axes, the others are summed over.
std::optional<FibrePiece> permuted(const Domain& domain, std::span<const Affine> index,
                                   const std::vector<int64_t>& shape) {
  if (!domain.is_box()) return std::nullopt;
  std::vector<size_t> coordinate_of(domain.rank(), SIZE_MAX);
  for (size_t d = 0; d < index.size(); ++d) {
    const Affine& form = index[d];
    const size_t axis = form.size() - 1;  // trimmed: the last coefficient is not zero
    if (form.is_constant() || form != Affine::variable(axis) || axis >= domain.rank())
      return std::nullopt;
    if (coordinate_of[axis] != SIZE_MAX || domain.extents[axis] != shape[d]) return std::nullopt;
    coordinate_of[axis] = d;
  }
  FibrePiece piece;
  piece.domain.extents = shape;
  piece.domain.output_rank = shape.size();
  for (size_t axis = 0; axis < domain.rank(); ++axis) {
    if (coordinate_of[axis] != SIZE_MAX) {
      piece.original.push_back(Affine::variable(coordinate_of[axis]));
    } else if (domain.extents[axis] == 1) {
      piece.original.push_back(Affine(0));
    } else {
      piece.original.push_back(Affine::variable(piece.domain.rank()));
      piece.domain.extents.push_back(domain.extents[axis]);
    }
  }
  return piece;
}

// Whether a read stays in its tensor at every point of the domain, provably.
bool in_bounds(const Graph& graph, ExprId read, const Domain& domain) {
  const ExprPool& pool = graph.pool;
  const std::vector<int64_t>& shape = graph.info(pool.read_tensor(read)).shape;
  const IndexMap map = index_map(pool, pool.read_index(read), domain);
  for (size_t d = 0; d < shape.size(); ++d) {
    const std::optional<Affine>& form = map.forms[d];
    if (!form || !implies(map.domain, *form)) return false;
    if (!implies(map.domain, Affine(shape[d] - 1) - *form)) return false;
  }
  return true;
}

// Where a gather may be non-zero: a condition over the tensor's axes alone, which holds at least
// there. It is evaluated at every element, so its reads are guarded by the rows that keep them in
// bounds, and a conjunct with a read that these rows do not keep in bounds is left out.
RestrictedDomain support_of(Graph& graph, const Domain& domain, ExprId condition) {
  ExprPool& pool = graph.pool;
  const size_t rank = domain.output_rank;
  RestrictedDomain support;
  support.domain = shape_box(
      {domain.extents.begin(), domain.extents.begin() + static_cast<std::ptrdiff_t>(rank)});
  support.empty = !add_rows(support.domain, domain);
  const ExprId rows = rows_condition(pool, support.domain);
  for (ExprId literal : conjuncts(pool, condition)) {
    const ExprId roots[] = {literal};
    bool usable = true;
    std::unordered_map<uint32_t, ExprId> guarded;
    for (ExprId id : reachable(pool, roots)) {
      usable = usable && !(pool.is(id, Op::Axis) && pool.axis_number(id) >= rank);
      if (!usable || !pool.is(id, Op::Read)) continue;
      usable = in_bounds(graph, id, support.domain);
      const std::vector<ExprId> index(pool.read_index(id).begin(), pool.read_index(id).end());
      guarded.emplace(id.value, pool.read(pool.read_tensor(id), pool.dtype(id), index,
                                          both(pool, pool.read_predicate(id), rows)));
    }
    if (usable) support.rest = both(pool, support.rest, replace_nodes(pool, roots, guarded)[0]);
  }
  return support;
}

Contribution gather(Graph& graph, FibrePiece piece, ExprId condition, ExprId value) {
  ExprPool& pool = graph.pool;
  const std::vector<ExprId> original = to_exprs(pool, piece.original, piece.domain);
  const ExprId roots[] = {value, condition};
  const std::vector<ExprId> rewritten = substitute_axes(pool, roots, original);
  Contribution result;
  result.body = guard(pool, rewritten[1], rewritten[0]);
  result.support = support_of(graph, piece.domain, rewritten[1]);
  if (piece.domain.is_box()) piece.domain.divisions.clear();
  result.domain = std::move(piece.domain);
  return result;
}

// Whether a condition says no more than that the coordinate is in range.
bool is_its_range(ExprPool& pool, ExprId condition, ExprId coordinate, int64_t extent) {
  const ExprId low = pool.make(Op::Le, {pool.constant_int(0), coordinate});
  const ExprId high = pool.make(Op::Lt, {coordinate, pool.constant_int(extent)});
  return std::ranges::all_of(conjuncts(pool, condition),
                             [&](ExprId literal) { return literal == low || literal == high; });
}

// Where points that a condition excludes are written: out of range, in one coordinate. Data chooses
// that one, if any: an axis that alone makes up a coordinate stays one. Coordinates that data
// chooses are looked up only where the condition holds.
std::vector<ExprId> excluding_target(ExprPool& pool, const Domain& domain,
                                     std::span<const ExprId> index, std::span<const int64_t> shape,
                                     ExprId condition) {
  std::vector<ExprId> target(index.begin(), index.end());
  bool excluded = false;
  const auto exclude = [&](size_t d) {
    if (!is_its_range(pool, condition, index[d], shape[d]))
      target[d] = pool.select(condition, index[d], pool.constant_int(-1));
    excluded = true;
  };
  const IndexMap map = index_map(pool, index, domain);
  for (size_t d = 0; d < index.size(); ++d)
    if (!map.forms[d]) exclude(d);
  if (!excluded && !index.empty()) exclude(0);
  return target;
}

Contribution scatter(ExprPool& pool, Domain domain, const std::vector<ExprId>& index,
                     std::span<const int64_t> shape, ExprId condition, ExprId value) {
  Contribution result;
  domain.output_rank = 0;
  result.domain = std::move(domain);
  result.scatter = true;
  result.body = guard(pool, condition, value);
  // A point that the condition excludes may hold any index: send it out of range, and drop it
  // there.
  result.out_of_range = condition.valid() ? OutOfRange::Drop : OutOfRange::Error;
  result.target =
      condition.valid() ? excluding_target(pool, result.domain, index, shape, condition) : index;
  return result;
}

// A value that multiplies a guarded read (zero padding) is structurally zero where the guard fails:
// the affine part of the guard restricts the domain, and the read keeps only the rest of it.
ExprId without_padding(ExprPool& pool, ExprId value, Domain& domain, bool& empty) {
  std::unordered_map<uint32_t, ExprId> replacements;
  for (const Factor& factor : factors_of(pool, value).factors) {
    const ExprId read = factor.expr;
    if (factor.inverse || !pool.is(read, Op::Read) || !pool.read_predicate(read).valid()) continue;
    const Restriction r = restrict_by(pool, pool.read_predicate(read), domain);
    empty = empty || r.empty;
    const std::vector<ExprId> index(pool.read_index(read).begin(), pool.read_index(read).end());
    replacements.emplace(read.value,
                         pool.read(pool.read_tensor(read), pool.dtype(read), index, r.rest));
  }
  if (replacements.empty()) return value;
  const ExprId roots[] = {value};
  return replace_nodes(pool, roots, replacements)[0];
}

// The read's coordinates as they are inside the domain.
std::vector<ExprId> index_within(ExprPool& pool, ExprId read, const Domain& domain) {
  std::vector<ExprId> index(pool.read_index(read).begin(), pool.read_index(read).end());
  for (ExprId& coordinate : index) coordinate = without_choices(pool, coordinate, domain);
  return index;
}

struct Gathered {
  FibrePiece piece;
  ExprId condition;  // over the source's axes
};

// All points of the domain where the condition may hold, by the element that they read; nullopt
// when there is no telling, or the solver gives up.
std::optional<std::vector<Gathered>> gathered_points(ExprPool& pool, const Domain& source,
                                                     std::span<const ExprId> index,
                                                     const std::vector<int64_t>& shape,
                                                     ExprId condition) {
  const std::optional<std::vector<IndexPiece>> parts = index_pieces(pool, source, index, condition);
  if (!parts) return std::nullopt;
  std::vector<Gathered> found;
  for (const IndexPiece& part : *parts) {
    if (std::optional<FibrePiece> piece = permuted(part.domain, part.index, shape)) {
      found.push_back({std::move(*piece), part.condition});
      continue;
    }
    std::optional<std::vector<FibrePiece>> pieces = fibre(part.domain, part.index, shape);
    if (!pieces) return std::nullopt;
    for (FibrePiece& piece : *pieces) found.push_back({std::move(piece), part.condition});
  }
  return found;
}

// The same as contributions to the elements' cotangents. A fibre whose conditions have more than 64
// bits is none.
std::optional<std::vector<Contribution>> gathers(Graph& graph, const Domain& source,
                                                 std::span<const ExprId> index,
                                                 const std::vector<int64_t>& shape,
                                                 ExprId condition, ExprId value) {
  try {
    std::optional<std::vector<Gathered>> points =
        gathered_points(graph.pool, source, index, shape, condition);
    if (!points) return std::nullopt;
    std::vector<Contribution> contributions;
    for (Gathered& part : *points)
      contributions.push_back(gather(graph, std::move(part.piece), part.condition, value));
    return contributions;
  } catch (const Overflow&) {
    return std::nullopt;
  }
}

}  // namespace

void turn_round(Graph& graph, Restrictions& domain, const Access& access, size_t origin,
                std::vector<Contribution>& contributions) {
  ExprPool& pool = graph.pool;
  const std::vector<int64_t> shape = graph.info(pool.read_tensor(access.read)).shape;
  if (pool.is_zero(access.value)) return;
  const RestrictedDomain& guards =
      domain(both(pool, access.condition, pool.read_predicate(access.read)));
  Domain source = guards.domain;
  bool empty = guards.empty;
  const ExprId value = without_padding(pool, access.value, source, empty);
  if (empty) return;
  const auto add = [&](Contribution c) {
    c.origin = origin;
    contributions.push_back(std::move(c));
  };
  const std::vector<ExprId> index = index_within(pool, access.read, source);
  if (std::optional<std::vector<Contribution>> gathered =
          gathers(graph, source, index, shape, guards.rest, value)) {
    for (Contribution& contribution : *gathered) add(std::move(contribution));
  } else {
    add(scatter(pool, std::move(source), index, shape, guards.rest, value));
  }
}

}  // namespace adjit::diff
