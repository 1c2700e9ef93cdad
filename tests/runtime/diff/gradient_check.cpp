// tests/runtime/diff/gradient_check.cpp -- central differences with one Richardson step: error
// O(h^4).
#include "tests/runtime/diff/gradient_check.hpp"

#include <cmath>
#include <numeric>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/domain/count.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

Array random_array(DType dtype, const std::vector<int64_t>& shape, std::mt19937& engine, double lo,
                   double hi) {
  Array array = Array::zeros(dtype, shape);
  std::uniform_real_distribution<double> real(lo, hi);
  for (int64_t k = 0; k < array.element_count(); ++k)
    array.set(k, is_float(dtype) ? real(engine) : std::floor(real(engine)));
  return array;
}

// <cotangents, outputs> at these inputs.
double contracted(const Graph& graph, const std::vector<Array>& inputs,
                  const std::vector<Array>& cotangents, const std::vector<size_t>& outputs) {
  const std::vector<Array> values = interpret(graph, inputs);
  double total = 0;
  for (size_t k = 0; k < outputs.size(); ++k)
    for (int64_t e = 0; e < values[outputs[k]].element_count(); ++e)
      total += values[outputs[k]].at(e) * cotangents[k].at(e);
  return total;
}

double difference(const Graph& graph, std::vector<Array> inputs, size_t input, int64_t element,
                  const std::vector<Array>& cotangents, const std::vector<size_t>& outputs) {
  const double x = inputs[input].at(element);
  const auto slope = [&](double h) {
    inputs[input].set(element, x + h);
    const double up = contracted(graph, inputs, cotangents, outputs);
    inputs[input].set(element, x - h);
    return (up - contracted(graph, inputs, cotangents, outputs)) / (2 * h);
  };
  constexpr double kStep = 1e-3;
  return (4 * slope(kStep / 2) - slope(kStep)) / 3;
}

::testing::AssertionResult check_one(const Graph& forward, const Graph& derived,
                                     const std::vector<Array>& inputs,
                                     const std::vector<Array>& cotangents,
                                     const std::vector<size_t>& wrt,
                                     const std::vector<size_t>& outputs) {
  std::vector<Array> all(inputs);
  all.insert(all.end(), cotangents.begin(), cotangents.end());
  const std::vector<Array> gradients = interpret(derived, all);
  for (size_t k = 0; k < wrt.size(); ++k) {
    // Large inputs are sampled: every `step`-th element.
    constexpr int64_t kMostElements = 12;
    const int64_t count = gradients[k].element_count(), step = 1 + count / kMostElements;
    double largest = 1e-3;
    for (int64_t e = 0; e < count; ++e) largest = std::max(largest, std::abs(gradients[k].at(e)));
    for (int64_t e = 0; e < count; e += step) {
      const double derived_value = gradients[k].at(e);
      const double wanted = difference(forward, inputs, wrt[k], e, cotangents, outputs);
      if (!(std::abs(derived_value - wanted) <= 1e-6 * largest))
        return ::testing::AssertionFailure()
               << "gradient of " << forward.info(forward.inputs[wrt[k]]).name << "[" << e
               << "]: derived " << derived_value << ", differences give " << wanted;
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace

::testing::AssertionResult same_values(const Graph& a, const Graph& b,
                                       const std::vector<Array>& inputs) {
  verify(b);
  const std::vector<Array> x = interpret(a, inputs), y = interpret(b, inputs);
  if (x.size() != y.size()) return ::testing::AssertionFailure() << print(a) << print(b);
  for (size_t k = 0; k < x.size(); ++k)
    for (int64_t e = 0; e < x[k].element_count(); ++e)
      if (!(std::abs(x[k].at(e) - y[k].at(e)) <= 1e-12 * (1 + std::abs(x[k].at(e)))))
        return ::testing::AssertionFailure() << "output " << k << "[" << e << "]: " << x[k].at(e)
                                             << " became " << y[k].at(e) << "\n"
                                             << print(a) << print(b);
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult same_values(const Graph& a, const Graph& b) {
  std::vector<Array> inputs = random_inputs(a);
  for (Array& input : inputs)
    if (!is_float(input.dtype))
      for (int64_t k = 0; k < input.element_count(); ++k) input.set(k, static_cast<double>(k % 2));
  return same_values(a, b, inputs);
}

std::vector<size_t> float_inputs(const Graph& graph) {
  std::vector<size_t> positions;
  for (size_t k = 0; k < graph.inputs.size(); ++k)
    if (is_float(graph.info(graph.inputs[k]).dtype)) positions.push_back(k);
  return positions;
}

std::vector<size_t> float_outputs(const Graph& graph) {
  std::vector<size_t> positions;
  for (size_t k = 0; k < graph.outputs.size(); ++k)
    if (is_float(graph.info(graph.outputs[k]).dtype)) positions.push_back(k);
  return positions;
}

Graph adjoint(const Graph& forward) {
  ReverseOptions options;
  options.wrt = float_inputs(forward);
  options.outputs = {0};
  return vjp(forward, options);
}

int64_t points(const Graph& graph) {
  int64_t total = 0;
  for (const Stage& stage : graph.stages) total += *count_points(stage.domain);
  return total;
}

std::vector<Array> random_inputs(const Graph& graph, uint32_t seed, double lo, double hi) {
  std::mt19937 engine(seed);
  std::vector<Array> inputs;
  for (TensorId input : graph.inputs)
    inputs.push_back(
        random_array(graph.info(input).dtype, graph.info(input).shape, engine, lo, hi));
  return inputs;
}

namespace {

// Both derivations are checked at the first order; the next order differentiates the cleaned one.
::testing::AssertionResult check_order(const Graph& forward, const std::vector<Array>& inputs,
                                       int order, bool raw_too) {
  ReverseOptions options;
  options.wrt = float_inputs(forward);
  options.outputs = float_outputs(forward);
  std::mt19937 engine(7);
  std::vector<Array> cotangents;
  for (size_t k : options.outputs) {
    const TensorInfo& output = forward.info(forward.outputs[k]);
    cotangents.push_back(random_array(output.dtype, output.shape, engine, 0.5, 1.5));
  }
  Graph derived;
  for (const bool clean : {false, true}) {
    if (!clean && !raw_too) continue;
    options.clean = clean;
    derived = vjp(forward, options);
    verify(derived);
    if (auto result = check_one(forward, derived, inputs, cotangents, options.wrt, options.outputs);
        !result)
      return result << (clean ? " (cleaned" : " (raw") << ", orders left " << order << ")";
  }
  if (order < 2) return ::testing::AssertionSuccess();
  std::vector<Array> all(inputs);
  all.insert(all.end(), cotangents.begin(), cotangents.end());
  return check_order(derived, all, order - 1, false);
}

}  // namespace

::testing::AssertionResult check_gradients(const Graph& forward, const std::vector<Array>& inputs,
                                           int order) {
  return check_order(forward, inputs, order, true);
}

::testing::AssertionResult check_gradients(const Graph& forward, int order) {
  return check_gradients(forward, random_inputs(forward), order);
}

}  // namespace adjit::testing
