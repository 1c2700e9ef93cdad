// autosched/gathered_rows.hpp -- operands at places that data names, read row by row.
//
// A gather takes an element for every lane. Where the places of the lanes are data's choice, but an
// axis of the stage walks the operand by itself (the channels of an image that a flow samples), a
// tile that has several points of that axis takes a piece of a row for every lane, and transposes
// the pieces in registers (jit/emit/transposed_load.cpp): a quarter of the loads of float32. The
// rows must lie contiguously; where they do not, a copy of the operand with that dimension
// innermost may pay.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "autosched/access.hpp"
#include "autosched/moves.hpp"

namespace adjit {

/// Elements of an operand that are one piece of a row (16 bytes), at least 2; 0 where pieces are
/// not taken.
int64_t row_piece(const Graph& graph, TensorId operand);

/// Cycles to load a piece of each lane's row and to transpose them: a load a lane, insertions that
/// make them whole vectors, and rounds of shuffles. They are the vectors of `piece` points.
double row_load_cost(int64_t lanes, int64_t piece);

/// Whether an expression reads a tensor.
bool reads_data(const ExprPool& pool, ExprId expr);

/// Whether a coordinate moves with an axis.
bool moves_with(const ExprPool& pool, ExprId coordinate, size_t axis);

/// The dimension that an axis walks element by element, of a tensor at these coordinates, if it
/// moves no other one.
std::optional<size_t> dimension_walked(const ExprPool& pool, const Stage& stage,
                                       std::span<const ExprId> index, size_t axis);

/// The dimensions of a tensor at these coordinates with `rows` innermost, around it what data
/// names, and the others outside: rows that neighbouring lanes name lie close together. With eight
/// levels of a grid 12 kB apart, all fell into one set of the first cache.
std::vector<size_t> order_of_rows(const ExprPool& pool, std::span<const ExprId> index, size_t rows);

/// The copy of an operand that has the dimension innermost which an axis of the stage walks alone,
/// where data decides other dimensions; nullopt where there is no such axis of about a piece or
/// more, or its dimension is innermost anyway.
std::optional<Packing> rows_innermost(const Graph& graph, const Stage& stage,
                                      const MemoryAccess& access);

}  // namespace adjit
