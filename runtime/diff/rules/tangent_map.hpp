// runtime/diff/rules/tangent_map.hpp -- which tensor holds the tangent of which, while forward mode
// adds stages.
#pragma once

#include <unordered_map>

#include "runtime/diff/conditions/condition.hpp"
#include "runtime/graph/graph.hpp"

namespace adjit::diff {

/// Tensors without an entry have a tangent that is structurally zero.
class TangentMap {
 public:
  TensorId of(TensorId tensor) const {
    const auto found = tangents_.find(tensor.value);
    return found == tangents_.end() ? TensorId{} : found->second;
  }
  void set(TensorId tensor, TensorId tangent) { tangents_[tensor.value] = tangent; }

 private:
  std::unordered_map<uint32_t, TensorId> tangents_;
};

/// A new tensor like `like` for its tangent, entered in the map.
TensorId add_tangent(Graph& graph, TangentMap& map, TensorId like);

/// The tangent of a Read, in the accumulator dtype; an invalid id when it is zero.
ExprId tangent_of_read(Graph& graph, const TangentMap& map, ExprId read);

/// A tensor that holds the tangent of `tensor`: zeros are written out where the map has none.
TensorId tangent_or_zeros(Graph& graph, const TangentMap& map, TensorId tensor);

}  // namespace adjit::diff
