// tests/autosched/decisions/choices_test.cpp -- decisions by name, and answers to them.
#include "autosched/decisions/choices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "autosched/search/scheduler.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

TEST(Choices, NumbersThatAreNotThereCountAsTheDefault) {
  const Graph g = matmul_graph(64, 64, 64);
  Choices choices({{{Decision::Tile, "C"}, 1000}, {{Decision::Pack, "nothing"}, 1}});
  EXPECT_EQ(schedule_with(g, kTwoCores, choices).moves_json,
            default_schedule(g, kTwoCores).moves_json);
}

struct Asked {
  Graph graph = matmul_graph(8, 8, 8);
  const Stage& stage() const { return graph.stages[0]; }
  static std::vector<std::string> three() { return {"a", "b", "c"}; }
};

TEST(Choices, WithoutAnswersTheDefaultIsTakenAndNothingRecorded) {
  Asked a;
  Choices choices;
  EXPECT_EQ(choices.pick(Decision::Tile, a.graph, a.stage(),
                         [&]() -> std::vector<std::string> { throw std::logic_error("asked"); }),
            0u);
  EXPECT_TRUE(choices.keeps(Decision::Pack, a.graph, a.stage()));
  EXPECT_FALSE(choices.recording());
  EXPECT_TRUE(choices.offers().empty());
}

TEST(Choices, AnswersAreTakenAndOffersRecordedOnce) {
  Asked a;
  Choices choices(Answers{{{Decision::Tile, "C"}, 2}, {{Decision::Pack, "C"}, 1}});
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(choices.pick(Decision::Tile, a.graph, a.stage(), Asked::three), 2u);
    EXPECT_FALSE(choices.keeps(Decision::Pack, a.graph, a.stage()));
  }
  ASSERT_EQ(choices.offers().size(), 2u);
  EXPECT_EQ(choices.offers()[0].subject, (Subject{Decision::Tile, "C"}));
  EXPECT_EQ(choices.offers()[0].options, Asked::three());
  EXPECT_EQ(choices.offers()[0].taken, 2u);
}

TEST(Choices, OneOptionIsNoOffer) {
  Asked a;
  Choices choices(Answers{});
  EXPECT_EQ(choices.pick(Decision::Tile, a.graph, a.stage(),
                         [] { return std::vector<std::string>{"only"}; }),
            0u);
  EXPECT_TRUE(choices.offers().empty());
}

TEST(Choices, SubjectsInsideAScanHaveItsName) {
  Asked a;
  Choices choices(Answers{{{Decision::Tile, "h/inner/C"}, 1}, {{Decision::EagerOutputs, "h/"}, 1}});
  {
    const Choices::Inside outer(choices, "h");
    EXPECT_TRUE(choices.requests(Decision::EagerOutputs));
    {
      const Choices::Inside inner(choices, "inner");
      EXPECT_EQ(choices.pick(Decision::Tile, a.graph, a.stage(), Asked::three), 1u);
    }
    EXPECT_EQ(choices.pick(Decision::Tile, a.graph, a.stage(), Asked::three), 0u);
  }
  EXPECT_FALSE(choices.requests(Decision::EagerOutputs));
  EXPECT_EQ(choices.offers()[0].subject.stage, "h/inner/C");
}

TEST(Choices, OtherDecisionsThanAPassHasAreAnInternalError) {
  Asked a;
  Choices choices;
  {
    const Choices::Only only(choices, {Decision::Pack});
    EXPECT_NO_THROW(choices.keeps(Decision::Pack, a.graph, a.stage()));
    EXPECT_THROW(choices.keeps(Decision::Pad, a.graph, a.stage()), Error);
    EXPECT_THROW(choices.requests(Decision::Rematerialize), Error);
  }
  EXPECT_NO_THROW(choices.keeps(Decision::Pad, a.graph, a.stage()));
}

TEST(Choices, EveryDecisionHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (size_t k = 0; k < kDecisions; ++k) names.insert(name_of(static_cast<Decision>(k)));
  EXPECT_EQ(names.size(), kDecisions);
  const std::vector<Decision> fixed = fixed_decisions();
  EXPECT_NE(std::ranges::find(fixed, Decision::Tasks), fixed.end());
  EXPECT_EQ(std::ranges::find(fixed, Decision::Tile), fixed.end());
  EXPECT_EQ(phase_of(Decision::Tile), Phase::Loops);
  EXPECT_EQ(phase_of(Decision::FuseSiblings), Phase::Stages);
}

}  // namespace
}  // namespace adjit::sched
