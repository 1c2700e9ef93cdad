// jit/engine/transformation.hpp -- a transformation of a computation as data: what it asks for,
// what it makes of inputs and outputs, its text in keys, and the graph it derives.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/diff/batch/batch.hpp"
#include "runtime/graph/graph.hpp"

namespace adjit::engine {

/// One transformation, in terms of input and output positions. Fields that a kind does not name are
/// left empty.
struct Transformation {
  enum class Kind : uint8_t {
    Vjp,       // wrt, outputs, keep: runtime/diff/reverse/reverse.hpp, vjp
    Gradient,  // wrt, outputs (exactly one), keep: gradient
    Jvp,       // wrt, keep: runtime/diff/forward/forward.hpp
    Vmap,      // in_axes, out_axes, size: runtime/diff/batch/batch.hpp
  } kind = Kind::Vjp;
  std::vector<size_t> wrt = {};
  std::vector<size_t> outputs = {};
  bool keep = false;  // outputs (Gradient: the value) kept in front
  std::vector<BatchAxis> in_axes = {}, out_axes = {};
  int64_t size = 0;  // of the batch
};

/// Name, dtype and shape of an input or output.
struct TensorSpec {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
};

/// Inputs and outputs of a computation.
struct ComputationType {
  std::string name;
  std::vector<TensorSpec> inputs, outputs;
};
ComputationType type_of(const Graph& graph);

/// The type after a transformation. ErrorCode::Invalid for positions, axes or a size that do
/// not fit, ErrorCode::Shape for the gradient of something else than one element,
/// ErrorCode::NotDifferentiable for integer inputs.
ComputationType transformed(const ComputationType& type, const Transformation& transformation);

/// The graph after a transformation that fits its type.
Graph transformed(const Graph& graph, const Transformation& transformation);

/// Canonical text: equal for equal transformations only. A component of cache keys.
std::string to_string(const Transformation& transformation);

}  // namespace adjit::engine
