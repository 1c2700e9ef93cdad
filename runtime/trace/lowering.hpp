// runtime/trace/lowering.hpp -- from index notation to stages.
//
// A "unit" becomes one stage: a result of compute(), or a reduction inside one. Reductions are
// numbered after what they contain, so lifting them in ascending order meets no unknown one:
//   1. one sweep finds under which condition every node is needed (path_condition.hpp), through
//   reductions;
//   2. each reduction that stands inside an expression is lifted to a stage over the axes it uses;
//   3. the results themselves are stages; one that is a reduction as a whole keeps it as its own
//   combiner.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/trace/index_notation.hpp"
#include "runtime/trace/path_condition.hpp"

namespace adjit::trace {

class Lowering {
 public:
  /// Output axes by builder number; results and lifted reductions are named after `name`.
  Lowering(IndexNotation& notation, std::string name, std::vector<uint32_t> output_axes);

  std::vector<TensorId> compute(std::span<const ScalarExpr> bodies);
  struct ScatterArguments {
    std::vector<int64_t> shape;
    std::vector<ScalarExpr> target;
    ScalarExpr value;
    DType dtype = DType::Bool;  // that the value is brought to
    CombinerKind kind;
    TensorId initial;
    OutOfRange out_of_range;
    ExprId where;
  };
  TensorId scatter(const ScatterArguments& arguments);

 private:
  friend class UnitLowering;
  using Axes = std::vector<uint32_t>;  // builder axis numbers
  /// What becomes one stage: expressions of the builder's pool over `outer` (output axes) and
  /// `inner` (reduced axes).
  struct Unit {
    Axes outer, inner;
    Combiner combiner;  // Custom: of the builder's pool
    std::vector<ExprId> bodies;
    std::vector<ExprId> target;  // scatter only
    PathCondition
        condition;  // restricts the unit as a whole; its factors that are affine become rows
    ExprId where;
  };
  /// A unit in the trace's pool.
  struct Lowered {
    Domain domain;
    Combiner combiner;
    std::vector<ExprId> bodies;
    std::vector<ExprId> target;
  };
  struct Lifted {
    std::vector<TensorId> results;
    Axes axes;
  };

  std::optional<uint32_t> reduction_at(ExprId expr) const;
  void add_roots(std::span<const ExprId> roots, const PathCondition& condition);
  void add_inner_roots(uint32_t reduction);
  void lift_all();
  void lift(uint32_t reduction);
  Unit unit_of(uint32_t reduction, Axes outer) const;
  Lowered lower(Unit unit);
  void verify_alone(const Lowered& stage) const;
  TensorId compute_reduction(uint32_t reduction, uint32_t component, DType dtype);
  std::vector<TensorId> compute_plain(std::span<const ScalarExpr> bodies);

  std::string shown(uint32_t axis) const;
  Axes free_axes(ExprId expr);
  Axes in_order(Axes axes) const;
  bool expressible(ExprId expr, const Axes& axes);
  const Axes& free_of_reduction(uint32_t reduction);

  IndexNotation& n_;
  Trace& trace_;
  std::string name_;
  Axes outputs_;
  PathConditions conditions_;
  std::unordered_map<uint32_t, Axes> free_;           // per reduction
  std::unordered_map<uint32_t, PathCondition> need_;  // per reduction to lift
  std::unordered_map<uint32_t, Lifted> lifted_;
};

}  // namespace adjit::trace
