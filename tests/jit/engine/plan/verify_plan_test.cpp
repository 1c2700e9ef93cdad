// tests/jit/engine/plan/verify_plan_test.cpp -- faults planted in plans and programs are found.
#include "jit/engine/plan/verify_plan.hpp"

#include <gtest/gtest.h>

#include "autosched/lower/initial_program.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/search/scheduler.hpp"
#include "jit/engine/plan/plan_memory.hpp"
#include "tests/jit/engine/planned.hpp"
#include "tests/jit/engine/run_compiled.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

Planned with_plain_loops(const std::string& text) {
  return planned(initial_program(parse_graph(text), CpuMachine{2, 512}));
}

void expect_found(const Planned& p, const std::string& what) {
  try {
    verify_plan(p.plan, p.program, p.kernels);
    FAIL() << "nothing was found; wanted: " << what;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Internal);
    EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
  }
}

std::string behind_start(const std::string& stages) {
  return "def main(float(6) x, int64(6) n, float(6) h) -> (y) {\n  s(i) = h(i) * 2.0\n" + stages +
         "\n}";
}

TEST(VerifyPlan, PlansAsTheyAreMade) {
  for (const std::string& text :
       {std::string(kChain),
        behind_start("scatter float(6) y(n(i) % 6) += s(i) from s where i in 0:6"),
        behind_start("y(i) = s(n(i) % 6) where i in 0:6"),
        behind_start("g(i) = s(n(i) % 6) where i in 0:6\n"
                     "c(i) +=! g(r) where i in 0:6, r in 0:6, r <= i\ny(i) = c(i) + s(i)"),
        behind_start("v(a, b) = s(2 * a + b) where a in 0:3, b in 0:2\n"
                     "y(a, b) = v(a, b) where a in 0:3, b in 0:2")}) {
    const Planned p = with_plain_loops(text);
    EXPECT_NO_THROW(verify_plan(p.plan, p.program, p.kernels)) << text;
    const Planned scheduled = planned(default_schedule(parse_graph(text), CpuMachine{2, 512}));
    EXPECT_NO_THROW(verify_plan(scheduled.plan, scheduled.program, scheduled.kernels)) << text;
  }
}

// The faults that this was made for: tensors in one buffer although the old one is wanted.
TEST(VerifyPlan, FindsAScatterWhosePointsReadItsStart) {
  Program program = initial_program(
      parse_graph(behind_start("scatter float(6) y(n(i) % 6) += x(i) from s where i in 0:6")),
      CpuMachine{2, 512});
  Stage& scatter = program.graph.stages[1];
  ASSERT_EQ(program.graph.info(scatter.initial).name, "s");
  const std::vector<ExprId> here{program.graph.pool.axis(0)};
  scatter.bodies = {read(program.graph, scatter.initial, here)};
  index_readers(program);
  expect_found(planned(program), "writes 'y' over what it reads");
}

TEST(VerifyPlan, FindsALaterReaderOfAScattersStart) {
  Program program = initial_program(
      parse_graph(behind_start("scatter float(6) t(n(i) % 6) += x(i) from s where i in "
                               "0:6\ny(i) = t(i) + h(i)")),
      CpuMachine{2, 512});
  const std::vector<ExprId> here{program.graph.pool.axis(0)};
  program.graph.stages[2].bodies = {
      program.graph.pool.add(read(program.graph, program.graph.stages[1].results[0], here),
                             read(program.graph, program.graph.stages[0].results[0], here))};
  index_readers(program);
  expect_found(planned(program), "reads 's', but 't' was written over it");
}

TEST(VerifyPlan, FindsPermutationsTakenForOtherShapes) {
  for (const auto& [index, what] :
       std::vector<std::pair<std::string, std::string>>{{"n(i) % 6", "lies in place by data"},
                                                        {"5 - i", "element 0 of 'y' is element 5"},
                                                        {"min(i + 1, 5)", "is element 1 of 's'"}}) {
    Program program = initial_program(
        parse_graph(behind_start("y(i) = s(" + index + ") where i in 0:6")), CpuMachine{2, 512});
    program.kernels.pop_back();
    ++program.in_place;
    expect_found(planned(program), what);
  }
}

