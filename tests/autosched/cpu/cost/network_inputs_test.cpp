// tests/autosched/cpu/cost/network_inputs_test.cpp -- what the learned part of the cost model looks
// at.
#include "autosched/cpu/cost/network_inputs.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include <algorithm>
#include <set>

#include "autosched/cpu/cost/cost.hpp"
#include "autosched/search/scheduler.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(NetworkInputs, TheLogarithmIsStraightBetweenPowers) {
  EXPECT_EQ(log2_by_lines(1), 0);
  EXPECT_EQ(log2_by_lines(8), 3);
  EXPECT_EQ(log2_by_lines(0.25), -2);
  EXPECT_EQ(log2_by_lines(3), 1.5);
  for (double x = 0.01; x < 1e6; x *= 1.37) EXPECT_NEAR(log2_by_lines(x), std::log2(x), 0.09);
}

TEST(NetworkInputs, EveryInputHasAName) {
  const Program program = default_schedule(softmax_graph(64, 100), kOneCore);
  for (const KernelCost& kernel : predict(program, kOneCore).kernels)
    for (const NestCost& nest : kernel.nests)
      EXPECT_EQ(nest.inputs.size(), network_input_names().size());
}

TEST(NetworkInputs, NamesAreDifferent) {
  const auto names = network_input_names();
  EXPECT_EQ(std::set<std::string_view>(names.begin(), names.end()).size(), names.size());
}

// The value of an input for a nest of nothing but these.
double input_of(std::string_view name, const NestFeatures& features, const NestPlace& place = {}) {
  CostTerms terms{};
  terms[0] = 3;
  terms[1] = 1;
  const std::vector<double> inputs = network_inputs(features, terms, place, kOneCore);
  const auto names = network_input_names();
  return inputs.at(static_cast<size_t>(std::ranges::find(names, name) - names.begin()));
}

TEST(NetworkInputs, CountsAreForOnePassOverTheTile) {
  NestFeatures f;
  f.steps = 100;
  f.loads = 300;
  EXPECT_EQ(input_of("loads", f), 2) << "log2(1 + 3)";
  f.steps = 0;
  EXPECT_TRUE(std::isfinite(input_of("loads", f)));
  EXPECT_EQ(input_of("stores", f), 0);
}

TEST(NetworkInputs, SharesAreOfAllTerms) {
  EXPECT_NEAR(input_of("arithmetic_share", {}), 0.75, 1e-6);
  EXPECT_NEAR(input_of("loads_share", {}), 0.25, 1e-6);
}

TEST(NetworkInputs, PlacesAreOfTheKernel) {
  NestPlace place;
  place.tasks = 7;
  place.cores = 3;
  place.program_bytes = static_cast<double>(kOneCore.l2_bytes) * 4;
  EXPECT_EQ(input_of("tasks", {}, place), 3);
  EXPECT_EQ(input_of("cores", {}, place), 3);
  EXPECT_NEAR(input_of("program_bytes", {}, place), 2, 1e-6);
}

}  // namespace
}  // namespace adjit::sched
