// tests/autosched/search/scheduler_test.cpp -- a target is scheduled as the machine that it is.
#include "autosched/search/scheduler.hpp"

#include "autosched/search/search.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(Scheduler, SchedulesForTheMachineThatTheTargetIs) {
  const Graph graph = softmax_graph(512, 1024);
  const Program on_cpu = default_schedule(graph, CpuMachine{.cores = 2}),
                on_gpu = default_schedule(graph, GpuMachine{});
  EXPECT_NE(print(on_cpu), print(on_gpu));
  EXPECT_TRUE(std::holds_alternative<CpuMachine>(on_cpu.target));
  EXPECT_TRUE(std::holds_alternative<GpuMachine>(on_gpu.target));
}

TEST(Scheduler, PlansWhatIsComputedAgain) {
  const Graph graph = softmax_graph(512, 1024);
  const Rematerialization plan = rematerialization_of(graph, Target(GpuMachine{}));
  ASSERT_FALSE(plan.steps.empty());
  EXPECT_EQ(plan.steps[0].stages, 0u);
}

TEST(Scheduler, NoAlternativeIsTakenByItselfOnAGpu) {
  const Graph graph = softmax_graph(512, 1024);
  const Target gpu = GpuMachine{};
  const std::vector<Candidate> found = search(graph, gpu, {});
  ASSERT_GT(found.size(), 1u);
  EXPECT_GT(found[0].microseconds, 0);
  EXPECT_FALSE(choice(graph, gpu).has_value()) << "no measured times have confirmed its prices";
  const std::string by_default = print(default_schedule(graph, gpu));
  EXPECT_EQ(print(chosen_schedule(graph, gpu)), by_default);
  EXPECT_EQ(print(program_of(graph, gpu, found[0])), by_default);
}

}  // namespace
}  // namespace adjit::sched
