// tests/fuzz/oracle/wide_interpreter.hpp -- the meaning of a graph in higher precision, with bounds
// on the errors of computing it (wide.hpp).
//
// It shares no code with runtime/graph/interpret/interpreter.hpp but integer operations, so that
// each checks the other. Unlike there, values are not rounded to their types: the results are
// smooth where the mathematical function is, and differences of them are derivatives to 12 digits.
#pragma once

#include <span>
#include <vector>

#include "runtime/graph/interpret/interpreter.hpp"
#include "tests/fuzz/oracle/wide.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// A dense row-major array of wide values; `dtype` is what the graph says.
struct WideArray {
  DType dtype = DType::Float64;
  std::vector<int64_t> shape;
  std::vector<Wide> values;

  static WideArray zeros(DType dtype, std::vector<int64_t> shape);
  static WideArray of(const Array& array);
};

class WideInterpreter {
 public:
  /// Raises ErrorCode::Bounds for an index out of range, ErrorCode::Invalid for opaque calls and
  /// for loops of more than 10,000 steps.
  std::vector<WideArray> run(const Graph& graph, std::span<const WideArray> inputs);
  /// One stage, where `arrays[t]` is the value of tensor t: the values of its results.
  std::vector<WideArray> run_stage(const Graph& graph, const Stage& stage,
                                   std::span<const WideArray* const> arrays);

  /// Of all runs so far.
  const Decisions& decisions() const { return decisions_; }
  void forget_decisions() { decisions_.forget(); }
  /// Decisions::take_as_sure.
  void take_decisions_as_sure() { decisions_.take_as_sure(); }

  /// Stages that stop gradients are constants to a derivative: from here on they give, in their
  /// order, what they gave in the runs before.
  void repeat_stopped() {
    repeating_ = true;
    next_stopped_ = 0;
  }

 private:
  using Arrays = std::span<const WideArray* const>;
  std::vector<WideArray> run_compute(const Graph& graph, const Stage& stage, Arrays arrays);
  std::vector<WideArray> run_scatter(const Graph& graph, const Stage& stage, Arrays arrays);
  std::vector<WideArray> run_scan(const Graph& graph, const Stage& stage, Arrays arrays);
  std::vector<WideArray> run_while(const Scan& scan, std::vector<WideArray> values);

  Decisions decisions_;
  bool repeating_ = false;
  size_t next_stopped_ = 0;
  std::vector<std::vector<WideArray>> stopped_;
};

}  // namespace adjit::testing
