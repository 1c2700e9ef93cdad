// tests/runtime/diff/forward/scan_test.cpp -- the tangent of a scan is a scan with more carries.
#include "runtime/diff/forward/scan.hpp"

#include <gtest/gtest.h>

#include "runtime/diff/forward/forward.hpp"
#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/gradient_check.hpp"
#include "tests/runtime/diff/scans.hpp"
#include "tests/runtime/diff/tangent_check.hpp"

namespace adjit::testing {
namespace {

TEST(ForwardScan, AgreesWithDifferencesAndReverse) {
  for (const bool reverse : {false, true}) {
    const Graph forward = recurrent(reverse);
    const std::vector<Array> inputs = random_inputs(forward);
    EXPECT_TRUE(agrees_with_differences(forward, inputs));
    EXPECT_TRUE(agrees_with_reverse(forward, inputs, 2));
    const std::vector<size_t> wrt = float_inputs(forward);
    const Graph hvp = vjp(forward, {wrt, {0, 1}});
    EXPECT_TRUE(agrees_with_differences(hvp, random_inputs(hvp)));
    const Graph twice = jvp(forward, {.wrt = wrt});
    EXPECT_TRUE(agrees_with_differences(twice, random_inputs(twice)));
    EXPECT_TRUE(check_gradients(twice, random_inputs(twice), 1));
  }
}

TEST(ForwardScan, OnlyCarriesThatDependGetTangents) {
  const Graph forward = recurrent(false);
  // xs moves: h becomes dependent, the step counter does not.
  const Graph g = jvp(forward, {.wrt = {1}});
  size_t scans = 0;
  for (const Stage& stage : g.stages) {
    if (stage.kind != StageKind::Scan) continue;
    ++scans;
    EXPECT_EQ(stage.scan->carries, 3u);
  }
  EXPECT_EQ(scans, 1u) << print(g);
  const std::vector<Array> inputs = random_inputs(g);
  const Graph all = jvp(forward, {.wrt = {0, 1, 2, 3}});
  std::vector<Array> given(inputs.begin(), inputs.begin() + 4);
  for (const size_t k : {0u, 1u, 2u, 3u}) {
    const TensorInfo& info = forward.info(forward.inputs[k]);
    given.push_back(k == 1 ? inputs[4] : Array::zeros(info.dtype, info.shape));
  }
  const std::vector<Array> some = interpret(g, inputs), every = interpret(all, given);
  for (size_t k = 0; k < some.size(); ++k)
    for (int64_t e = 0; e < some[k].element_count(); ++e)
      EXPECT_NEAR(some[k].at(e), every[k].at(e), 1e-12);
}

TEST(ForwardScan, WithACondition) {
  const Graph forward = newton();
  for (const int64_t steps : {0, 1, 4}) {
    std::vector<Array> inputs = random_inputs(forward);
    inputs[2].set(0, static_cast<double>(steps));
    EXPECT_TRUE(agrees_with_differences(forward, inputs));
    const Graph twice = jvp(forward, {.wrt = {0, 1}});
    std::vector<Array> more = random_inputs(twice);
    more[2].set(0, static_cast<double>(steps));
    EXPECT_TRUE(agrees_with_differences(twice, more));
  }
  EXPECT_EQ(parse_graph(print(jvp(forward, {.wrt = {1}}))).stages.size(),
            jvp(forward, {.wrt = {1}}).stages.size());
}

}  // namespace
}  // namespace adjit::testing
