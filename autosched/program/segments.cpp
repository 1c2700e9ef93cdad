// autosched/program/segments.cpp -- targets that name a row in a segment of an axis.
#include "autosched/program/segments.hpp"

#include <algorithm>

#include "autosched/program/graph_edit.hpp"

namespace adjit::sched {
namespace {

std::optional<Segments> segments_in(const ExprPool& pool, ExprId target) {
  if (!pool.is(target, Op::Select)) return std::nullopt;
  const ExprId condition = pool.operand(target, 0);
  const std::optional<int64_t> outside = pool.int_value(pool.operand(target, 2));
  if (!outside || *outside >= 0 || !pool.is(condition, Op::And)) return std::nullopt;
  const ExprId lower = pool.operand(condition, 0), upper = pool.operand(condition, 1);
  if (!pool.is(lower, Op::Le) || !pool.is(upper, Op::Lt)) return std::nullopt;
  const ExprId axis = pool.operand(lower, 1);
  if (!pool.is(axis, Op::Axis) || pool.operand(upper, 0) != axis) return std::nullopt;
  Segments found;
  found.axis = pool.axis_number(axis);
  found.begin = pool.operand(lower, 0);
  found.end = pool.operand(upper, 1);
  found.inside = pool.operand(target, 1);
  for (const ExprId part : {found.begin, found.end, found.inside})
    if (uses(pool, part, found.axis)) return std::nullopt;
  return found;
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
  if (stage.kind != StageKind::Scatter) return std::nullopt;
  for (size_t d = 0; d < stage.target.size(); ++d)
    if (std::optional<Segments> found = segments_in(pool, stage.target[d])) {
      found->dimension = d;
      return found;
    }
  return std::nullopt;
}

}  // namespace adjit::sched
