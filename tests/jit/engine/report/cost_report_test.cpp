// tests/jit/engine/report/cost_report_test.cpp -- a predicted cost, read back from its JSON.
#include "jit/engine/report/cost_report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "autosched/cpu/cost/network_inputs.hpp"
#include "tests/jit/engine/planned.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using nlohmann::json;

/// Every number another one, so that none can stand for another.
CpuMachine unlike_any() {
  CpuMachine machine;
  machine.vector_bits = 256;
  machine.call_microseconds = 0.25;
  machine.pool_microseconds = 5.5;
  machine.task_microseconds = 0.75;
  machine.memory_gb_per_core = 12;
  machine.memory_gb = 48;
  return machine;
}

TEST(CostReport, NamesTermsAndInputsInTheOrderOfTheNumbers) {
  const Planned p = planned(kChain);
  const json report = json::parse(cost_json(predict(p.program, CpuMachine{}), {}));
  ASSERT_EQ(report["terms"].size(), kCostTerms);
  for (size_t t = 0; t < kCostTerms; ++t)
    EXPECT_EQ(report["terms"][t], name_of(static_cast<CostTerm>(t)));
  ASSERT_EQ(report["inputs"].size(), network_input_names().size());
  for (size_t k = 0; k < report["inputs"].size(); ++k)
    EXPECT_EQ(report["inputs"][k], network_input_names()[k]);
}

TEST(CostReport, HasTheMachineThatWasAskedAbout) {
  const Planned p = planned(kChain);
  const CpuMachine machine = unlike_any();
  const json reported = json::parse(cost_json(predict(p.program, machine), machine))["machine"];
  EXPECT_EQ(reported, (json{{"call", 0.25},
                            {"pool", 5.5},
                            {"task", 0.75},
                            {"memory_share", 0.25},
                            {"vector_bits", 256}}));
}

TEST(CostReport, HasEveryKernelAndNestAsPredicted) {
  const Planned p = planned(kChain);
  const ProgramCost cost = predict(p.program, CpuMachine{});
  const json report = json::parse(cost_json(cost, CpuMachine{}));
  EXPECT_EQ(report["microseconds"], cost.microseconds);
  ASSERT_EQ(report["kernels"].size(), cost.kernels.size());
  size_t nests = 0;
  for (size_t k = 0; k < cost.kernels.size(); ++k) {
    const KernelCost& kernel = cost.kernels[k];
    const json& told = report["kernels"][k];
    EXPECT_EQ(told["calls"], kernel.calls);
    EXPECT_EQ(told["parallel"], kernel.parallel);
    EXPECT_EQ(told["tasks"], kernel.tasks);
    EXPECT_EQ(told["cores"], kernel.cores);
    EXPECT_EQ(told["microseconds"], kernel.microseconds);
    ASSERT_EQ(told["nests"].size(), kernel.nests.size());
    for (size_t n = 0; n < kernel.nests.size(); ++n, ++nests) {
      EXPECT_EQ(told["nests"][n]["stage"], std::string(1, "abtds"[nests]));
      EXPECT_EQ(told["nests"][n]["terms"], json(kernel.nests[n].terms));
      EXPECT_EQ(told["nests"][n]["analytic"], json(kernel.nests[n].analytic));
      EXPECT_EQ(told["nests"][n]["inputs"], json(kernel.nests[n].inputs));
      EXPECT_EQ(told["nests"][n]["microseconds"], kernel.nests[n].microseconds);
    }
  }
  EXPECT_EQ(nests, 5u);
}

}  // namespace
}  // namespace adjit::testing
