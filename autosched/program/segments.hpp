// autosched/program/segments.hpp -- scatters that go through a segment of an axis for each row.
//
//   h(i, j) += x(order(q), j)    for first(i) <= q < first(i + 1)
// is a scatter over all q, most of whose points write nothing: what names the row is
//   select(first(i) <= q && q < first(i + 1), i, -1).
// A serial loop over q, inside those over what the condition reads, goes over the segment alone.
#pragma once

#include <cstddef>
#include <optional>

#include "runtime/graph/graph.hpp"

namespace adjit::sched {

/// A target that is select(begin <= axis && axis < end, inside, a negative number), where no other
/// part of it uses the axis.
struct Segments {
  size_t dimension = 0;  // of the result
  size_t axis = 0;       // of the scatter
  ExprId begin, end;
  ExprId inside;  // the target at points of the segment
};
/// The first such target of a scatter; nullopt of other stages.
std::optional<Segments> segments_of(const ExprPool& pool, const Stage& stage);

/// Points of the axis that a row has on average, if each is one row's: the rows are those that the
/// bounds tell apart.
double mean_length(const ExprPool& pool, const Stage& stage, const Segments& segments);

}  // namespace adjit::sched
