// runtime/trace/lowering_unit.hpp -- one unit of index notation as the parts of one stage.
//
// A "unit" becomes one stage: a result of compute(), or a reduction inside one. Reductions are
// numbered after what they contain, so lifting them in ascending order meets no unknown one:
//   1. one sweep finds under which condition every node is needed (path_condition.hpp), through
//      reductions;
//   2. each reduction that stands inside an expression is lifted to a stage over the axes it uses;
//   3. the results themselves are stages; one that is a reduction as a whole keeps it as its own
//      combiner.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/trace/free_axes.hpp"
#include "runtime/trace/index_notation.hpp"
#include "runtime/trace/path_condition.hpp"

namespace adjit::trace {

/// A reduction that is a stage by now, and the axes of that.
struct LiftedReduction {
  std::vector<TensorId> results;
  Axes axes;
};

/// One call of compute() or scatter().
struct Lowering {
  /// Output axes by number; results and lifted reductions are named after `results`.
  Lowering(IndexNotation& notation, std::string results, Axes output_axes);
  Lowering(const Lowering&) = delete;
  Lowering& operator=(const Lowering&) = delete;

  IndexNotation& n;
  std::string name;
  Axes outputs;
  FreeAxes free;
  PathConditions conditions;                             // of all that the results need
  std::unordered_map<uint32_t, LiftedReduction> lifted;  // by reduction
};

/// What becomes one stage: expressions of the notation's pool over `outer` (output axes) and
/// `inner` (reduced axes).
struct LoweringUnit {
  Axes outer, inner;
  Combiner combiner;  // Custom: of the notation's pool
  std::vector<ExprId> bodies;
  std::vector<ExprId> target;  // scatter only
  PathCondition condition;     // restricts the unit as a whole; affine factors become rows
  ExprId where;
};

/// A unit in the trace's pool.
struct LoweredUnit {
  Domain domain;
  Combiner combiner;
  std::vector<ExprId> bodies;
  std::vector<ExprId> target;
};

/// Axes get positions, conditions become rows, then bodies are rebuilt in the trace's pool.
LoweredUnit lower(Lowering& whole, LoweringUnit unit);
/// Raises ErrorCode::Bounds for a read that can leave its tensor, while the user's line is at hand.
void verify_alone(const Lowering& whole, const LoweredUnit& stage);

}  // namespace adjit::trace
