// tests/runtime/trace/operator_gradient_test.cpp -- the derived gradient of every operator against
// central differences, orders 1 and 2.
#include <gtest/gtest.h>

#include "tests/rooms.hpp"
#include "tests/runtime/diff/gradient_check.hpp"
#include "tests/runtime/trace/operator_examples.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

class OperatorGradient : public ::testing::TestWithParam<size_t> {};

TEST_P(OperatorGradient, AgreesWithDifferences) {
  const OperatorExample& example = operator_examples()[GetParam()];
  SCOPED_TRACE(std::string(example.name) + " " + std::string(example.attributes));
  std::vector<Array> inputs;
  for (const ExampleInput& input : example.inputs)
    inputs.push_back(
        random_array(input.dtype, input.shape, input.low, input.high, 11 * inputs.size() + 3));
  const Graph graph = trace_call(example.name, inputs, std::string(example.attributes));
  EXPECT_TRUE(check_gradients(graph, inputs, 2));
}

std::vector<size_t> smooth_examples() {
  std::vector<size_t> numbers;
  for (size_t k = 0; k < operator_examples().size(); ++k)
    if (operator_examples()[k].smooth) numbers.push_back(k);
  return numbers;
}

std::string name_of_example(const ::testing::TestParamInfo<size_t>& info) {
  std::string name(operator_examples()[info.param].name);
  for (char& c : name)
    if (c == '.') c = '_';
  return name + "_" + std::to_string(info.param);
}

INSTANTIATE_TEST_SUITE_P(Examples, OperatorGradient, ::testing::ValuesIn(smooth_examples()),
                         name_of_example);

}  // namespace
}  // namespace adjit::testing
