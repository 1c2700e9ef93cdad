// autosched/program/nests.hpp -- finding nests and loops in a program, and what a loop variable
// ranges over.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Stages go by the name of their first result, which every rewriting keeps.
const std::string& stage_name(const Graph& graph, const Stage& stage);

/// One serial loop for each axis whose extent is not 1, in domain order, numbered from
/// variable_count.
Nest plain_nest(const LoweredGraph& graph, size_t stage, uint32_t& variable_count);

/// Fills Program::readers; rewriting the graph calls for it again.
void index_readers(Program& program);

/// Where a stage's nest is: its kernel and, from the kernel's root down, the positions in
/// `attached`.
struct NestPath {
  size_t kernel = 0;
  std::vector<size_t> steps;  // empty: the root
};
/// Logarithmic for the root of a kernel, linear in the program otherwise. nullopt: the stage is not
/// in the program.
std::optional<NestPath> find_nest(const Program& program, size_t stage);
/// Whether a stage is all of a kernel: it is attached to none, and none to it.
bool is_alone(const Program& program, size_t stage);
/// Whether it is, and no move has changed its loops.
bool is_plain_kernel(const Program& program, size_t stage);
Nest& nest_at(Program& program, const NestPath& path);
const Nest& nest_at(const Program& program, const NestPath& path);
/// The number of the first stage whose kernel may read all of a tensor: it stands behind the kernel
/// in whose loops the tensor is computed. 0 for what no stage computes; none is in place.
size_t complete_from(const Program& program, TensorId tensor);
/// Stages in no nest, whose results are in place, ascending.
std::vector<size_t> stages_in_place(const Program& program);
/// Points of all nests of a kernel, as if each ran over its whole domain once.
double points_of(const Program& program, const Kernel& kernel);
/// Tensors that the nests of a kernel read or write in memory, ascending: all but local ones.
std::vector<TensorId> tensors_in_memory(const Program& program, const Kernel& kernel);
/// The nest of a stage that is in the program.
const Nest& nest_of(const Program& program, size_t stage);

/// Calls visit(nest) for a nest and everything attached to it, hosts before what is attached to
/// them.
template <typename NestType, typename Visit>
void for_each_nest(NestType& nest, Visit&& visit) {
  visit(nest);
  for (auto& attached : nest.attached) for_each_nest(attached.nest, visit);
}

/// Splits loop l in place into an outer loop of `step`, a multiple of its own, and what is left of
/// it. Nests attached inside loop l stay so, and move with both.
void split_loop(Nest& nest, uint32_t& variable_count, size_t l, int64_t step);
/// Positions in nest.loops of the loops over an axis, outermost first.
std::vector<size_t> loops_over(const Nest& nest, size_t axis);
/// How many consecutive points of the axis one iteration of the loops [0, depth) covers: the step
/// of the innermost loop over it there, or its whole span.
int64_t width_below(const Nest& nest, size_t axis, size_t depth);
/// Whether the nest visits each result's reduction points in domain order, as combiners that are
/// not commutative need it (ArgMax and ArgMin take the first of equal values; Custom).
bool keeps_reduction_order(const Stage& stage, const Nest& nest);
bool is_commutative(CombinerKind kind);
/// Whether the nest visits its points in an order that gives the stage's results (up to rounding).
bool order_is_legal(const LoweredGraph& graph, const Stage& stage, const Nest& nest);
/// Whether points of a scatter that differ in this axis always write different elements, if they
/// write: a target is an affine form of the axis alone, but for a condition (segments.hpp).
bool writes_apart(const Graph& graph, const Stage& stage, size_t axis);
/// Whether the loops over this axis may run in parallel: output axes along which nothing runs on,
/// those that write apart, and all of a scatter that writes each element once.
bool is_independent(const LoweredGraph& graph, const Stage& stage, size_t axis);
/// Whether tasks may be parts of this reduction axis, one after the other: there are some, and
/// their partial results are as wide as what is stored.
bool goes_on_in_memory(const LoweredGraph& graph, const Stage& stage, size_t axis);
/// The first point of the axis in one iteration of the loops [0, depth), over the kernel's
/// variables.
Affine origin_above(const Nest& nest, size_t axis, size_t depth);

}  // namespace adjit::sched
