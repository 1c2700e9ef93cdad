// runtime/diff/rules/prefix_winner.hpp -- running maxima and minima, by the point that holds each.
//
// y(i) = max over r <= i of x(r), ties to the first, is x(W(i)) for the winner's number W, which
// the same running reduction keeps: what reaches y(i) goes to x(W(i)), a scatter of as many points
// as y has elements, and the tangent of y(i) is that of x(W(i)).
#pragma once

#include <optional>

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

struct PrefixWinner {
  ExprId body;    // the first body at the winner, over the output axes
  ExprId exists;  // whether there is one
};

/// Of a prefix reduction by max or min with ties to the first, or by argmax or argmin; nullopt for
/// other stages. May turn a Max or Min stage into ArgMax or ArgMin with one more result.
std::optional<PrefixWinner> prefix_winner(Graph& graph, size_t stage);

}  // namespace adjit::diff
