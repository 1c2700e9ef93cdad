// autosched/structural_zeros.hpp -- terms of sums that a zero in memory makes zero anyway.
//
//   L(j, l) = l <= j ? ... : 0;   y(i, j) = sum over l <= j of L(j, l) x(i, l)
// The row l <= j was derived from the zeros of L (zero elimination). It bounds loops, but where
// lanes or copies of a tile lie on both sides of it, a mask at every step costs more than adding
// the zeros, which the user wrote down. (Times a number that is not finite they are NaN, as they
// were in the program as the user wrote it.)
#pragma once

#include "autosched/program.hpp"

namespace adjit {

/// Whether a factor of the product that a stage sums is a tensor of which other stages store a 0
/// wherever `row` >= 0 does not hold, in the box of the stage's axes as far as its other rows hold.
/// A proof: false means not proven.
bool is_zero_outside(const Graph& graph, const Stage& stage, const Affine& row);

}  // namespace adjit
