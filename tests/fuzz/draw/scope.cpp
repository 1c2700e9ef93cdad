// tests/fuzz/draw/scope.cpp -- stages evaluated as they are added.
#include "tests/fuzz/draw/scope.hpp"
#include "autosched/program/points.hpp"
#include "tests/rooms.hpp"

#include <algorithm>

namespace adjit::testing {

void Scope::grow() {
  const size_t count = trace_.graph().tensors.size();
  values_.resize(count);
  uses_.resize(count, 0);
  for (const ConstantData& constant : trace_.graph().constants) {
    std::unique_ptr<WideArray>& value = values_[constant.tensor.value];
    const TensorInfo& info = trace_.info(constant.tensor);
    if (!value)
      value =
          std::make_unique<WideArray>(WideArray::of(Array{info.dtype, info.shape, constant.bytes}));
  }
}

TensorId Scope::input(const WideArray& value) {
  const TensorId id =
      add_input(trace_, "x" + std::to_string(inputs_.size()), value.dtype, value.shape);
  grow();
  values_[id.value] = std::make_unique<WideArray>(value);
  inputs_.push_back(value);
  available_.push_back(id);
  return id;
}

bool Scope::evaluate() {
  grow();
  const std::vector<Stage>& stages = trace_.graph().stages;
  const auto box = [](const Stage& stage) {
    double points = 1;  // more than any integer holds, where many tensors are broadcast
    for (int64_t extent : stage.domain.extents) points *= static_cast<double>(extent);
    return points;
  };
  double points = 0;
  for (size_t s = evaluated_; s < stages.size(); ++s) {
    const Stage& stage = stages[s];
    points += box(stage);
    if (stage.scan) {
      double step = 0;
      for (const Stage& inner : stage.scan->body->stages) step += box(inner);
      points += step * static_cast<double>(std::max<int64_t>(stage.scan->trips, 5));
    }
    if (stage.call)
      for (const Stage& inner : stage.call->body->stages) points += box(inner);
  }
  if (points > static_cast<double>(points_left_)) {
    refused_ = "too many points";
    return false;
  }
  std::vector<const WideArray*> arrays;
  for (; evaluated_ < stages.size(); ++evaluated_) {
    arrays.clear();
    for (const auto& value : values_) arrays.push_back(value.get());
    std::vector<WideArray> results =
        interpreter_.run_stage(trace_.graph(), stages[evaluated_], arrays);
    for (size_t k = 0; k < results.size(); ++k)
      values_[stages[evaluated_].results[k].value] =
          std::make_unique<WideArray>(std::move(results[k]));
  }
  points_left_ -= static_cast<int64_t>(points);
  return true;
}

bool Scope::is_useful(const WideArray& value) const {
  constexpr int64_t kMostElements = 800;
  constexpr long double kLargest = 1e3;
  const long double largest_error = kinds_.real == DType::Float64   ? 1e-9L
                                    : kinds_.real == DType::Float32 ? 1e-3L
                                                                    : 0.05L;
  if (static_cast<int64_t>(value.values.size()) > kinds_.room(kMostElements)) return false;
  const bool real = is_float(value.dtype);
  // Half types round by more; what is made of them is as unsure as they are.
  const long double error = largest_error + 64 * unit_of(value.dtype);
  return std::ranges::all_of(value.values, [&](const Wide& v) {
    return real ? std::abs(v.f) <= kLargest && v.error <= error * (1 + std::abs(v.f))
                : v.sure() && std::abs(v.i) < (int64_t{1} << 40);
  });
}

bool Scope::add(const std::function<std::vector<TensorId>()>& build) {
  last_.clear();
  bool fine = false;
  try {
    std::vector<TensorId> results = build();
    fine = evaluate();
    for (TensorId id : results)
      if (fine && !(values_[id.value] && is_useful(*values_[id.value]))) {
        refused_ = "useless values";
        fine = false;
      }
    if (fine) last_ = std::move(results);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::Internal) throw;
    refused_ = e.what();
  }
  evaluated_ = trace_.graph().stages.size();
  grow();
  for (TensorId id : last_)
    if (std::ranges::find(available_, id) == available_.end()) available_.push_back(id);
  return fine;
}

TensorId Scope::pick(const std::function<bool(TensorId)>& fits) {
  std::vector<TensorId> fitting, fresh;
  for (TensorId id : available_) {
    if (!fits(id)) continue;
    fitting.push_back(id);
    if (uses(id) == 0) fresh.push_back(id);
  }
  if (fitting.empty()) return {};
  if (!fresh.empty() && random_.chance(45)) return random_.pick(fresh);
  if (random_.chance(30)) return fitting.back();
  return random_.pick(fitting);
}

}  // namespace adjit::testing
