// tests/jit/engine/export/plan_source_test.cpp -- steps, scans and arrays as C, in words of a test.
#include "jit/engine/export/plan_source.hpp"

#include <gtest/gtest.h>

#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

StepWords words() {
  return {
      .parameters = "void** b, char* w",
      .arguments = "b, w",
      .kernel = [](size_t k, const std::string& tasks) { return number(k) + ": " + tasks + "\n"; },
      .flag = [](size_t b) { return "flag " + number(b); },
      .finish = [](const ScanPlan::Carry& c) { return "finish " + number(c.in) + "\n"; }};
}

StepPlan kernel(size_t number) { return {false, number, {}}; }
KernelPlan tasks(int64_t count, bool chained = false) {
  KernelPlan made;
  made.tasks = count;
  made.chained = chained;
  return made;
}

ExportedFunction of_kernels(std::vector<KernelPlan> kernels) {
  ExportedFunction f;
  f.name = "f";
  f.plan.kernels = std::move(kernels);
  for (size_t k = 0; k < f.plan.kernels.size(); ++k) f.plan.steps.push_back(kernel(k));
  return f;
}

TEST(PlanSource, KernelsOfAChainShareALoopOverTasks) {
  const ExportedFunction f = of_kernels({tasks(2), tasks(3), tasks(3, true), tasks(1)});
  EXPECT_EQ(steps_text(f, words(), f.plan.steps, " "),
            " 0: 0, 2\n"
            " for (int64_t task = 0; task < 3; ++task) {\n"
            "   1: task, task + 1\n"
            "   2: task, task + 1\n"
            " }\n"
            " 3: 0, 1\n");
}

TEST(PlanSource, AScanMovesSlicesAndCarries) {
  ExportedFunction f = of_kernels({tasks(2), tasks(5)});
  ScanPlan scan;
  scan.trips = 4;
  scan.reverse = true;
  scan.slices = {{.buffer = 1, .of = 0, .bytes = -8}};
  scan.carries = {{.in = 2, .out = 3, .start = 4, .final = 5, .spares = {64, 128}, .bytes = 8}};
  scan.before = {kernel(0)};
  scan.steps = {kernel(1)};
  f.plan.scans = {scan};
  EXPECT_EQ(scans_text(f, words()),
            "static void f_scan_0(void** b, char* w) {\n"
            "  (void)w;\n"
            "  0: 0, 2\n"
            "  for (int64_t n = 0; n < 4; ++n) {\n"
            "    const int64_t at = 3 - n;\n"
            "    (void)at;\n"
            "    b[1] = (char*)b[0] + at * (-8);\n"
            "    b[2] = n == 0 ? b[4] : (void*)(w + ((n - 1) % 2 ? 128 : 64));\n"
            "    b[3] = n + 1 == 4 ? b[5] : (void*)(w + (n % 2 ? 128 : 64));\n"
            "    1: 0, 5\n"
            "  }\n"
            "}\n");
  EXPECT_EQ(steps_text(f, words(), {{true, 0, {}}}, "  "), "  f_scan_0(b, w);\n");
}

TEST(PlanSource, ALoopByDataAsksItsLastCarryBeforeEachStep) {
  ExportedFunction f = of_kernels({tasks(2)});
  ScanPlan scan;
  scan.conditional = true;
  scan.carries = {{.in = 2, .out = 3, .start = 4, .final = 5, .spares = {0, 64}, .bytes = 8},
                  {.in = 6, .out = 7, .start = 8, .final = 9, .spares = {128, 192}, .bytes = 1}};
  scan.steps = {kernel(0)};
  f.plan.scans = {scan};
  const std::string text = scans_text(f, words());
  EXPECT_NE(text.find("    if (!flag 6) break;\n"
                      "    b[3] = w + (n % 2 ? 64 : 0);\n"
                      "    b[7] = w + (n % 2 ? 192 : 128);\n"
                      "    0: 0, 2\n"
                      "  }\n"
                      "  finish 2\n"
                      "  finish 6\n"),
            std::string::npos)
      << text;
}

TEST(PlanSource, BytesAreNumbersWithA0BehindThem) {
  EXPECT_EQ(bytes_text("a", std::string_view("\xff\0z", 3)),
            "static const unsigned char a[4] __attribute__((aligned(64))) = {\n  255,0,122,0};\n");
  EXPECT_EQ(bytes_text("a", ""),
            "static const unsigned char a[1] __attribute__((aligned(64))) = {0};\n");
}

TEST(PlanSource, NaNsThatComeInAreNoFailure) {
  ExecutionPlan plan;
  plan.checks.resize(3);
  plan.checks[1].kind = DataCheck::Kind::NaNInput;
  plan.checks[2].kind = DataCheck::Kind::NaN;
  plan.checks[2].subject = "\"y\"";
  EXPECT_EQ(checks_text(plan, " "),
            " if (checks[0] != INT64_MAX) return 2;\n if (checks[4] != INT64_MAX) return 4;\n");
  EXPECT_NE(check_messages_text(plan).find("case 4: return \"NaN in .y.\";"), std::string::npos);
}

}  // namespace
}  // namespace adjit::testing
