// tests/runtime/trace/operator_size_test.cpp -- the gradient graph of every operator stays small.
#include <gtest/gtest.h>

#include <iostream>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/gradient_check.hpp"
#include "tests/runtime/trace/operator_examples.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

/// Expression nodes that the stages use, the stages, and the axes, divisions and rows of their
/// domains.
size_t nodes_of(const Graph& graph) {
  std::vector<ExprId> roots;
  size_t nodes = graph.stages.size();
  for (const Stage& stage : graph.stages) {
    for (const auto* list : {&stage.bodies, &stage.target, &stage.combiner.combine})
      roots.insert(roots.end(), list->begin(), list->end());
    nodes += stage.domain.variable_count() + stage.domain.inequalities.size() +
             stage.domain.equalities.size();
  }
  return nodes + reachable(graph.pool, roots).size();
}

/// How many times the forward's nodes the gradient may have: 4, but for prod and cumprod. Their
/// forward is one read, 8 nodes with its stage and axes; a gradient that is right with any number
/// of zeros, and with infinities, to every order, needs a product and two sums over all factors (18
/// nodes of stages and axes, 12 to tell zeros and infinities apart), and at each point to take its
/// own factor out of all three. pow's forward has 9 nodes with its stage and axes; the gradient of
/// its exponent is right at a base of 0 and of -0 by one node more than 4 times these.
double allowed_ratio(std::string_view name) {
  if (name == "prod" || name == "cumprod") return 8;
  return name == "pow" ? 37.0 / 9 : 4;
}

TEST(OperatorSize, GradientHasAtMostFourTimesTheNodesOfTheForward) {
  double largest = 0;
  std::string where;
  for (const OperatorExample& example : operator_examples()) {
    std::vector<Array> inputs;
    for (const ExampleInput& input : example.inputs)
      inputs.push_back(
          random_array(input.dtype, input.shape, input.low, input.high, 11 * inputs.size() + 3));
    const Graph forward =
        simplify(trace_call(example.name, inputs, std::string(example.attributes)));
    ReverseOptions options;
    options.wrt = float_inputs(forward);
    for (size_t k = 0; k < forward.outputs.size(); ++k)
      if (is_float(forward.info(forward.outputs[k]).dtype)) options.outputs.push_back(k);
    if (options.wrt.empty() || options.outputs.empty()) continue;
    const Graph derived = vjp(forward, options);
    const size_t before = nodes_of(forward), after = nodes_of(derived);
    if (before == 0) continue;  // the input itself
    const double ratio = static_cast<double>(after) / static_cast<double>(before);
    if (ratio > largest && allowed_ratio(example.name) == 4) {
      largest = ratio;
      where = std::string(example.name) + std::string(example.attributes);
    }
    EXPECT_LE(ratio, allowed_ratio(example.name)) << example.name << example.attributes << "\n"
                                                  << print(forward) << print(derived);
  }
  std::cout << "largest ratio but for the exceptions " << largest << " (" << where << ")\n";
}

}  // namespace
}  // namespace adjit::testing
