// jit/engine/computation.hpp -- a traced graph with the transformations asked for, derived when
// first needed.
//
// The cache's first key is the traced graph and its transformations: a hit never derives anything.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "jit/engine/transformation.hpp"
#include "runtime/graph/graph.hpp"

namespace adjit::engine {

/// Immutable; shared by any number of threads.
class Computation {
 public:
  using Tensor = TensorSpec;

  explicit Computation(Graph base);
  /// The computation after one more transformation, whose errors about positions, shapes and
  /// dtypes are raised at once (transformation.hpp); nothing is derived yet.
  static std::shared_ptr<const Computation> transformed(const Computation& of,
                                                        Transformation transformation);

  const std::string& name() const { return base_->name; }
  const std::vector<Tensor>& inputs() const { return type_.inputs; }
  const std::vector<Tensor>& outputs() const { return type_.outputs; }
  const Graph& base() const { return *base_; }
  /// Canonical text of the transformations, "" for none: a key component.
  std::string transformations() const;
  /// Whether the last of them is a derivative, forwards or backwards.
  bool is_derivative() const {
    return !transformations_.empty() && transformations_.back().kind != Transformation::Kind::Vmap;
  }
  /// content_hash of the base graph, computed once.
  const std::string& base_hash() const;

  /// The graph after all transformations; derived at the first call (which takes derive_ms), in
  /// every thread that calls before one has it.
  const Graph& graph() const;
  /// The first input that is a cotangent of the last transformation, a vjp; else past the inputs.
  size_t first_cotangent() const;
  /// The graph where some cotangents, numbered from the first, are 0 everywhere, and the numbers of
  /// the inputs that it takes: those are none of them, and what they multiply, be it infinite or
  /// NaN, is no term. With all of them 0, it takes all.
  struct Specialised {
    std::shared_ptr<const Graph> graph;
    std::vector<size_t> inputs;
  };
  Specialised without_cotangents(const std::vector<bool>& zero) const;
  /// Milliseconds that deriving took; 0 when it has not happened.
  double derive_ms() const;

 private:
  Computation() = default;

  std::shared_ptr<const Graph> base_;
  std::vector<Transformation> transformations_;
  ComputationType type_;
  mutable std::mutex mutex_;  // of what follows, not held while it is made
  mutable std::shared_ptr<const Graph> derived_;
  mutable double derive_ms_ = 0;
  mutable std::string base_hash_;
};

}  // namespace adjit::engine
