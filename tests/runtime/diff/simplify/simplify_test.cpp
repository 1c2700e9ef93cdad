// tests/runtime/diff/simplify/simplify_test.cpp -- the passes together change no value and end.
#include <gtest/gtest.h>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/gradient_check.hpp"
#include "tests/runtime/diff/table.hpp"

namespace adjit::testing {
namespace {

class EveryForward : public ::testing::TestWithParam<ForwardCase> {};

TEST_P(EveryForward, KeepsItsValuesAndItsGradients) {
  Forward f;
  const Graph forward = GetParam().build(f);
  EXPECT_TRUE(same_values(forward, simplify(forward)));
  EXPECT_TRUE(same_values(forward, contract(simplify(forward))));
  ReverseOptions options{float_inputs(forward), {0}};
  options.clean = false;
  const Graph derived = vjp(forward, options);
  const Graph once = simplify(derived);
  EXPECT_TRUE(same_values(derived, once));
  EXPECT_EQ(print(simplify(once)), print(once)) << "a fixed point";
}

INSTANTIATE_TEST_SUITE_P(Table, EveryForward, ::testing::ValuesIn(forward_table()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace adjit::testing
