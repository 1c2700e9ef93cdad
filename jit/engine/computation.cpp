// jit/engine/computation.cpp -- transformations kept as data until a graph is asked for.
#include "jit/engine/computation.hpp"

#include "jit/engine/stopwatch.hpp"

namespace adjit {

Computation::Computation(Graph base) : base_(std::make_shared<const Graph>(std::move(base))) {
  signature_ = signature_of(*base_);
}

std::shared_ptr<const Computation> Computation::transformed(const Computation& of,
                                                            Transformation t) {
  std::shared_ptr<Computation> result(new Computation());
  result->signature_ = adjit::transformed(of.signature_, t);
  result->base_ = of.base_;
  result->transformations_ = of.transformations_;
  result->transformations_.push_back(std::move(t));
  return result;
}

std::string Computation::transformations() const {
  std::string text;
  for (const Transformation& t : transformations_) text += to_string(t) + ";";
  return text;
}

const std::string& Computation::base_hash() const {
  const std::lock_guard lock(mutex_);
  if (base_hash_.empty()) base_hash_ = content_hash(*base_);
  return base_hash_;
}

const Graph& Computation::graph() const {
  if (transformations_.empty()) return *base_;
  const std::lock_guard lock(mutex_);
  if (derived_) return *derived_;
  const Stopwatch watch;
  std::shared_ptr<const Graph> graph = base_;
  for (const Transformation& t : transformations_)
    graph = std::make_shared<const Graph>(adjit::transformed(*graph, t));
  derived_ = std::move(graph);
  derive_ms_ = watch.milliseconds();
  return *derived_;
}

double Computation::derive_ms() const {
  const std::lock_guard lock(mutex_);
  return derive_ms_;
}

}  // namespace adjit
