// tests/runtime/trace/operator_coverage_test.cpp -- every operator has an example, and every
// example runs.
#include <gtest/gtest.h>

#include <set>

#include "runtime/trace/ops/call/operator_call.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/trace/operator_examples.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

TEST(OperatorCoverage, EveryOperatorHasAnExample) {
  std::set<std::string_view> named;
  for (const OperatorExample& example : operator_examples()) named.insert(example.name);
  for (const Operator& op : all_operators())
    EXPECT_TRUE(named.contains(op.name)) << op.name << " has no example";
}

TEST(OperatorCoverage, EveryRowIsDocumented) {
  for (const Operator& op : all_operators()) {
    EXPECT_TRUE(op.signature.starts_with("(") && op.signature.ends_with(")")) << op.name;
    EXPECT_FALSE(op.shapes.empty()) << op.name;
    EXPECT_FALSE(op.gradient.empty()) << op.name;
    EXPECT_NE(op.build, nullptr) << op.name;
  }
}

TEST(OperatorCoverage, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const Operator& op : all_operators())
    EXPECT_TRUE(names.insert(op.name).second) << op.name << " stands twice in the tables";
}

std::vector<Array> inputs_of(const OperatorExample& example) {
  std::vector<Array> inputs;
  for (const ExampleInput& input : example.inputs)
    inputs.push_back(
        random_array(input.dtype, input.shape, input.low, input.high, 11 * inputs.size() + 3));
  return inputs;
}

TEST(OperatorCoverage, EveryExampleRuns) {
  for (const OperatorExample& example : operator_examples()) {
    SCOPED_TRACE(std::string(example.name) + " " + std::string(example.attributes));
    try {
      for (const Array& result :
           run_all(example.name, inputs_of(example), std::string(example.attributes)))
        for (double value : values(result)) EXPECT_FALSE(std::isnan(value));
    } catch (const Error& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

// Half types run everywhere float64 runs, and come out as half types.
TEST(OperatorCoverage, EveryExampleRunsInFloat16) {
  for (const OperatorExample& example : operator_examples()) {
    if (example.attributes.find("dtype") != std::string_view::npos) continue;
    SCOPED_TRACE(std::string(example.name) + " " + std::string(example.attributes));
    const std::vector<Array> doubles = inputs_of(example);
    std::vector<Array> halves = doubles;
    bool floats = false;
    for (Array& input : halves) {
      if (!is_float(input.dtype)) continue;
      floats = true;
      input = Array::of(DType::Float16, input.shape, values(input));
    }
    if (!floats) continue;
    try {
      const std::vector<Array> wide =
          run_all(example.name, doubles, std::string(example.attributes));
      const std::vector<Array> narrow =
          run_all(example.name, halves, std::string(example.attributes));
      for (size_t k = 0; k < wide.size(); ++k) {
        EXPECT_EQ(narrow[k].shape, wide[k].shape);
        EXPECT_EQ(narrow[k].dtype,
                  wide[k].dtype == DType::Float64 ? DType::Float16 : wide[k].dtype);
        for (int64_t e = 0; example.smooth && e < wide[k].element_count(); ++e) {
          const double value = wide[k].at(e);
          EXPECT_NEAR(narrow[k].at(e), value, 0.03 * (1 + std::abs(value)));
        }
      }
    } catch (const Error& e) {
      ADD_FAILURE() << e.what();
    }
  }
}

}  // namespace
}  // namespace adjit::testing
