// autosched/cpu/cost/network.cpp -- the learned part of the cost model.
#include "autosched/cpu/cost/network.hpp"

#include <algorithm>
#include <string>

#include "autosched/cpu/cost/network_inputs.hpp"
#include "runtime/expr/error.hpp"
#include "runtime/process/fork.hpp"
#include "runtime/process/json.hpp"

namespace adjit::sched {

extern const char kCostWeights[];  // made of autosched/cpu/cost/weights.json by the build

namespace {

constexpr int kFormat = 2;
constexpr double kFarthest = 3;  // standard deviations that an input counts for at most
constexpr double kLeak = 0.1;    // slope of a hidden unit below zero
constexpr size_t kOutputs = kCostTerms + 1;

void require(bool holds, const std::string& what) {
  if (!holds)
    throw Error(ErrorCode::Parse, "weights of the cost model: " + what +
                                      "; train them with this version (tools/train-cost-model)");
}

}  // namespace

double factor_of(double x) { return x >= 0 ? 1 + x : 1 / (1 - x); }

CostNetwork::CostNetwork(const Json& j) {
  mean_ = j.at("mean").get<std::vector<double>>();
  scale_ = j.at("scale").get<std::vector<double>>();
  require(mean_.size() == network_input_names().size() && scale_.size() == mean_.size(),
          "their normalisation is of another length");
  read_layers(j.at("layers"));
  const Json& entry = j.at("entry");
  call_ = entry.at("call").get<double>();
  pool_ = entry.at("pool").get<double>();
  task_ = entry.at("task").get<double>();
}

void CostNetwork::read_layers(const Json& list) {
  size_t width = mean_.size();
  for (const Json& layer : list) {
    layers_.push_back({layer.at("weights").get<std::vector<std::vector<double>>>(),
                       layer.at("bias").get<std::vector<double>>()});
    const Layer& read = layers_.back();
    require(
        read.weights.size() == read.bias.size() &&
            std::ranges::all_of(read.weights, [&](const auto& row) { return row.size() == width; }),
        "the shapes of their layers do not fit together");
    width = read.bias.size();
  }
  require(layers_.empty() || width == kOutputs, "they give another number of factors");
}

std::map<int, CostNetwork> read_networks(std::string_view text) {
  const Json j = Json::parse(text, nullptr, false);
  require(j.is_object(), "this is not a JSON object");
  std::map<int, CostNetwork> networks;
  try {
    require(j.value("format", 0) == kFormat, "their format is not " + std::to_string(kFormat));
    require(
        std::ranges::equal(j.at("inputs").get<std::vector<std::string>>(), network_input_names()),
        "they are for other inputs");
    for (const Json& one : j.at("networks")) {
      const int vector_bits = one.at("vector_bits").get<int>();
      require(networks.emplace(vector_bits, one).second,
              "two are for vectors of " + std::to_string(vector_bits) + " bits");
    }
  } catch (const Json::exception& error) {
    require(false, error.what());
  }
  return networks;
}

const CostNetwork* CostNetwork::shipped_for(const CpuMachine& machine) {
  const ForkDelay no_fork;
  static const std::map<int, CostNetwork> networks = read_networks(kCostWeights);
  const auto found = networks.find(machine.vector_bits);
  return found == networks.end() ? nullptr : &found->second;
}

Corrections CostNetwork::operator()(std::span<const double> inputs) const {
  Corrections found;
  found.terms.fill(1);
  if (layers_.empty()) return found;
  std::vector<double> values(inputs.size()), next;
  for (size_t k = 0; k < inputs.size(); ++k)
    values[k] = std::clamp((inputs[k] - mean_[k]) * scale_[k], -kFarthest, kFarthest);
  for (size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    next = layer.bias;
    for (size_t row = 0; row < next.size(); ++row)
      for (size_t k = 0; k < values.size(); ++k) next[row] += layer.weights[row][k] * values[k];
    if (l + 1 < layers_.size())
      for (double& x : next) x = std::max(x, kLeak * x);
    values.swap(next);
  }
  for (size_t t = 0; t < kCostTerms; ++t) found.terms[t] = factor_of(values[t]);
  found.nest = factor_of(values[kCostTerms]);
  return found;
}

}  // namespace adjit::sched
