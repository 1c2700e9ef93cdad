// tests/autosched/search/print_passes_test.cpp -- the program after each pass, as recorded for some
// graphs (ADJIT_UPDATE_GOLDEN=1 rewrites the files).
#include "autosched/search/print_passes.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "autosched/search/scheduler.hpp"
#include "tests/autosched/graphs_for_passes.hpp"
#include "tests/node_order.hpp"

namespace adjit::sched {
namespace {

// The first line that differs, with the one before it: whole texts have hundreds.
std::string first_difference(const std::string& text, const std::string& stored) {
  std::istringstream now(text), before(stored);
  std::string last, line, old;
  for (int number = 1;; ++number) {
    const bool more = static_cast<bool>(std::getline(now, line));
    const bool more_before = static_cast<bool>(std::getline(before, old));
    if (!more && !more_before) return "";
    if (more != more_before || line != old)
      return "line " + std::to_string(number) + ", behind '" + last + "': '" + (more ? line : "") +
             "' instead of '" + (more_before ? old : "") + "'";
    last = line;
  }
}

TEST(PrintPasses, AsRecorded) {
  if (testing::kNodesInAnotherOrder) GTEST_SKIP() << "recorded with g++";
  for (const NamedGraph& one : graphs_for_passes()) {
    const std::string text = print_passes(one.graph, one.machine);
    const std::string path =
        std::string(ADJIT_TEST_SOURCE_DIR) + "/golden/passes/" + one.name + ".txt";
    if (std::getenv("ADJIT_UPDATE_GOLDEN")) std::ofstream(path) << text;
    std::ostringstream stored;
    stored << std::ifstream(path).rdbuf();
    EXPECT_EQ(first_difference(text, stored.str()), "")
        << one.name << ": set ADJIT_UPDATE_GOLDEN=1 to accept";
  }
}

TEST(PrintPasses, EndsWithTheSchedule) {
  const Graph graph = softmax_graph(64, 64);
  const std::string text = print_passes(graph, kTwoCores);
  EXPECT_TRUE(text.starts_with("# start\ndef "));
  EXPECT_NE(text.find(print(default_schedule(graph, kTwoCores))), std::string::npos);
}

TEST(PrintPasses, AnswersChangeWhatPassesDo) {
  const Graph graph = softmax_graph(4096, 1024);
  Choices recording{Answers{}};
  schedule_with(graph, kTwoCores, recording);
  Answers all;
  for (const Offer& offer : recording.offers())
    if (offer.subject.decision == Decision::ComputeAt) all[offer.subject] = 1;
  ASSERT_FALSE(all.empty());
  EXPECT_NE(print_passes(graph, kTwoCores).find("# fuse producers"), std::string::npos);
  EXPECT_EQ(print_passes(graph, kTwoCores, all).find("# fuse producers"), std::string::npos);
}

}  // namespace
}  // namespace adjit::sched
