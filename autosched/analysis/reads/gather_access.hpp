// autosched/analysis/reads/gather_access.hpp -- how a stage reads an operand at places that data
// names: which coordinates data decides, which an axis walks, and what can be loaded at once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::sched {

/// Elements of an operand that are one piece of a row (16 bytes), at least 2; 0 where pieces are
/// not taken.
int64_t row_piece(const Graph& graph, TensorId operand);

/// The dimension that an axis walks element by element, of a tensor at these coordinates, if it
/// moves no other one.
std::optional<size_t> dimension_walked(const ExprPool& pool, const Stage& stage,
                                       std::span<const ExprId> index, size_t axis);

/// The dimensions of a tensor at these coordinates with `rows` innermost, around it what data
/// names, and the others outside: rows that neighbouring lanes name lie close together. With eight
/// levels of a grid 12 kB apart, all fell into one set of L1.
std::vector<size_t> order_of_rows(const ExprPool& pool, std::span<const ExprId> index, size_t rows);

}  // namespace adjit::sched
