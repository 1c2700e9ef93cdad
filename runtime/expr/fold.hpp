// runtime/expr/fold.hpp -- exact folding of one operation while it is built.
#pragma once

#include <span>

#include "runtime/expr/expr.hpp"

namespace adjit::expr {

/// An existing or new id that equals `op(operands)` bit for bit, or an invalid id when nothing
/// folds. Int64 sums are brought into one canonical order (terms by id, constant last), so that
/// equal affine indices are equal ids. Floats are only folded where IEEE 754 gives the same bits
/// for every operand.
ExprId fold(ExprPool& pool, Op op, DType dtype, std::span<const ExprId> operands);

}  // namespace adjit::expr
