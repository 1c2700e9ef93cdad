// runtime/domain/divisions.hpp -- the derived floors of a piece, in their simplest form.
#pragma once

#include <vector>

#include "runtime/domain/fibre.hpp"

namespace adjit::domain {

/// Replaces every variable of the piece's rows, numerators and source axes.
void rewrite(FibrePiece& piece, std::span<const Affine> replacements);

/// Rewrites every division to its simplest equal one and merges equal ones: multiples of the
/// divisor leave the numerator, constants become constants, and a part that stays within one
/// multiple of a common factor vanishes: (2*j + (k - 2*(k // 2))) // 4 is j // 2.
void simplify_divisions(FibrePiece& piece);

/// Keeps the divisions that something uses, those of earlier axes first.
void order_divisions(FibrePiece& piece);

}  // namespace adjit::domain
