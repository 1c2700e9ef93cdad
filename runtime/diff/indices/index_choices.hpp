// runtime/diff/indices/index_choices.hpp -- nodes of an index whose value the sign of an affine
// form chooses.
//
// min(a, b) is a or b by the sign of b - a, abs(a) is a or -a by that of a, a < b is true or false
// by that of b - a - 1; a == b and sign(a) tell zero from what is above it, too.
#pragma once

#include <optional>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// Operations that indices are computed by from axes and numbers.
bool is_index_operation(Op op);

enum class Sign : uint8_t { Negative, Zero, Positive };

/// What zero chooses.
enum class AtZero : uint8_t {
  AsAbove,  // what the numbers above zero do
  Either,   // likewise, and those below give the same value there: min, max, abs
  Apart,    // a value of its own
};

/// What a node depends on: the sign of a form over a domain's variables.
struct IndexChoice {
  Affine form;
  AtZero zero = AtZero::AsAbove;
};

/// The choice of a min, max, abs, sign or comparison of Int64 forms that are affine over `domain`,
/// whose divisions it may need more of; nullopt for other nodes.
std::optional<IndexChoice> choice_of(const ExprPool& pool, ExprId node, Domain& domain);

/// The node's value under the sign of its choice.
ExprId chosen(ExprPool& pool, ExprId node, Sign sign);

/// The signs that are told apart.
std::vector<Sign> signs_of(const IndexChoice& choice);
/// Restricts a domain to the points of one of these signs.
void restrict_to(Domain& domain, const IndexChoice& choice, Sign sign);

/// The sign that the choice has at every point of the domain, provably.
std::optional<Sign> known_sign(const Domain& domain, const IndexChoice& choice);

}  // namespace adjit::diff
