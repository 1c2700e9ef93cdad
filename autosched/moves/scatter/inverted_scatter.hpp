// autosched/moves/scatter/inverted_scatter.hpp -- what an inverted scatter (invert.cpp) is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "autosched/moves/moves.hpp"
#include "autosched/moves/scatter/inversion.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// The product of extents, at most INT64_MAX.
int64_t saturating_product(std::span<const int64_t> extents);

/// A scatter, and what stages over its rows, or over blocks of places, and the axes that write
/// apart are made of.
struct InvertedScatter {
  InvertedScatter(Program& scheduled, size_t at, const InvertedAxes& inverted)
      : program(scheduled),
        graph(scheduled.graph),
        pool(scheduled.graph.pool),
        stage(at),
        whole(scheduled.graph.stages[at]),
        name(stage_name(graph, whole)),
        shape(graph.info(whole.results[0]).shape),
        axes(inverted) {
    for (const size_t a : axes.points) point_extents.push_back(whole.domain.extents[a]);
    for (const size_t d : axes.rows) row_extents.push_back(shape[d]);
    places = saturating_product(point_extents);
  }

  DType dtype() const { return graph.info(whole.results[0]).dtype; }
  ExprId number(int64_t value) { return pool.constant_int(value); }
  ExprId small(TensorId tensor, ExprId index, ExprId predicate = {}) {
    const ExprId value = pool.read(tensor, DType::Int32, std::span(&index, 1), predicate);
    return pool.cast(value, DType::Int64);
  }

  // Axes of points at point number `at`.
  std::vector<ExprId> points_at(ExprId at) {
    std::vector<ExprId> now(whole.domain.rank(), at);
    unflatten(at, point_extents, [&](size_t k, ExprId axis) { now[axes.points[k]] = axis; });
    return now;
  }

  template <typename Put>
  void unflatten(ExprId at, const std::vector<int64_t>& extents, Put&& put) {
    int64_t below = 1;
    for (size_t k = extents.size(); k-- > 0; below *= extents[k]) {
      ExprId axis = at;
      if (below > 1) axis = pool.make(Op::FloorDiv, {axis, number(below)});
      if (k > 0) axis = pool.make(Op::Mod, {axis, number(extents[k])});
      put(k, axis);
    }
  }

  ExprId row_number(std::span<const ExprId> coordinates) {
    ExprId row = number(0);
    for (size_t k = 0; k < coordinates.size(); ++k)
      row = pool.add(pool.mul(row, number(row_extents[k])), coordinates[k]);
    return row;
  }

  // The whole scatter's axes at a point, where those that write apart are `apart`.
  std::vector<ExprId> axes_at(ExprId point, std::span<const ExprId> apart) {
    std::vector<ExprId> now = points_at(point);
    for (size_t k = 0; k < axes.apart.size(); ++k) now[axes.apart[k]] = apart[k];
    return now;
  }
  // What the point at a place of the order adds; `there`: where it is read at all. Points outside
  // the domain have places, too, behind all rows.
  ExprId term(ExprId place, std::span<const ExprId> apart, ExprId there = {});

  Program& program;
  LoweredGraph& graph;
  ExprPool& pool;
  size_t stage;
  const Stage whole;
  const std::string name;
  const std::vector<int64_t> shape;
  const InvertedAxes axes;
  std::vector<int64_t> point_extents, row_extents;
  int64_t places = 0;
  Inversion inversion;
};

/// The row of each point, or behind the last one for points outside the domain and such that write
/// nothing.
Stage keys_of(InvertedScatter& of);

/// The sum of each block of so many places that are all one row's; inserted before the scatter.
TensorId sums_of_blocks(InvertedScatter& of, int64_t piece);

/// What a row combines: its points, or, where it has whole blocks, fewer places than that.
struct RowTerms {
  ExprId begin, end;  // of the places of a row
  ExprId value;       // at one of them
};
/// `blocks`: of sums_of_blocks(); not valid: there are none.
RowTerms terms_of_rows(InvertedScatter& of, ExprId row, ExprId place, std::span<const ExprId> apart,
                       TensorId blocks, int64_t piece);

/// `value` at the places of a segment (program/segments.hpp), else `outside`.
ExprId in_segment(ExprPool& pool, ExprId begin, ExprId place, ExprId end, ExprId value,
                  ExprId outside);

}  // namespace adjit::sched
