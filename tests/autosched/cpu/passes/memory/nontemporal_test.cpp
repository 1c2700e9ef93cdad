// Which results are streamed.
#include "autosched/cpu/passes/memory/nontemporal.hpp"

#include "autosched/analysis/verify.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// Names of the stages that the default schedule streams.
std::vector<std::string> streamed(const std::string& text, Choices choices = {}) {
  const Graph graph = parse_graph(text);
  const Program p = schedule_with(graph, kTwoCores, choices);
  verify(p);
  EXPECT_EQ(print(replay(graph, p.moves_json, p.target)), print(p));
  std::vector<std::string> names;
  for (const Kernel& kernel : p.kernels)
    for_each_nest(kernel.root, [&](const Nest& nest) {
      if (nest.streamed) names.push_back(stage_name(p.graph, p.graph.stages[nest.stage]));
    });
  return names;
}

using Names = std::vector<std::string>;

TEST(StreamResults, LargeOnesOfProgramsBeyondTheCaches) {
  EXPECT_EQ(streamed("def main(float(8000000) x) -> (y) { y(i) = x(i) + 1.0 }"), (Names{"y"}));
  EXPECT_EQ(streamed("def main(float(4000000) x) -> (y) { y(i) = x(i) + 1.0 }"), Names{})
      << "both arrays fit L3";
  EXPECT_EQ(streamed("def main(float(8000, 2000) x) -> (y) { y(j) +=! x(i, j) }"), Names{})
      << "few results";
}

TEST(StreamResults, NotWhatIsReadAgain) {
  EXPECT_EQ(streamed("def main(float(8000, 1024) x) -> (y, z) {\n"
                     " y(i, j) = x(i, j) + 1.0\n z(j) +=! y(i, j) where i in 0:8000\n}"),
            Names{});
}

TEST(StreamResults, NotWhatTheCoresAreBusyWith) {
  EXPECT_EQ(streamed("def main(float(8000000) x) -> (y) {"
                     " y(i) = tanh(exp(sin(tanh(x(i))))) * tanh(cos(x(i))) }"),
            Names{});
  EXPECT_EQ(streamed("def main(float(3000, 1000) x, float(1000, 3008) w) -> (y) {"
                     " y(i, j) +=! x(i, k) * w(k, j) }"),
            Names{});
}

TEST(StreamResults, OnlyWholeLines) {
  EXPECT_EQ(streamed("def main(float(8000, 1001) x) -> (y) { y(i, j) = x(i, j) + 1.0 }"), Names{});
  EXPECT_EQ(streamed("def main(float(8000, 1008) x) -> (y) { y(i, j) = x(i, j) + 1.0 }"),
            (Names{"y"}));
}

TEST(StreamResults, IsADecision) {
  const std::string text = "def main(float(8000000) x) -> (y) { y(i) = x(i) + 1.0 }";
  EXPECT_EQ(streamed(text, Choices(Answers{{{Decision::Nontemporal, "y"}, 1}})), Names{});
}

}  // namespace
}  // namespace adjit::sched
