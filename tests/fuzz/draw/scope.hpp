// tests/fuzz/draw/scope.hpp -- a trace under construction that knows the values of its tensors.
//
// Whoever draws the next operation sees what it would read: so indices from data stay in range or
// are refused, functions get numbers of their domain, and nothing grows without bound.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/trace/trace.hpp"
#include "tests/fuzz/oracle/wide_interpreter.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {

/// What the tensors and operations of a program are like.
struct TensorKinds {
  DType real = DType::Float64;  // what is drawn as a real number
  /// Axes are often as long as a GPU's tiles of products and warps are, and tensors eight times as
  /// large.
  bool long_axes = false;
  /// Several reductions of the same elements, of which some are equal. Programs whose schedules are
  /// recorded (tests/schedules) were drawn without.
  bool reductions_again = false;

  /// Elements or points: so many, or of long axes more.
  int64_t room(int64_t usual) const { return long_axes ? 8 * usual : usual; }
};

class Scope {
 public:
  /// `points`: how many points all its stages may have together.
  Scope(Random& random, int64_t points, const TensorKinds& kinds = {})
      : random_(random), points_left_(points), kinds_(kinds) {}

  Trace& trace() { return trace_; }
  Random& random() { return random_; }
  DType real() const { return kinds_.real; }
  const TensorKinds& kinds() const { return kinds_; }

  /// A parameter with this value.
  TensorId input(const WideArray& value);
  const std::vector<WideArray>& inputs() const { return inputs_; }

  /// Runs `build`, which adds stages to the trace, and offers its results to later operations.
  /// False where it refuses its operands, or where its values are no use: not finite, too large,
  /// unsure. `refused` is then the message. ErrorCode::Internal goes through: it is what is looked
  /// for.
  bool add(const std::function<std::vector<TensorId>()>& build);
  const std::vector<TensorId>& last() const { return last_; }
  const std::string& refused() const { return refused_; }

  const std::vector<TensorId>& available() const { return available_; }
  const WideArray& value(TensorId tensor) const { return *values_[tensor.value]; }
  DType dtype(TensorId tensor) const { return dtype_of(trace_, tensor); }
  const std::vector<int64_t>& shape(TensorId tensor) const { return shape_of(trace_, tensor); }
  /// How many operations have used it (note_use).
  int uses(TensorId tensor) const { return uses_[tensor.value]; }
  void note_use(TensorId tensor) { ++uses_[tensor.value]; }

  /// An available tensor for which `fits` holds, rather a recent or unused one; invalid: none.
  TensorId pick(const std::function<bool(TensorId)>& fits);
  int64_t points_left() const { return points_left_; }

 private:
  void grow();
  bool evaluate();
  bool is_useful(const WideArray& value) const;

  Random& random_;
  Trace trace_{"program"};
  int64_t points_left_;
  TensorKinds kinds_;
  size_t evaluated_ = 0;  // stages
  WideInterpreter interpreter_;
  std::vector<std::unique_ptr<WideArray>> values_;  // by tensor; null: has none
  std::vector<int> uses_;
  std::vector<WideArray> inputs_;
  std::vector<TensorId> available_, last_;
  std::string refused_;
};

}  // namespace adjit::testing
