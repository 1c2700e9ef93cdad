// tests/autosched/cpu/pass_list_test.cpp -- what the rows of the list of passes say is so.
#include "autosched/cpu/pass_list.hpp"

#include <array>
#include <map>
#include <set>

#include "autosched/search/scheduler.hpp"
#include "tests/autosched/graphs_for_passes.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(PassList, EveryDecisionHasOnePassInItsPhase) {
  std::map<Decision, int> asked_by;
  for (const Pass& pass : passes())
    for (Decision decision : pass.decisions) {
      EXPECT_EQ(phase_of(decision), pass.phase) << name_of(decision) << " of " << pass.name;
      ++asked_by[decision];
    }
  // tests/autosched/search/gpu_programs_test.cpp
  constexpr std::array kOfGpusAlone{Decision::SplitPrefix, Decision::Invert, Decision::BlockThreads,
                                    Decision::ThreadLanes};
  for (Decision decision : kOfGpusAlone) EXPECT_FALSE(asked_by.contains(decision));
  EXPECT_EQ(asked_by.size() + kOfGpusAlone.size(), kDecisions);
  for (const auto& [decision, count] : asked_by) EXPECT_EQ(count, 1) << name_of(decision);
}

TEST(PassList, PhasesFollowEachOther) {
  EXPECT_TRUE(std::ranges::is_sorted(passes(), {}, &Pass::phase));
}

// No row is there for nothing: each pass changes one of these programs.
TEST(PassList, EveryPassChangesAProgram) {
  std::set<std::string> changing;
  for (const NamedGraph& one : graphs_for_decisions()) {
    Choices own;
    std::map<std::string, std::string> moves;  // by scan
    schedule_with(one.graph, one.machine, own,
                  [&](const std::string& pass, const Program& program) {
                    const size_t slash = pass.rfind(" / ");
                    const bool inside = slash != std::string::npos;
                    std::string& before = moves[inside ? pass.substr(0, slash) : ""];
                    if (before != program.moves_json)
                      changing.insert(inside ? pass.substr(slash + 3) : pass);
                    before = program.moves_json;
                  });
  }
  for (const Pass& pass : passes()) {
    // Decides which loops of kernels are tasks; what comes of it, the next pass does.
    if (pass.name == "fuse tasks") continue;
    // Does what is answered, and is never offered: plan_rematerialization_test.cpp.
    if (pass.name == "rematerialize") continue;
    EXPECT_TRUE(changing.contains(std::string(pass.name)))
        << "'" << pass.name << "' changes none of graphs_for_decisions()";
  }
}

// Of some graph in these, every decision is about one stage or another.
TEST(PassList, EveryDecisionIsOffered) {
  std::set<Decision> offered;
  for (const NamedGraph& one : graphs_for_decisions()) {
    Choices recording{Answers{}};
    schedule_with(one.graph, one.machine, recording);
    for (const Offer& offer : recording.offers()) offered.insert(offer.subject.decision);
  }
  for (const Pass& pass : passes())
    for (Decision decision : pass.decisions) {
      if (decision == Decision::EagerOutputs || decision == Decision::Rematerialize) continue;
      EXPECT_TRUE(offered.contains(decision))
          << "'" << name_of(decision) << "' is asked about none of graphs_for_decisions()";
    }
}

TEST(PassList, APassAsksNothingElse) {
  Choices choices;
  const Choices::Only only(choices, {Decision::ComputeAt});
  const Graph graph = softmax_graph(4, 4);
  EXPECT_TRUE(choices.keeps(Decision::ComputeAt, graph, graph.stages[0]));
  EXPECT_THROW((void)choices.keeps(Decision::Pack, graph, graph.stages[0]), Error);
  {
    const Choices::Only inner(choices, {Decision::Pack});
    EXPECT_TRUE(choices.keeps(Decision::Pack, graph, graph.stages[0]));
    EXPECT_THROW((void)choices.requests(Decision::EagerOutputs), Error);
  }
  EXPECT_TRUE(choices.keeps(Decision::ComputeAt, graph, graph.stages[0]));
}

}  // namespace
}  // namespace adjit::sched
