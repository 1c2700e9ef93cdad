// jit/engine/computation.cpp -- transformations kept as data until a graph is asked for.
#include "jit/engine/computation.hpp"

#include <numeric>

#include "jit/engine/report/stopwatch.hpp"
#include "runtime/process/fork.hpp"

namespace adjit::engine {

Computation::Computation(Graph base) : base_(std::make_shared<const Graph>(std::move(base))) {
  type_ = type_of(*base_);
}

std::shared_ptr<const Computation> Computation::transformed(const Computation& of,
                                                            Transformation t) {
  std::shared_ptr<Computation> result(new Computation());
  result->type_ = engine::transformed(of.type_, t);
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
  {
    const BriefLock lock(mutex_);
    if (!base_hash_.empty()) return base_hash_;
  }
  std::string made = content_hash(*base_);
  const BriefLock lock(mutex_);
  if (base_hash_.empty()) base_hash_ = std::move(made);
  return base_hash_;
}

const Graph& Computation::graph() const {
  if (transformations_.empty()) return *base_;
  {
    const BriefLock lock(mutex_);
    if (derived_) return *derived_;
  }
  const Stopwatch watch;
  std::shared_ptr<const Graph> graph = base_;
  for (const Transformation& t : transformations_)
    graph = std::make_shared<const Graph>(engine::transformed(*graph, t));
  const BriefLock lock(mutex_);
  if (derived_) return *derived_;
  derived_ = std::move(graph);
  derive_ms_ = watch.milliseconds();
  return *derived_;
}

size_t Computation::first_cotangent() const {
  const size_t inputs = type_.inputs.size();
  const bool vjp =
      !transformations_.empty() && transformations_.back().kind == Transformation::Kind::Vjp;
  return vjp ? inputs - transformations_.back().outputs.size() : inputs;
}

Computation::Specialised Computation::without_cotangents(const std::vector<bool>& zero) const {
  const size_t first = first_cotangent();
  Transformation last = transformations_.back();
  Specialised result;
  std::vector<size_t> outputs;
  for (size_t k = 0; k < type_.inputs.size(); ++k) {
    if (k >= first && zero[k - first]) continue;
    result.inputs.push_back(k);
    if (k >= first) outputs.push_back(last.outputs[k - first]);
  }
  if (outputs.empty()) {
    graph();
    result.graph = derived_;
    result.inputs.resize(type_.inputs.size());
    std::iota(result.inputs.begin(), result.inputs.end(), size_t{0});
    return result;
  }
  last.outputs = std::move(outputs);
  std::shared_ptr<const Graph> graph = base_;
  for (size_t t = 0; t + 1 < transformations_.size(); ++t)
    graph = std::make_shared<const Graph>(engine::transformed(*graph, transformations_[t]));
  result.graph = std::make_shared<const Graph>(engine::transformed(*graph, last));
  return result;
}

double Computation::derive_ms() const {
  const BriefLock lock(mutex_);
  return derive_ms_;
}

}  // namespace adjit::engine
