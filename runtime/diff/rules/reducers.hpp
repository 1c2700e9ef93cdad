// runtime/diff/rules/reducers.hpp -- how each combiner passes the cotangent of a stage to its
// bodies.
//
// One function per combiner; all but None and Sum add small stages that say which points take part
// and how much:
//   sum      dY[i] reaches every point
//   max/min  first: the forward also keeps the winner's number W[i]; dY[i] reaches the point where
//   r == W[i]
//            even:  dY[i] / count of winners reaches every point whose body equals Y[i]
//   argmax   its value component as max with ties first; its payload is an integer
//   product  dY[i] times the product of the others, right with zeros and out of range
//   (product_of_others.hpp) custom   none: it has become a tree of elementwise stages before
//   (reducer_tree.hpp) scatter  sum: dY[target]; none: dY[target] where this point was the last
//   writer
#pragma once

#include <span>
#include <vector>

#include "runtime/diff/rules/accumulate.hpp"
#include "runtime/diff/rules/sweep.hpp"
#include "runtime/graph/graph.hpp"

namespace adjit::diff {

struct StageSeeds {
  Domain domain;  // the stage's, restricted to where its cotangent may be non-zero
  std::vector<Seed> seeds;
};

/// Seeds for the bodies of graph.stages[stage] (Compute or Scatter), given one cotangent per result
/// (zero() where none). Appends helper stages; may turn a Max/Min stage into ArgMax/ArgMin with one
/// more result. Throws ErrorCode::NotDifferentiable for scatters that are neither sums nor
/// assignments.
StageSeeds seed_bodies(Graph& graph, size_t stage, std::span<const Cotangent> cotangents);

/// The number of the point that won a stage by max or min with ties to the first, or by argmax or
/// argmin (row-major over the reduction axes). A Max or Min stage becomes ArgMax or ArgMin with one
/// more result.
TensorId winning_point(Graph& graph, size_t stage);

/// Of an assigning scatter: a tensor that holds the number of the point that wrote each element, -1
/// where none did.
TensorId last_writer(Graph& graph, const Stage& scatter);

/// The element that a point of a scatter writes to, and the condition that it is one (invalid:
/// always).
struct Reached {
  std::vector<ExprId> index;
  ExprId inside;
};
Reached reached_element(Graph& graph, const Stage& scatter);

/// ErrorCode::NotDifferentiable: "<line>: <what>; <remedy>".
[[noreturn]] void not_differentiable(const Stage& stage, const std::string& what,
                                     const std::string& remedy);

}  // namespace adjit::diff
