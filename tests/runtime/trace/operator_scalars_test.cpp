// tests/runtime/trace/operator_scalars_test.cpp -- every operator with numbers in place of tensors:
// a result or an error that names what is wrong. (A number becomes a stage of its own while the
// operator looks at its operands, which moves the trace's tensors: for the address sanitizer.)
#include <gtest/gtest.h>

#include "runtime/process/json.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/trace/operator_examples.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

// Operand k of the example is a number where bit k is set.
void call_with_numbers(const OperatorExample& example, unsigned numbers) {
  Trace trace("numbers");
  std::vector<TensorId> inputs;
  Json attributes = Json::parse(example.attributes);
  Json scalars = Json::array();
  for (size_t k = 0; k < example.inputs.size(); ++k) {
    const ExampleInput& input = example.inputs[k];
    const bool number = numbers >> k & 1;
    scalars.push_back(!number ? Json(nullptr) : is_float(input.dtype) ? Json(0.25) : Json(1));
    if (!number) inputs.push_back(add_input(trace, "x", input.dtype, input.shape));
  }
  attributes["scalars"] = scalars;
  try {
    const std::vector<TensorId> results =
        find_operator(example.name).trace(trace, inputs, attributes);
    EXPECT_FALSE(results.empty());
    trace.finish(results);
  } catch (const Error& error) {
    EXPECT_NE(error.code(), ErrorCode::Internal) << error.what();
  }
}

TEST(OperatorsOnNumbers, GiveAResultOrAnError) {
  for (const OperatorExample& example : operator_examples()) {
    if (Json::parse(example.attributes).contains("scalars")) continue;
    const auto count = static_cast<unsigned>(std::min<size_t>(example.inputs.size(), 5));
    for (unsigned numbers = 1; numbers < 1u << count; ++numbers) {
      SCOPED_TRACE(std::string(example.name) + ", numbers " + std::to_string(numbers));
      EXPECT_NO_THROW(call_with_numbers(example, numbers));
    }
  }
}

TEST(OperatorsOnNumbers, PreluTakesOneSlope) {
  const Array y = run("nn.prelu", {f32({2, 3, 2}, {-4, 4, -8, 8, 1, -1, -4, 4, -8, 8, 1, -1})},
                      R"({"scalars": [null, 0.25]})");
  EXPECT_EQ(values(y), (std::vector<double>{-1, 4, -2, 8, 1, -0.25, -1, 4, -2, 8, 1, -0.25}));
}

}  // namespace
}  // namespace adjit::testing
