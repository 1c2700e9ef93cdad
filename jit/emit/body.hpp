// jit/emit/body.hpp -- the bodies of one stage as machine values, at one point (or vector of
// points) of its tile.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <llvm/IR/IRBuilder.h>

#include "autosched/program/program.hpp"
#include "jit/emit/bfloat16_loads.hpp"
#include "jit/emit/body_context.hpp"
#include "jit/emit/body_shape.hpp"
#include "jit/emit/coordinates.hpp"
#include "jit/emit/divisors.hpp"
#include "jit/emit/emitted.hpp"
#include "jit/emit/load.hpp"
#include "jit/emit/load_joined.hpp"
#include "jit/emit/point_memo.hpp"

namespace adjit::emit {

/// Evaluates expressions of one stage.
class BodyEmitter {
 public:
  /// As BodyShape; all must outlive it.
  BodyEmitter(const Graph& graph, const Stage& stage, std::vector<Affine> axes,
              std::vector<Interval> axis_ranges, std::vector<UnrolledVariable> unrolled,
              std::optional<size_t> lane_variable, const TensorPlaces& places,
              llvm::IRBuilder<>& builder, Scopes& scopes, IndexEmitter& index, VectorMath& math);
  BodyEmitter(const BodyEmitter&) = delete;  // members refer to others
  BodyEmitter& operator=(const BodyEmitter&) = delete;

  const BodyContext& context() const { return context_; }
  /// The value of a body expression: a scalar where it is equal in all lanes, else a vector. Bool
  /// is i1. Half types are held as float.
  Emitted operator()(ExprId root, const Point& point);
  /// See Coordinates.
  Emitted coordinate(ExprId id, const Point& point) { return coordinates_(id, point); }
  /// See Bfloat16Loads.
  Emitted bfloat16_pair(ExprId read, const Point& point) { return bfloat16_loads_(read, point); }
  /// Drops what is remembered: to be called when a loop variable that is not unrolled becomes fixed
  /// or stops being so.
  void forget();

  bool reads_anywhere() const { return shape_.reads_anywhere; }
  size_t node_count() const { return shape_.node_count(); }
  double work() const { return shape_.work; }
  void set_copy_trips(std::vector<int64_t> trips) { loads_.tile().trips = std::move(trips); }
  void set_rows_hold(bool hold) { loads_.tile().constraints_hold = hold; }
  void set_branched(bool branched) { loads_.tile().branched = branched; }
  void set_ahead(std::optional<size_t> variable) { loads_.set_ahead(variable); }
  Affine place(const Affine& domain_form) { return placed(context_, domain_form); }
  std::optional<Affine> plain_address(ExprId read) { return emit::plain_address(context_, read); }
  llvm::Value* splat(Emitted value) { return splats_(value); }

 private:
  Emitted evaluate(ExprId id, const Point& point);
  Emitted form_cast(ExprId id, const Affine& form);
  Emitted comparison(Op op, const Affine& left, const Affine& right);
  Emitted position_comparison(ExprId id, const Emitted& number);
  Emitted operation(ExprId id, std::span<const Emitted> operands);

  const BodyShape shape_;
  Splats splats_;
  const BodyContext context_;
  PointMemo values_;
  Coordinates coordinates_;
  LoadEmitter loads_;
  JoinedLoads joined_loads_;
  Bfloat16Loads bfloat16_loads_;
  Divisors divisors_;
};

}  // namespace adjit::emit
