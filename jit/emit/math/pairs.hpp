// jit/emit/math/pairs.hpp -- arithmetic on pairs of floats, to twice their digits or nearly so.
//
// exact_sum and exact_product (lanes.hpp) make pairs. Here nothing is guarded: a part that is
// infinite makes the other NaN.
#pragma once

#include <span>

#include "jit/emit/ir/lanes.hpp"
#include "jit/emit/math/pair_tables.hpp"

namespace adjit::emit::elementary {

Pair product(Pair a, Pair b);
Pair product(Pair a, Floats b);
Pair sum(Pair a, Pair b);
Pair sum(Pair a, Floats b);
Pair negated(Pair a);
Pair reciprocal(Floats a);
Pair reciprocal(Pair a);
Pair square_root(Pair a);
Floats rounded(Pair a);

Pair pair_of(Floats like, pair_tables::Number number);
/// Lowest order first: coefficients that are pairs, then doubles, whose terms together are so small
/// that the digits of doubles do.
Pair polynomial(Pair x, std::span<const pair_tables::Number> first, std::span<const double> rest);

/// log(high + low) of a positive normal number, to about 2^-65 of the result; to 2^-54 where high
/// is 1, of which low is added to first order.
Pair log_pair(Pair x);

}  // namespace adjit::emit::elementary
