// runtime/diff/rules/transpose_access.hpp -- one access of one stage, turned round: what it adds to
// its tensor, as gathers or a scatter.
//
// The access X[e(i, r)] with cotangent g(i, r) adds sum over { (i, r) : e(i, r) = j } of g(i, r) to
// dX[j]. Where e is affine the set is re-parametrised by its fibre (runtime/domain/fibre.hpp): a
// gather over j and dense free axes. Where a coordinate depends on data, or the solver gives up,
// the stage's own domain is walked and scattered.
#pragma once

#include <vector>

#include "runtime/diff/conditions/guards.hpp"
#include "runtime/diff/rules/sweep.hpp"
#include "runtime/graph/graph.hpp"

namespace adjit::diff {

struct Contribution {
  Domain domain;             // gather: output axes are the tensor's; scatter: output_rank 0
  ExprId body;               // guarded; dtype: accumulator_of the tensor's
  RestrictedDomain support;  // over the tensor's axes: where it may be non-zero
  std::vector<ExprId>
      target;  // scatter: one index per dimension of the tensor; empty with `scatter` false
  bool scatter = false;
  OutOfRange out_of_range = OutOfRange::Error;
  size_t origin = 0;  // the forward stage it stems from
};

/// Appends what `access`, made at every point of the restrictions' domain, contributes to the
/// tensor that it reads.
void turn_round(Graph& graph, Restrictions& domain, const Access& access, size_t origin,
                std::vector<Contribution>& contributions);

}  // namespace adjit::diff
