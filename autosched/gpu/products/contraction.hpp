// autosched/gpu/products/contraction.hpp -- sums of products by what their two operands are read
// along, and which of their axes become those of a product of matrices.
//
//   y[i, o, h, w] = sum over c, a, b of x[i, c, h + a, w + b] * f[o, c, a, b]
// has the axes i, h, w of one operand, o of the other one, and sums over those of both. With h and
// w as one axis n, and o as m, it is a product for each i; with i, h and w as one, it is one
// product, whose results lie elsewhere.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "autosched/program/lowered_graph.hpp"

namespace adjit::sched {

/// Some factors of a sum of products, by their numbers (factors_of), and the stage's axes that move
/// them.
struct Operand {
  std::vector<size_t> factors;
  std::vector<bool> axes;
};

/// A sum of products of two operands: each reduction axis moves both, each output axis one of them
/// at least. Rows of the domain that only say that reads are inside their tensors are about the
/// axes of one operand; others (a triangle of terms) are about any, and leave a quarter of the
/// points at least.
struct Contraction {
  Operand first, second;
};
std::optional<Contraction> contraction_of(const LoweredGraph& graph, const Stage& stage);

/// Of how many terms blocks make one value of an operand, the first or the second, that they
/// compute instead of reading it: results along the axes of the other operand, those of a tile at
/// most.
double terms_of_value(const Domain& domain, const Contraction& contraction, bool first);

/// Whether a stage may be a product of few rows or columns that is faster by itself than as a
/// sibling of others: of less than four the values of the other operand take the time, from eight
/// on siblings leave it apart anyway (multiplies_pairs).
bool is_thin_product(const LoweredGraph& graph, const Stage& stage);

/// The output axes as a product's: `order[p]` is the p-th; n is the last `n_axes` of them, m the
/// `m_axes` from the p-th on, p = `m`. All others are batches.
struct Arrangement {
  std::vector<size_t> order;
  size_t m = 0, m_axes = 1, n_axes = 1;
};
/// The arrangement that takes the least time; nullopt where no product has m, n and k as large as a
/// tile of threads needs them. `reshapes`: m and n may be several axes, and their order another
/// one, so that results lie elsewhere, or have another shape.
std::optional<Arrangement> arrangement_of(const LoweredGraph& graph, const Stage& stage,
                                          const Contraction& contraction, bool reshapes);

}  // namespace adjit::sched
