// runtime/diff/simplify/expanded_bodies.hpp -- a stage's body with the elementwise stages that it
// reads written out.
//
// Worked example: p[i] = int32(floor(t[i])), q[i] = p[i] + 1, a[i] = x[q[i]], y[i] = w[i] * a[i]
//   the body of y, expanded:   w[i] * x[int32(floor(t[i])) + 1]
// Composed operators so become what a user of the index notation writes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// Expansions of a graph's stages. Adds expressions to the graph's pool, changes nothing else.
class ExpandedBodies {
 public:
  /// The graph must outlive this, and keep its stages.
  explicit ExpandedBodies(Graph& graph);

  struct Expansion {
    ExprId body;
    /// Stages written out in it that nothing else reads: dead once it is the stage's body.
    std::vector<size_t> taken;
  };
  /// The body of a stage with one body. Written out are stages with one body and no reduction that
  /// only one stage reads, or that cost little wherever they are read. An index from data that is
  /// out of range stays an error: a stage with one is written out where its reader asks for all of
  /// its points, under no condition. Not written out is what is behind a predicate, of another
  /// region or held constant for the derivative, nor more than kMostExpandedStages of them or about
  /// kMostExpandedNodes expressions (steps of a stencil, written out, read ever more places).
  Expansion operator()(size_t stage);

  /// Whether an expansion reads at two places at least that data names.
  bool gathers_twice(size_t stage) const { return gathers_[stage] >= 2; }

 private:
  /// The stage whose body may take a read's place; SIZE_MAX: none.
  size_t inner_stage(const Stage& reader, ExprId read, std::span<const ExprId> always) const;
  ExprId expanded(const Stage& stage, Expansion& expansion);
  void count_gathers();

  Graph& graph_;
  std::vector<size_t> defined_by_;         // per tensor
  std::vector<int> readers_;               // stages, and outputs, that read a tensor
  std::vector<char> elementwise_, cheap_;  // per stage
  std::vector<int> gathers_;  // per stage: its expansion's reads of floats that data places
  std::vector<char> placed_;  // per stage: whether its expansion has any that data places
  std::vector<ExprId> done_;  // per stage, of the expansion asked for
  size_t most_nodes_ = 0;     // of the pool, while it is made
};

/// The corners of a cell in three dimensions take about forty operators.
inline constexpr size_t kMostExpandedStages = 128;
/// Eight corners with their weights and places take about 300.
inline constexpr size_t kMostExpandedNodes = 4000;

}  // namespace adjit::diff
