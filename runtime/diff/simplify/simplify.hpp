// runtime/diff/simplify/simplify.hpp -- graph-level clean-up with proofs. Every function is pure:
// Graph -> Graph, computing the same outputs for all inputs (sums may be re-associated as stated),
// and leaves inputs and outputs in place.
#pragma once

#include <span>
#include <string_view>

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// All of the passes below that keep a graph fit to be derived (but contract), in an order and
/// number of rounds that end: what vjp and the engine call.
Graph simplify(Graph graph);

/// A pass by the name of its function.
struct CleanUpPass {
  std::string_view name;
  Graph (*run)(Graph);
};
/// The passes of one round of simplify(), in their order.
std::span<const CleanUpPass> clean_up_passes();
/// The passes over a forward before reverse mode, in their order.
std::span<const CleanUpPass> passes_before_derivative();

/// Of a simplified graph that is compiled, and not derived any more: conditions leave sums
/// (masks_behind_sums), and where any does the graph is simplified again; what finds the place of a
/// maximum gives the maximum, too (maxima_of_winners).
Graph simplify_last(Graph graph);

/// Pure index stages (the body is one read or a constant, nothing reduced: reshape, transpose,
/// broadcast, slice, pad) are read through: their consumers read the base tensor at the composed
/// index, as long as it stays quasi-affine. So are one-hot vectors and the like (one of two
/// constants by what a few integers say) and arange: consumers compute them.
Graph inline_views(Graph graph);

/// Reads whose innermost index is a clamped or mirrored affine form read a padded copy at the form
/// itself, where the copy has far fewer elements than there are reads; elsewhere there is a read
/// for each affine piece of the index, if these are few.
Graph padded_reads(Graph graph);

/// Sums of products with reads of one tensor at places that data names, a constant apart (the
/// corners of a cell, written out as terms), become one sum over the window of these places, with
/// weights and places shared.
Graph window_sums(Graph graph);

/// Terms of a sum that differ by the constants in their indices alone, products of two reads or
/// more at least, become one sum over what differs, also through stages that only the sum reads.
Graph reroll_sums(Graph graph);

/// The last three: sums in few stages however they were written. Before a derivative is taken, so
/// that it is one of a sum.
Graph with_whole_sums(Graph graph);

/// Maxima and minima that no output changes with, whatever is added to them (what a softmax
/// subtracts), are constants for the derivative: before one is taken, and beside it, so that equal
/// stages of value and derivative still merge.
Graph stop_at_invariant_shifts(Graph graph);

/// Results that nothing reads leave scans, with the operands and carries that only they needed.
Graph prune_scans(Graph graph);

/// Stages equal in structure (domain, combiner, bodies, target; names and lines aside) and of one
/// region become one, with all their lines.
Graph merge_equal_stages(Graph graph);

/// Guards with affine conditions restrict domains: sum_k select(k == j, a[k], 0) reads one element.
/// Conjunctions of affine comparisons in selects against zero and in read predicates become rows of
/// Sum stages; equalities that fix a reduction axis, also to an integer that data tells, remove it.
/// A disjunction becomes a sum over each of its disjoint parts where these have clearly fewer
/// points.
Graph restrict_domains(Graph graph);

/// A condition of a select against 0 that no reduction axis changes leaves its sum, where the sum
/// reads nothing out of bounds without it. The sum then meets what the condition hid, so that its
/// derivative may be NaN (0 times an infinite slope): for graphs that are not derived any more.
Graph masks_behind_sums(Graph graph);

/// Maxima and minima whose places other stages find are results of these. For graphs that are not
/// derived any more.
Graph maxima_of_winners(Graph graph);

/// Domains shrink to where a tensor is not one known constant: masks of 0 and -inf reach the stages
/// that read what is masked. What a mask has set to 0 is 0 whatever multiplies it.
Graph restrict_to_supports(Graph graph);

/// Domains shrink to the points that other stages read, where these are clearly fewer.
Graph restrict_to_reads(Graph graph);

/// Carries of scans that are linear in themselves (filters, decaying sums) become prefix
/// reductions, and scans that have no other carries stages over all steps.
Graph linear_scans_as_prefixes(const Graph& graph);

/// Reductions of scans' steps that do not wait for the carries leave the loop: before it when the
/// step only reads them, after it when they are only stacked. Where that moves fewer bytes.
Graph split_loops(const Graph& graph);

/// Output axes that a row gives a constant leave their sums; what puts the results in their place
/// is a select.
Graph drop_fixed_outputs(Graph graph);

/// Scatters in which every element has one writer at most (a row writes one of its elements) become
/// selects. Only those that drop what is out of range.
Graph selects_for_unique_scatters(Graph graph);

/// Factors of a Sum's body that are constant over some reduction axes move out of the sum when that
/// reduces work (split_domain.hpp says what happens to rows), or saves a pass over what is summed
/// (awaited_sums.hpp, known_sums.hpp); a sum over an axis that body and rows lack becomes a product
/// with the extent.
Graph hoist_factors(Graph graph);

/// Add(Mul(a, b), c) with a float product used once becomes Fma: applied once, before scheduling;
/// nothing contracts later.
Graph contract(const Graph& graph);

}  // namespace adjit::diff