Buffer& place_of(Planned& p, const std::string& name) {
  for (size_t k = 0; k < p.kernels.size(); ++k)
    for (size_t t = 0; t < p.kernels[k].tensors.size(); ++t)
      if (p.program.graph.info(p.kernels[k].tensors[t]).name == name)
        return p.plan.buffers[p.plan.kernels[k].tensors[t]];
  throw std::logic_error("no kernel has '" + name + "'");
}

TEST(VerifyPlan, FindsPlacesThatAreUsedAgainTooSoon) {
  Planned p = testing::planned(kChain);
  ASSERT_NO_THROW(verify_plan(p.plan, p.program, p.kernels));
  const int64_t before = place_of(p, "b").at;
  place_of(p, "b").at = place_of(p, "a").at + 64;
  expect_found(p, "writes 'b' over what it reads");
  place_of(p, "b").at = before;
  place_of(p, "t").at = place_of(p, "b").at;
  expect_found(p, "writes 't' over what it reads");
}

TEST(VerifyPlan, FindsStepsInTheWrongOrder) {
  Planned p = testing::planned(kChain);
  std::swap(p.plan.steps[1].number, p.plan.steps[2].number);
  expect_found(p, "reads 'b', which nobody has computed");
}

TEST(VerifyPlan, FindsKernelsThatDoNotWait) {
  for (size_t step = 1; step < 5; ++step) {
    Planned p = testing::planned(kChain);
    p.plan.steps[step].waits.clear();
    expect_found(p, "neither waits for the other");
  }
}

TEST(VerifyPlan, FindsAnArgumentInPlaceOfAnother) {
  Planned p = testing::planned(kChain);
  place_of(p, "z").at = 0;
  expect_found(p, "an argument has no buffer");  // nobody takes the second input
  p = testing::planned(kChain);
  place_of(p, "d") = place_of(p, "x");
  expect_found(p, "kernel of 'd' writes what is not ours");
}

constexpr const char* kScan =
    "def f(float(4) h, float(9, 4) xs) -> (c, ys) {\n"
    "  start(i) = h(i) * 2.0\n"
    "  scan (c, ys) = step[9](carry float(4) a = start, over float(4) x = xs) -> (n, y) {\n"
    "    t(i) = sin(a(i)) * x(i)\n"
    "    n(i) = t(3 - i) + a(i)\n"
    "    y(i) = n(i) * t(i)\n"
    "  }\n}";

TEST(VerifyPlan, FindsCarriesAndSlicesThatAreWrittenOver) {
  Planned p = with_plain_loops(kScan);
  ASSERT_EQ(p.plan.scans.size(), 1u);
  ASSERT_NO_THROW(verify_plan(p.plan, p.program, p.kernels));
  ScanPlan& scan = p.plan.scans[0];
  const ScanPlan before = scan;
  scan.carries[0].spares[1] = scan.carries[0].spares[0];
  expect_found(p, "over what it reads");
  scan = before;
  scan.slices.back().bytes = 0;
  expect_found(p, "a step writes over what another has stacked");
  scan = before;
  scan.carries[0].spares[0] = place_of(p, "start").at;
  EXPECT_ANY_THROW(verify_plan(p.plan, p.program, p.kernels));
  scan = before;
  std::swap(scan.steps[0].number, scan.steps[1].number);
  expect_found(p, "which nobody has computed");
}

TEST(PlanMemory, RemembersTheLastWriteOfEveryByte) {
  PlanMemory memory;
  EXPECT_EQ(memory.other_than({0, 0, 8}, 1), Version{0});
  memory.write({0, 0, 100}, 1);
  EXPECT_EQ(memory.other_than({0, 10, 90}, 1), std::nullopt);
  memory.write({0, 40, 60}, 2);
  EXPECT_EQ(memory.other_than({0, 0, 40}, 1), std::nullopt);
  EXPECT_EQ(memory.other_than({0, 0, 41}, 1), Version{2});
  EXPECT_EQ(memory.other_than({0, 40, 60}, 2), std::nullopt);
  EXPECT_EQ(memory.other_than({0, 59, 61}, 2), Version{1});
  EXPECT_EQ(memory.other_than({0, 60, 101}, 1), Version{0});
  EXPECT_EQ(memory.other_than({1, 0, 1}, 1), Version{0}) << "another space";
  EXPECT_EQ(memory.other_than({1, 0, 0}, 1), std::nullopt) << "no byte";
  memory.forget(0);
  EXPECT_EQ(memory.other_than({0, 0, 1}, 1), Version{0});
}

}  // namespace
}  // namespace adjit::testing
