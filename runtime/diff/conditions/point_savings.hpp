// runtime/diff/conditions/point_savings.hpp -- questions that decide whether a domain takes a row
// more.
#pragma once

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// Whether the restricted domain has clearly fewer points than the other: rows make loops and tiles
/// ragged. False where they cannot be counted.
bool saves_points(const Domain& domain, const Domain& restricted);

/// Whether every point of the output axes provably has a point of the reduction axes. Rows that
/// mention more than one of these are not looked at: the answer is no.
bool always_has_terms(const Domain& domain);

/// Whether a stage reads at indices that data gives, which are checked wherever its domain is: it
/// keeps that whole, or what else a program computes would decide which of them are.
bool reads_at_data(const ExprPool& pool, const Stage& stage);

/// What a condition is at all points of a domain.
enum class Decided : uint8_t { True, False, Open };
Decided decided(ExprPool& pool, ExprId condition, const Domain& domain);

}  // namespace adjit::diff
