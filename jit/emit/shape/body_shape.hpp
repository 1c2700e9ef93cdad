// jit/emit/shape/body_shape.hpp -- what the expressions of a stage are to their emitter: on which
// loops each depends, which reads are in bounds, and how its value is made.
//
// A value of the program alone: no code is made here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "jit/emit/shape/index_forms.hpp"
#include "jit/emit/shape/join.hpp"
#include "jit/emit/shape/nest_shape.hpp"
#include "jit/emit/shape/places.hpp"
#include "runtime/graph/graph.hpp"

namespace adjit::emit {

/// What a node's value depends on.
struct Dependence {
  uint64_t trips = 0;   // bits of an instance's number (instance_number.hpp)
  bool lanes = false;   // differs between lanes
  bool masked = false;  // some read below it is loaded under the active mask
};

/// How the value of a node is made.
enum class Making : uint8_t {
  Operation,  // of its operands
  Constant,
  Read,
  Join,           // a select: one load from the tensor that a position names (join.hpp)
  Form,           // an index
  ComparedForms,  // a comparison of two indices
  /// A comparison of a position that differs between lanes and fits 32 bits with a number of 64
  /// bits that is equal in all lanes.
  ComparedPosition,
  CastForm,  // a cast of an index
  Narrow,    // a limited index that data decides, for a GPU: in 32 bits (narrow_coordinates.hpp)
};

struct BodyNode {
  Dependence dependence;
  Making making = Making::Operation;
  std::vector<ExprId> inputs;     // the nodes whose values its own is made of
  bool in_bounds = false;         // a read: wherever the axes are in their ranges
  bool in_shared_memory = false;  // a read: of what a block shares, wherever the nest's loops are
  bool narrow = false;            // a coordinate, or Making::Narrow: computed in 32 bits
  size_t position = 0;            // ComparedPosition: the operand that is it
  std::optional<Join> join;
};

class BodyShape {
 public:
  /// `axis_ranges`: the values that each axis of the nest's stage takes (more than its extent where
  /// a region is clipped). Raises ErrorCode::Schedule where more than kMaxUnrolledLoops are
  /// unrolled. `gpu`: coordinates that are the same in all lanes are narrow, too, since a GPU
  /// computes 64 bits with two instructions. Graph and nest must outlive it.
  BodyShape(const LoweredGraph& graph, const NestShape& nest, std::vector<Interval> axis_ranges,
            const TensorPlaces& places, bool gpu = false);

  const BodyNode& operator[](ExprId id) const { return nodes_.at(id.value); }
  size_t node_count() const { return nodes_.size(); }
  /// The form of an index over the axes and the domain's divisions, if it has one.
  const std::optional<Affine>& form(ExprId id) const { return forms_.known(id); }
  /// The stage's domain, with the divisions of its index expressions added.
  const Domain& domain() const { return forms_.domain(); }
  /// By how much a form without divisions moves from trip to trip of an unrolled loop.
  int64_t moved_by(const Affine& form, size_t loop) const;
  /// The unrolled loop, if any, along which an address of these coordinates moves by one element
  /// from trip to trip.
  std::optional<size_t> contiguous_loop(std::span<const ExprId> index,
                                        const TensorPlace& place) const;

  /// One of the tile's unrolled loops, as instances number them.
  const Loop& unrolled(size_t loop) const { return nest->nest->loops[nest->unrolled_loops[loop]]; }

  const LoweredGraph* graph;
  const NestShape* nest;
  double work = 0;  // what its operations cost, in instructions on a vector
  /// Whether every read is in bounds, of a whole tensor, wherever the axes are in range: then
  /// points that fulfil no constraint of the domain may be evaluated, too.
  bool reads_anywhere = true;

 private:
  IndexForms forms_;
  std::unordered_map<uint32_t, BodyNode> nodes_;
};

}  // namespace adjit::emit
