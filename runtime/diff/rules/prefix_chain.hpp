// runtime/diff/rules/prefix_chain.hpp -- the derivative of prefix reductions in linear time.
//
// A prefix reduction (prefix_reduction.hpp) is a chain of partial results, s(t) = C(s(t-1), b(t)).
// What reaches s(t) is what its own reader sends, G(t), and what the next link passes on:
//   R(t) = G(t) + A(t+1) R(t+1),   A(t) = dC/ds at (s(t-1), b(t)),
// and b(t) gets dC/db R(t). That is a scan, linear in its carry, from the last link to the first,
// which runs as a prefix reduction again (linear_scans.cpp); its own derivative is a scan, too.
// Worked example, y(i) = prod over r <= i of x(r): A(t) = x(t), and x(t) gets y(t-1) R(t) with
// R(t) = G(t) + x(t+1) R(t+1), which divides by nothing and counts zeros of any number.
#pragma once

#include <optional>
#include <span>

#include "runtime/diff/rules/reducers.hpp"
#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// Seeds for the bodies of graph.stages[stage] when it is a prefix reduction by Product or Custom:
/// over its output axes, where the points of its reduction are those of the axis it runs along.
/// nullopt for other stages. Appends stages, a scan among them.
std::optional<StageSeeds> seed_prefix_chain(Graph& graph, size_t stage,
                                            std::span<const Cotangent> cotangents);

/// Whether a stage is such a prefix reduction.
bool is_prefix_chain(const Graph& graph, const Stage& stage);

/// The same reduction written with a custom combiner.
Combiner as_custom(ExprPool& pool, const Stage& stage);

}  // namespace adjit::diff
