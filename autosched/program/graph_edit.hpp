// autosched/program/graph_edit.hpp -- what moves that rewrite the graph share: expressions at other
// points, stages that come and go.
#pragma once

#include <span>
#include <vector>

#include "autosched/program/program.hpp"

namespace adjit::sched {

/// `body` with index[k] for axis k, and `predicate` (if valid) added to the predicate of every read
/// in it.
ExprId body_at(ExprPool& pool, ExprId body, std::span<const ExprId> index, ExprId predicate);
/// Whether an expression uses an axis.
bool uses(const ExprPool& pool, ExprId expr, size_t axis);
/// Whether index[k] is axis k for every k.
bool is_identity(const ExprPool& pool, std::span<const ExprId> index);

/// Sum, Product, Max, Min, Any, All: what can be reduced in parts that are combined afterwards.
bool has_partial_results(CombinerKind kind);
/// What makes one of two partial results.
Op combining_op(CombinerKind kind, DType dtype);
/// A domain with one axis cut into parts of `chunk` points: the parts are its first axis (an output
/// axis), all others move up by one.
Domain partial_domain(const Domain& domain, size_t axis, int64_t parts, int64_t chunk);
/// The axes of the whole domain over those of the partial one.
std::vector<Affine> whole_axes(const Domain& domain, size_t axis, int64_t chunk);

/// `made`, the box of other axes, with the rows of a domain: now[a] stands for axis a.
/// ErrorCode::Schedule where they do not fit 64 bits.
Domain with_rows_of(ExprPool& pool, const Domain& domain, Domain made, std::span<const ExprId> now);
/// Puts now[v] in place of variable v (axes, then divisions) in a domain's rows and divisions.
void substitute_variables(Domain& domain, const std::vector<Affine>& now);

/// Takes stages (ascending) out of the graph together with their nests, and renumbers the others.
void remove_stages(Program& program, std::span<const size_t> stages);
/// Puts a stage at position `at`, in a plain kernel of its own; its results become workspaces.
void insert_stage(Program& program, size_t at, Stage stage);
/// Puts the stages into another order, in which every reader still follows what it reads: stage
/// order[k] becomes stage k.
void sort_stages(Program& program, std::span<const size_t> order);
/// Makes a stage's nest, which is the root of a kernel without attached nests, plain again after
/// its domain has changed.
void reset_nest(Program& program, size_t stage);

}  // namespace adjit::sched
