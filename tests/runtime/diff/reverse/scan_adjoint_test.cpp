// tests/runtime/diff/reverse/scan_adjoint_test.cpp -- scans against differences, orders 1 and 2.
#include "runtime/diff/reverse/scan_adjoint.hpp"

#include <gtest/gtest.h>

#include "runtime/diff/partition/partition.hpp"
#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/forwards.hpp"
#include "tests/runtime/diff/gradient_check.hpp"
#include "tests/runtime/diff/scans.hpp"

namespace adjit::testing {
namespace {

TEST(Scan, AgreesWithDifferencesToOrderTwo) {
  for (const bool reverse : {false, true}) {
    const Graph forward = recurrent(reverse);
    verify(forward);
    EXPECT_TRUE(check_gradients(forward, 2)) << "reverse " << reverse;
  }
}

TEST(Scan, OnlyActiveOperandsAndOneOutput) {
  const Graph forward = recurrent(false);
  const std::vector<Array> inputs = random_inputs(forward);
  const Graph all = vjp(forward, {{0, 1, 2, 3}, {0}}), one = vjp(forward, {{2}, {0}});
  std::vector<Array> given(inputs);
  given.push_back(Array::of(DType::Float64, {3}, std::vector<double>{1, 2, 3}));
  EXPECT_EQ(interpret(all, given)[2].bytes, interpret(one, given)[0].bytes);
}

TEST(Scan, DerivativeIsAScanTheOtherWay) {
  const Graph g = vjp(recurrent(false), {{0, 1, 2, 3}, {0, 1}});
  size_t forwards = 0, backwards = 0;
  for (const Stage& stage : g.stages)
    if (stage.kind == StageKind::Scan) (stage.scan->reverse ? backwards : forwards) += 1;
  EXPECT_EQ(forwards, 1u);
  EXPECT_EQ(backwards, 1u) << print(g);
}

TEST(Scan, HalvesRunApart) {
  const Graph forward = recurrent(false);
  ReverseOptions options{{0, 1, 2, 3}, {0, 1}};
  options.keep_outputs = true;
  const Graph joint = vjp(forward, options);
  const Partition p = partition(joint, 4, 2, -1);
  verify(p.forward);
  verify(p.backward);
  for (const Stage& stage : p.backward.stages)
    if (stage.kind == StageKind::Scan) {
      EXPECT_TRUE(stage.scan->reverse) << "the forward scan is not run again";
    }
}

}  // namespace
}  // namespace adjit::testing
