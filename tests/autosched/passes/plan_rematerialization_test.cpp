// tests/autosched/passes/plan_rematerialization_test.cpp -- which stages are computed twice, and
// what that spares.
#include "autosched/passes/plan_rematerialization.hpp"

#include "autosched/cpu/pass_list.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// The most workspace tensors that live at once, if every stage is a kernel.
int64_t most_alive(const Program& program) {
  int64_t most = 0;
  for (size_t s = 0; s < program.graph.stages.size(); ++s) {
    int64_t alive = 0;
    for (size_t made = 0; made <= s; ++made)
      for (TensorId id : program.graph.stages[made].results) {
        const std::vector<size_t>& readers = program.readers[id.value];
        alive += program.scopes[id.value] == Scope::Workspace &&
                 (made == s || (!readers.empty() && readers.back() >= s));
      }
    most = std::max(most, alive);
  }
  return most;
}

// Stages of a chain of layers are 64 floats each.
TEST(Rematerialization, BringsWhatLivesUnderTheBudget) {
  std::string text = "def main(float(64, 8) x0, float(8, 8) w) -> (g) {\n";
  constexpr int kLayerCount = 8;
  for (int k = 0; k < kLayerCount; ++k) {
    const std::string now = std::to_string(k + 1), before = std::to_string(k);
    text += "  x" + now + "(i, j) +=! tanh(x" + before + "(i, k)) * w(k, j)\n";
  }
  std::string d = "x" + std::to_string(kLayerCount);
  for (int k = kLayerCount; k-- > 0;) {
    const std::string now = "d" + std::to_string(k);
    text += "  " + now + "(i, k) +=! " + d + "(i, j) * w(k, j) * cos(x" + std::to_string(k) +
            "(i, k))\n";
    d = now;
  }
  const Graph graph = parse_graph(text + "  g(i, k) = " + d + "(i, k) * 2.0\n}");
  Choices usual;
  Attempts sure;
  ScheduleContext context{kTwoCores, usual, sure};
  Program start = start_of(graph, context);
  const Program stages = run_passes(std::move(start), context, Phase::Stages, Phase::Stages);
  const Rematerialization plan =
      plan_rematerialization(stages, planned_stages(context.plans.reductions));
  ASSERT_GT(plan.steps.size(), 2u);
  EXPECT_EQ(plan.steps.front().stages, 0u);
  for (size_t k = 0; k < plan.steps.size(); ++k) {
    const Choices choices(answers_for(plan, plan.steps[k]));
    const Program p =
        rematerialize_stages(stages, planned_stages(context.plans.reductions), choices);
    const auto again = std::ranges::count_if(p.graph.stages, [&](const Stage& stage) {
      return stage_name(p.graph, stage).ends_with("again");
    });
    EXPECT_EQ(static_cast<size_t>(again), plan.steps[k].stages);
    EXPECT_EQ(plan.steps[k].peak, most_alive(p) * 64 * 8 * 4) << k;
    if (k > 0) {
      EXPECT_LT(plan.steps[k].peak, plan.steps[k - 1].peak);
    }
    expect_faithful(p, graph);
  }
  // Of eight activations and what else lives, five arrays at once.
  EXPECT_LE(plan.steps.back().peak, 5 * 64 * 8 * 4);
  EXPECT_LE(plan.steps.back().stages, 6u);
}

}  // namespace
}  // namespace adjit::sched
