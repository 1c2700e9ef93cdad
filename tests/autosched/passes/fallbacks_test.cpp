// tests/autosched/passes/fallbacks_test.cpp -- what a schedule is where moves refuse it.
#include "autosched/passes/fallbacks.hpp"

#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

const Graph& product() {
  static const Graph graph = matmul_graph(3, 4, 5);
  return graph;
}

void refuse() { throw Error(ErrorCode::Schedule, "that is refused"); }

TEST(Fallbacks, AreNoneWithoutARefusal) {
  Choices choices;
  const Program program =
      schedule_or_fall_back(product(), kTwoCores, choices, [](Choices&, Attempts& attempts) {
        EXPECT_FALSE(attempts.cautious());
        return plain(product());
      });
  EXPECT_TRUE(program.fallbacks.empty());
}

TEST(Fallbacks, LeaveOutTheStepThatIsRefused) {
  Choices choices;
  const Program program =
      schedule_or_fall_back(product(), kTwoCores, choices, [](Choices&, Attempts& attempts) {
        Program p = plain(product());
        attempts(p, "a step", [](Program&) { refuse(); });
        attempts(p, "another", [](Program& q) { q = parallel(std::move(q), 0, 1); });
        return p;
      });
  EXPECT_EQ(program.fallbacks, std::vector<std::string>{"a step: that is refused"});
  EXPECT_EQ(parallel_depth(program.kernels[0].root), 1u);
}

TEST(Fallbacks, ArePlainLoopsWhereNothingElseIsLegal) {
  Choices choices;
  const Program program =
      schedule_or_fall_back(product(), kTwoCores, choices, [](Choices&, Attempts&) -> Program {
        refuse();
        return {};
      });
  EXPECT_EQ(program.fallbacks, std::vector<std::string>{"all loops: that is refused"});
  EXPECT_EQ(print(program), print(plain_schedule(product(), kTwoCores, "")));
}

TEST(Fallbacks, LeaveChoicesOfARefusedScheduleAlone) {
  Choices choices{Answers{}};
  int runs = 0;
  schedule_or_fall_back(product(), kTwoCores, choices, [&](Choices& own, Attempts& attempts) {
    Program p = plain(product());
    EXPECT_TRUE(own.offers().empty());
    (void)own.keeps(Decision::Tasks, p.graph, p.graph.stages[0]);
    ++runs;
    attempts(p, "a step", [](Program&) { refuse(); });
    return p;
  });
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(choices.offers().size(), 1u);
}

}  // namespace
}  // namespace adjit::sched
