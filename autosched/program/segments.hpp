// autosched/program/segments.hpp -- stages that go through a segment of an axis for each row.
//
//   h(i, j) += x(order(q), j)    for first(i) <= q < first(i + 1)
// is a scatter over all q, most of whose points write nothing: what names the row is
//   select(first(i) <= q && q < first(i + 1), i, -1).
// It is a reduction, too, if h starts from nothing, most of whose points add nothing: its body is
//   select(first(i) <= q && q < first(i + 1), x(order(q), j), 0).
// A serial loop over q, inside those over what the condition reads, goes over the segment alone.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::sched {

/// A scatter's target that is select(begin <= axis && axis < end, inside, a negative number), or
/// the bodies of a reduction over the axis, each select(the same, its own, what adds nothing), with
/// bounds that data gives; where no other part of the condition and of the target uses the axis.
struct Segments {
  size_t dimension = 0;  // of a scatter's result
  size_t axis = 0;       // of the stage
  ExprId begin, end;
  std::vector<ExprId> inside;  // at points of the segment: the target, or the bodies
};
/// The first such target of a scatter, or all bodies of a reduction; nullopt of other stages.
std::optional<Segments> segments_of(const ExprPool& pool, const Stage& stage);

/// Points of the axis that a row has on average, if each is one row's: the rows are those that the
/// bounds tell apart.
double mean_length(const ExprPool& pool, const Stage& stage, const Segments& segments);

}  // namespace adjit::sched
