// tests/jit/engine/report/profile_test.cpp -- measured times beside flops, bytes and predictions.
#include "jit/engine/report/profile.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "autosched/cpu/cost/cost.hpp"
#include "runtime/expr/error.hpp"
#include "tests/jit/engine/planned.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using nlohmann::json;

json profiled(const Planned& p, const std::vector<KernelTime>& times,
              const CpuMachine& machine = {}) {
  return json::parse(profile_json(p.program, row_major(p.program.graph, p.program.graph.inputs),
                                  p.plan, times, machine));
}

constexpr const char* kTwo =
    "def f(float(10, 20) x) -> (s, y) {\n"
    " s(i) +=! x(i, j) * x(i, j)\n y(i) = fma(s(i), 2.0, s(i)) where i in 0:5\n}";

TEST(Profile, HasAnEntryForEveryKernelInItsOrder) {
  Planned p = planned(kTwo);
  ASSERT_EQ(p.plan.kernels.size(), 2u);
  p.plan.kernels[1].symbol = "second";
  p.plan.kernels[1].tasks = 3;
  p.plan.kernels[1].parallel = true;
  const json list = profiled(p, {{1, 2e-6}, {4, 5e-5}});
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]["symbol"], "kernel_0");
  EXPECT_EQ(list[0]["stages"], json{"s"});
  EXPECT_EQ(list[0]["microseconds"], 2.0);
  EXPECT_EQ(list[0]["parallel"], false);
  EXPECT_EQ(list[1]["symbol"], "second");
  EXPECT_EQ(list[1]["stages"], json{"y"});
  EXPECT_EQ(list[1]["calls"], 4);
  EXPECT_DOUBLE_EQ(list[1]["microseconds"].get<double>(), 50);
  EXPECT_EQ(list[1]["tasks"], 3);
  EXPECT_EQ(list[1]["parallel"], true);
}

TEST(Profile, FlopsBytesAndPredictionAreThoseOfAllCalls) {
  const Planned p = planned(kTwo);
  const json list = profiled(p, {{1, 1e-6}, {4, 1e-6}});
  EXPECT_EQ(list[0]["flops"], 2 * 10 * 20);
  EXPECT_EQ(list[0]["bytes"], 4 * (10 * 20 + 10));
  EXPECT_EQ(list[1]["flops"], 4 * 2 * 5);
  EXPECT_EQ(list[1]["bytes"], 4 * 4 * (10 + 5));
  const ProgramCost cost = predict(p.program, CpuMachine{});
  EXPECT_EQ(list[0]["predicted"], cost.kernels[0].microseconds);
  EXPECT_EQ(list[1]["predicted"], 4 * cost.kernels[1].microseconds);
}

TEST(Profile, TheRooflineIsThatOfCachesWhereTheProgramFitsInL3) {
  const Planned p = planned(kTwo);
  CpuMachine small;
  small.l3_bytes = 64;
  for (const auto& [machine, from_memory] : {std::pair{CpuMachine{}, false}, {small, true}}) {
    const json first = profiled(p, {{1, 1e-6}, {1, 1e-6}}, machine)[0];
    EXPECT_EQ(first["roofline"], roofline(2 * 10 * 20, 4 * (10 * 20 + 10), machine, from_memory));
  }
}

TEST(Profile, TimesOfAnotherProgramAreRefused) {
  EXPECT_THROW(profiled(planned(kTwo), {{1, 1e-6}}), Error);
}

}  // namespace
}  // namespace adjit::testing
