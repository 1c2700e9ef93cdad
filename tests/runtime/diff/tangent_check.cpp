// tests/runtime/diff/tangent_check.cpp -- tangents along a direction, two ways.
#include "tests/runtime/diff/tangent_check.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/diff/forward/forward.hpp"
#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::testing {
namespace {

double dot(const Array& a, const Array& b) {
  double total = 0;
  for (int64_t k = 0; k < a.element_count(); ++k) total += a.at(k) * b.at(k);
  return total;
}

std::vector<Array> moved(std::vector<Array> inputs, const std::vector<size_t>& wrt,
                         const std::vector<Array>& tangents, double step) {
  for (size_t n = 0; n < wrt.size(); ++n)
    for (int64_t e = 0; e < tangents[n].element_count(); ++e)
      inputs[wrt[n]].set(e, inputs[wrt[n]].at(e) + step * tangents[n].at(e));
  return inputs;
}

}  // namespace

Array random_like(const TensorInfo& info, Random& random) {
  Array array = Array::zeros(info.dtype, info.shape);
  for (int64_t k = 0; k < array.element_count(); ++k)
    array.set(k, static_cast<double>(random.between(-100, 100)) / 64);
  return array;
}

std::vector<Array> directions(const Graph& graph, const std::vector<size_t>& wrt, Random& random) {
  std::vector<Array> list;
  for (size_t k : wrt) list.push_back(random_like(graph.info(graph.inputs[k]), random));
  return list;
}

std::vector<Array> joined(std::vector<Array> a, const std::vector<Array>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

::testing::AssertionResult agrees_with_differences(const Graph& forward,
                                                   const std::vector<Array>& inputs, bool clean) {
  const std::vector<size_t> wrt = float_inputs(forward), outputs = float_outputs(forward);
  Random random(5);
  const std::vector<Array> tangents = directions(forward, wrt, random);
  const Graph derived = jvp(forward, {.wrt = wrt, .clean = clean});
  verify(derived);
  const std::vector<Array> found = interpret(derived, joined(inputs, tangents));
  constexpr double h = 1e-3;
  std::vector<std::vector<Array>> at;
  for (const double step : {h, -h, h / 2, -h / 2})
    at.push_back(interpret(forward, moved(inputs, wrt, tangents, step)));
  for (size_t n = 0; n < outputs.size(); ++n) {
    double largest = 1e-3;
    for (int64_t e = 0; e < found[n].element_count(); ++e)
      largest = std::max(largest, std::abs(found[n].at(e)));
    for (int64_t e = 0; e < found[n].element_count(); ++e) {
      const auto value = [&](size_t k) { return at[k][outputs[n]].at(e); };
      const double coarse = (value(0) - value(1)) / (2 * h), fine = (value(2) - value(3)) / h;
      const double wanted = (4 * fine - coarse) / 3;
      if (!(std::abs(found[n].at(e) - wanted) <= 1e-6 * largest))
        return ::testing::AssertionFailure()
               << "tangent of output " << n << "[" << e << "]: derived " << found[n].at(e)
               << ", differences give " << wanted << "\n"
               << print(derived);
    }
  }
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult agrees_with_reverse(const Graph& forward,
                                               const std::vector<Array>& inputs, uint64_t seed) {
  const std::vector<size_t> wrt = float_inputs(forward), outputs = float_outputs(forward);
  Random random(seed + 1000);
  const std::vector<Array> tangents = directions(forward, wrt, random);
  std::vector<Array> cotangents;
  for (size_t k : outputs)
    cotangents.push_back(random_like(forward.info(forward.outputs[k]), random));
  const Graph pushed = jvp(forward, {.wrt = wrt}), pulled = vjp(forward, {wrt, outputs});
  verify(pushed);
  verify(pulled);
  const std::vector<Array> up = interpret_in_double(pushed, joined(inputs, tangents));
  const std::vector<Array> down = interpret_in_double(pulled, joined(inputs, cotangents));
  double forwards = 0, backwards = 0, scale = 1;
  for (size_t n = 0; n < outputs.size(); ++n) {
    forwards += dot(cotangents[n], up[n]);
    scale += std::sqrt(dot(cotangents[n], cotangents[n]) * dot(up[n], up[n]));
  }
  for (size_t n = 0; n < wrt.size(); ++n) {
    backwards += dot(down[n], tangents[n]);
    scale += std::sqrt(dot(down[n], down[n]) * dot(tangents[n], tangents[n]));
  }
  if (!std::isfinite(forwards) || !std::isfinite(backwards)) return ::testing::AssertionSuccess();
  // Constants of float32 graphs stay rounded to float32 when the operations run in float64.
  if (std::abs(forwards - backwards) <= 1e-6 * scale) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "forward " << forwards << ", reverse " << backwards << "\n"
         << print(forward) << print(pushed);
}

}  // namespace adjit::testing
