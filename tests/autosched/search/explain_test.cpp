// tests/autosched/search/explain_test.cpp -- predicted costs as text.
#include "autosched/search/explain.hpp"

#include <gtest/gtest.h>

#include "autosched/cpu/cost/cost.hpp"
#include "autosched/search/scheduler.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(Explain, KernelsAndTheirTermsAreNamed) {
  const std::string text = print(
      predict(default_schedule(softmax_graph(4096, 1024), kOneCore), kOneCore, nullptr), kOneCore);
  EXPECT_NE(text.find("on 1 core\n"), std::string::npos) << text;
  EXPECT_NE(text.find("kernel 0: y"), std::string::npos) << text;
  EXPECT_NE(text.find("arithmetic"), std::string::npos) << text;
}

TEST(Explain, TasksCallsAndCoresAreCounted) {
  const Program p = default_schedule(matmul_graph(512, 512, 512), kTwoCores);
  const std::string text = print(predict(p, kTwoCores, nullptr), kTwoCores);
  EXPECT_NE(text.find("on 2 cores\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" tasks"), std::string::npos) << text;
  EXPECT_EQ(text.find(" calls"), std::string::npos) << text;
}

TEST(Explain, TermsAreSortedAndThoseBelowAHundredthLeftOut) {
  const Program p = plain(matmul_graph(8, 8, 8));
  ProgramCost cost = predict(p, kTwoCores, nullptr);
  NestCost& nest = cost.kernels[0].nests[0];
  nest.terms = {};
  nest.microseconds = 10;
  nest.terms[0] = 3;
  nest.terms[1] = 7;
  nest.terms[2] = 0.05;
  const std::string text = print(cost, kTwoCores);
  const std::string first(name_of(static_cast<CostTerm>(1))), second(name_of(CostTerm{}));
  EXPECT_NE(text.find("C  10.0 us of a core: " + first + " 7.00, " + second + " 3.00\n"),
            std::string::npos)
      << text;
  nest.terms = {};
  EXPECT_NE(print(cost, kTwoCores).find("nothing that counts"), std::string::npos);
}

Candidate priced(double microseconds, const std::string& changes) {
  Candidate candidate;
  candidate.microseconds = microseconds;
  candidate.changes = changes;
  return candidate;
}

TEST(Explain, AlternativesAreComparedWithTheDefault) {
  EXPECT_EQ(print_rejected({priced(200, "")}, 3), "no alternatives: nothing was decided\n");
  const std::vector<Candidate> found{priced(200, ""), priced(210, "tile of C"),
                                     priced(190, "pack of C"), priced(400, "tasks of C")};
  EXPECT_EQ(print_rejected(found, 2),
            "alternatives, of 3 priced\n  210.0 us (+5.0 %): tile of C\n"
            "  190.0 us (-5.0 %): pack of C\n");
  EXPECT_EQ(print_choice(found[2], found[0]),
            "chosen by search, the default schedule is predicted to take 200.0 us: pack of C\n");
}

}  // namespace
}  // namespace adjit::sched
