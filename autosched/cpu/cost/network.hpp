// autosched/cpu/cost/network.hpp -- the learned part of the cost model: how far each analytic term
// of a nest is off.
//
// A small network from the inputs of network_inputs.hpp to one factor for each term and one for the
// whole nest. autosched/cpu/cost/weights.json holds one for each width of vectors that there were
// times of; tools/train-cost-model writes that file, the build embeds it. Sums run in the order of
// the weights, in double precision and without library functions: the same weights give the same
// numbers on every machine.
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "autosched/cpu/cost/cost.hpp"
#include "runtime/process/json.hpp"

namespace adjit::sched {

/// What the analytic terms of a nest are multiplied by.
struct Corrections {
  CostTerms terms{};
  double nest = 1;
};

/// 1 + x for x >= 0, 1 / (1 - x) below: positive, smooth, and 1 at 0.
double factor_of(double x);

class CostNetwork {
 public:
  /// One network of the file. ErrorCode::Parse where it is not for this version's inputs.
  explicit CostNetwork(const Json& weights);

  /// The one that the library was built with for targets like this; null if there is none: of
  /// vectors of another width no network knows anything.
  static const CostNetwork* shipped_for(const CpuMachine& machine);

  /// `inputs`: network_inputs of a nest.
  Corrections operator()(std::span<const double> inputs) const;

  /// Factors of CpuMachine's call_microseconds, pool_microseconds and task_microseconds.
  double call() const { return call_; }
  double pool() const { return pool_; }
  double task() const { return task_; }

 private:
  struct Layer {
    std::vector<std::vector<double>> weights;  // per output: of each input
    std::vector<double> bias;
  };

  void read_layers(const Json& list);

  std::vector<double> mean_, scale_;  // of the inputs
  std::vector<Layer> layers_;         // none: no corrections
  double call_ = 1, pool_ = 1, task_ = 1;
};

/// The networks of a file by the vector width, in bits, of the targets whose times they have seen.
/// ErrorCode::Parse where that is not JSON in the format of this version, for these inputs.
std::map<int, CostNetwork> read_networks(std::string_view json);

}  // namespace adjit::sched
