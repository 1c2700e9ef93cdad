// autosched/analysis/reads/indexed_vectors.hpp -- rows that data names, as rows: what sums and
// scatters of them share.
//
//   y[p] = sum over c, k of v[p, k] * w[p, c] * G[i[p] + c, k]
// is a product of values (v), of weights (w) and of a row of G, which a place names. Lanes along
// the points p take an element of each lane's row for every c and k. Lanes along a row take all of
// it at once, and what weighs it is one number.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "autosched/program/program.hpp"
#include "runtime/diff/rewrite/factors.hpp"

namespace adjit::sched {

inline constexpr size_t kMostRowAxes = 62;  // of a stage: a bit each

/// The factors of a product, those of select(c, -x, x), too: x and a sign.
Product factors_with_signs(ExprPool& pool, ExprId body);

/// Whether a box has no points.
bool box_is_empty(const Domain& domain);

/// Whether 32 bits hold all coordinates of an array's rows.
bool has_short_places(std::span<const int64_t> shape);

/// The axes of a set, ascending.
std::vector<size_t> axes_of(AxisSet set);

/// A sum over rows of an operand that data names, taken apart.
struct RowSum {
  const char* refusal = nullptr;  // why it cannot be; null when it can
  ExprId read;                    // of the operand, by all bodies
  struct Term {
    Product weights, values;  // factors that are the same along a row, and the others
  };
  std::vector<Term> terms;  // of the bodies
  AxisSet corners = 0;      // axes of the sum that only name rows and weigh them
  AxisSet points = 0;       // the other axes that do
  size_t side = 0;          // the last of these among the results' axes
  int64_t elements = 0;     // of a row that are read
};
RowSum row_sum(LoweredGraph& graph, const Stage& stage, TensorId operand);

/// A scatter into rows that data names, taken apart.
struct RowScatter {
  const char* refusal = nullptr;
  std::vector<size_t> row;  // axes along a row, the one of the largest steps first
  Product weights, values;  // factors that move along a row are values
  AxisSet points = 0;       // the other axes of the values
  AxisSet corners = 0;      // all others: several rows get the same values
  size_t side = 0;          // the last of the points' axes
  int64_t elements = 1;     // of a row that are written
};
RowScatter row_scatter(Graph& graph, const Stage& stage);
/// Elements of a row that may be written so: all of its array's where nobody reads the others.
int64_t elements_with_room(const Program& program, size_t stage, const RowScatter& rows);

/// Rows that a stage over `domain` weighs.
struct WeighedRows {
  Domain domain;
  std::vector<ExprId> weights;  // over its axes, one for every result; invalid: none
  std::vector<ExprId> places;   // the coordinates of a row
  size_t along = 0;             // the axis along which both are computed side by side
};

/// Lets a stage that is about to stand at `stage` read its weights and places from stages of their
/// own in front of it, where these take more than an operation; `stage` moves up by them. Names
/// begin with `name`. Places take 32 bits there.
void compute_ahead(Program& program, size_t& stage, const std::string& name, WeighedRows& rows);

}  // namespace adjit::sched
