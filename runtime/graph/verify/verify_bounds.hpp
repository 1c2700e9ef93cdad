// runtime/graph/verify/verify_bounds.hpp -- proves that the reads of a stage stay in bounds.
#pragma once

#include <span>
#include <vector>

#include "runtime/graph/graph.hpp"
#include "runtime/graph/verify/ways_to_reads.hpp"

namespace adjit::graph {

/// Every read of a Compute or Scatter stage (whose structure has been verified), where its
/// predicate and its path condition hold, and every affine target of a Scatter that does not say
/// what to do out of range. The order of proof:
///  1. bounds of the index over the box of the domain;
///  2. no integer point of domain, conditions and "index out of range" (linear_system.hpp);
///  3. all points one by one, where they are few.
/// An index that is not proven and depends on data, or goes through floats over too many points, is
/// left to whoever runs it.
/// ErrorCode::Bounds names the stage, the read, a point where it leaves its tensor (or that none
/// was found), the remedy.
void verify_bounds(const Graph& graph, const Stage& stage);

/// Whether one of the indices, if it is not proven, is checked while the program runs: it depends
/// on data or goes through floats. Any other one that is not proven is an error.
bool left_to_the_run(const Graph& graph, std::span<const ExprId> indices);

/// An index that is not proven in range by its conditions: a read's that is left to the run, or a
/// scatter's target.
struct OpenIndex {
  ExprId read;   // invalid: a scatter's target
  ExprId index;  // Int64, over the stage's axes
  size_t dimension = 0;
  int64_t extent = 0;  // of that dimension
  WaysToRead where;    // where it is evaluated (none: everywhere), the read's predicate included
};
/// Those of a verified stage, in the order of its expressions: whoever runs it has to check them.
std::vector<OpenIndex> open_indices(const Graph& graph, const Stage& stage);

/// "stage 'C' (file.py:12 (matmul))", for messages.
std::string describe(const Graph& graph, const Stage& stage);

}  // namespace adjit::graph
