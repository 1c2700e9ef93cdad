// jit/emit/tile/reduction.hpp -- one step of a reduction: what the instances of a tile add to their
// accumulators.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "jit/emit/operations/combine.hpp"
#include "jit/emit/scopes/loops.hpp"
#include "jit/emit/shape/contributions.hpp"
#include "jit/emit/shape/tile_versions.hpp"
#include "jit/emit/tile/accumulators.hpp"
#include "jit/emit/tile/added_terms.hpp"
#include "jit/emit/tile/bfloat16_pairs.hpp"
#include "jit/emit/tile/nest_context.hpp"

namespace adjit::emit {

class ReductionEmitter {
 public:
  /// Both must outlive it.
  ReductionEmitter(NestContext& nest, AccumulatorEmitter& accumulators);

  /// One step of the loops outside the tile: every accumulator takes its contributions.
  Carried accumulate(Carried accumulators);

 private:
  /// A version of the tile: the constraints that it asks, and vectors that may be left out, of
  /// which it leaves out the first `count`.
  struct Version {
    Constraints asked;
    std::span<const LeftOut> left_out = {};
    size_t count = 0;
  };
  struct Tile {
    ReductionInstances instances;
    Carried accumulators;
  };
  Carried without_vectors(Carried accumulators, const Version& version);
  Carried add_instances(Carried accumulators, const Version& version);
  std::vector<Contribution> order_of(const ReductionInstances& instances);
  ReadPlaces places_of(ExprId read, const ReductionInstances& instances);
  std::vector<ContributionGroup> groups_of(const std::vector<Contribution>& order,
                                           const ReductionInstances& instances,
                                           const Constraints& asked);
  size_t place_of(const Contribution& one, const Tile& tile) const;
  void add_branch(const ContributionGroup& group, Tile& tile, const std::function<void()>& add);
  void add(const Contribution& one, Tile& tile, const Version& version,
           const Constraints& constraints);
  void add(const Contribution& one, Tile& tile, const Constraints& asked);

  NestContext& nest_;
  const NestShape& shape_;
  const Stage& stage_;
  KernelContext& kernel_;
  AccumulatorEmitter& accumulators_;
  BFloat16PairEmitter pairs_;
  TermAdder add_term_;
};

}  // namespace adjit::emit
