// autosched/program/segments.cpp -- conditions that hold in a segment of an axis.
#include "autosched/program/segments.hpp"

#include <algorithm>
#include <cmath>

#include "autosched/program/graph_edit.hpp"
#include "runtime/graph/identity.hpp"

namespace adjit::sched {
namespace {

// select(begin <= axis && axis < end, inside, outside).
struct Conditional {
  Segments segments;
  ExprId outside;
};
std::optional<Conditional> segments_in(const ExprPool& pool, ExprId expr) {
  if (!pool.is(expr, Op::Select)) return std::nullopt;
  const ExprId condition = pool.operand(expr, 0);
  if (!pool.is(condition, Op::And)) return std::nullopt;
  const ExprId lower = pool.operand(condition, 0), upper = pool.operand(condition, 1);
  if (!pool.is(lower, Op::Le) || !pool.is(upper, Op::Lt)) return std::nullopt;
  const ExprId axis = pool.operand(lower, 1);
  if (!pool.is(axis, Op::Axis) || pool.operand(upper, 0) != axis) return std::nullopt;
  Segments found;
  found.axis = pool.axis_number(axis);
  found.begin = pool.operand(lower, 0);
  found.end = pool.operand(upper, 1);
  found.inside = {pool.operand(expr, 1)};
  for (const ExprId part : {found.begin, found.end})
    if (uses(pool, part, found.axis)) return std::nullopt;
  return Conditional{std::move(found), pool.operand(expr, 2)};
}

std::optional<Segments> segments_of_target(const ExprPool& pool, ExprId target) {
  std::optional<Conditional> found = segments_in(pool, target);
  if (!found || uses(pool, found->segments.inside[0], found->segments.axis)) return std::nullopt;
  const std::optional<int64_t> outside = pool.int_value(found->outside);
  return outside && *outside < 0 ? std::optional(std::move(found->segments)) : std::nullopt;
}

// Where a form of axes says where a segment is, the stage is a sum over a band.
bool depends_on_data(const ExprPool& pool, const Segments& segments) {
  const ExprId bounds[] = {segments.begin, segments.end};
  return std::ranges::any_of(reachable(pool, bounds),
                             [&](ExprId id) { return pool.is(id, Op::Read); });
}

std::optional<Segments> segments_of_bodies(const ExprPool& pool, const Stage& stage) {
  if (!has_partial_results(stage.combiner.kind)) return std::nullopt;
  std::optional<Segments> all;
  for (const ExprId body : stage.bodies) {
    std::optional<Conditional> one = segments_in(pool, body);
    if (!one || one->segments.axis < stage.domain.output_rank ||
        !graph::is_identity_of(pool, stage.combiner.kind, one->outside))
      return std::nullopt;
    if (!all) {
      all = std::move(one->segments);
    } else if (one->segments.axis == all->axis && one->segments.begin == all->begin &&
               one->segments.end == all->end) {
      all->inside.push_back(one->segments.inside[0]);
    } else {
      return std::nullopt;
    }
  }
  return all && depends_on_data(pool, *all) ? all : std::nullopt;
}

}  // namespace

double mean_length(const ExprPool& pool, const Stage& stage, const Segments& segments) {
  auto length = static_cast<double>(stage.domain.extents[segments.axis]);
  for (size_t a = 0; a < stage.domain.rank(); ++a)
    if (uses(pool, segments.begin, a) || uses(pool, segments.end, a))
      length /= static_cast<double>(std::max<int64_t>(stage.domain.extents[a], 1));
  return length;
}

std::optional<Segments> segments_of(const ExprPool& pool, const Stage& stage) {
  if (stage.kind == StageKind::Compute) return segments_of_bodies(pool, stage);
  if (stage.kind != StageKind::Scatter) return std::nullopt;
  for (size_t d = 0; d < stage.target.size(); ++d)
    if (std::optional<Segments> found = segments_of_target(pool, stage.target[d])) {
      found->dimension = d;
      return found;
    }
  return std::nullopt;
}

}  // namespace adjit::sched
