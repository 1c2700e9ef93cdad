// Results that are another shape of what lies in the workspace.
#include "autosched/analysis/task_chains.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

const char* const kReshaped =
    "def main(float(6, 4) x, float(4, 5) w) -> (y) {\n"
    "  c(i, j) +=! x(i, r) * w(r, j)\n"
    "  y(b, r, j) = c(3 * b + r, j) where b in 0:2, r in 0:3, j in 0:5\n}";

TEST(InPlace, AnotherShapeTakesNoKernel) {
  const Graph graph = parse_graph(kReshaped);
  const Program p = alias_reshape(plain(graph), 1);
  EXPECT_EQ(p.kernels.size(), 1u);
  EXPECT_EQ(stages_in_place(p), std::vector<size_t>{1});
  EXPECT_NE(print(p).find("float(2, 3, 5) y is c in another shape"), std::string::npos) << print(p);
  expect_faithful(p, graph);
  expect_faithful(vectorize(p, 0, 1, 4), graph);
  EXPECT_EQ(default_schedule(graph, kTwoCores).kernels.size(), 1u);
}

// Backwards, too: dimensions that were apart become one.
TEST(InPlace, DivisionsThatCancel) {
  const Graph graph = parse_graph(
      "def main(float(2, 3, 5) x) -> (y, z) {\n"
      "  c(b, r, j) = exp(x(b, r, j))\n"
      "  y(i, j) = c(i // 3, i % 3, j) where i in 0:6, j in 0:5\n"
      "  z(b) +=! c(b, r, q)\n}");
  const Program p = alias_reshape(plain(graph), 1);
  EXPECT_EQ(p.kernels.size(), 2u) << "others read it, too";
  expect_faithful(p, graph);
}

// Tasks that read what lies in place do not follow those that make it.
TEST(InPlace, IsNoPartOfATask) {
  const Graph graph = parse_graph(
      "def main(float(6, 4) x) -> (z) {\n"
      "  c(i, j) = exp(x(i, j))\n"
      "  y(b, r, j) = c(3 * b + r, j) where b in 0:2, r in 0:3, j in 0:4\n"
      "  z(i, j) = y(1, 2, j) * c(i, j) where i in 0:6, j in 0:4\n}");
  Program p = alias_reshape(plain(graph), 1);
  for (size_t s : {0, 2}) p = parallel(std::move(p), s, 1);
  EXPECT_EQ(task_chains(p).continues, (std::vector<bool>{false, false}));
  expect_faithful(p, graph);
}

// A tensor lies in one place: of two results that are it in other shapes, one is a copy, as is one
// of two that are each other's.
TEST(InPlace, OnceForATensor) {
  const auto of = [](const std::string& results, const std::string& z) {
    return plain(parse_graph("def main(float(6, 4) x) -> (" + results +
                             ") {\n"
                             "  c(i, j) = exp(x(i, j))\n"
                             "  y(b, r, j) = c(3 * b + r, j) where b in 0:2, r in 0:3, j in 0:4\n" +
                             z + "\n}"));
  };
  const Program both =
      of("y, z", "  z(b, r, j) = c(2 * b + r, j) where b in 0:3, r in 0:2, j in 0:4");
  expect_refused([&] { alias_reshape(alias_reshape(both, 1), 2); }, "in place of another result");
  EXPECT_EQ(stages_in_place(reshapes_in_place(both)), std::vector<size_t>{1});
  const Program after =
      of("z", "  z(a, b, r, j) = y(b, r, 2 * a + j) where a in 0:1, b in 0:2, r in 0:3, j in 0:4");
  expect_refused([&] { alias_reshape(alias_reshape(after, 2), 1); }, "in place of another result");
}

TEST(InPlace, IsRefused) {
  const auto refused = [](const std::string& stages, size_t stage, const char* why) {
    const Graph graph =
        parse_graph("def main(float(6, 4) x, int64(6) n) -> (y) {\n" + stages + "\n}");
    expect_refused([&] { alias_reshape(plain(graph), stage); }, why);
  };
  const std::string c = "  c(i, j) = exp(x(i, j))\n";
  refused(c + "  y(i, j) = c(i, j) * 2.0", 1, "only read");
  refused(c + "  y(j, i) = c(i, j) where j in 0:4, i in 0:6", 1, "in their order");
  refused(c + "  y(i, j) = c(i + 2, j) where i in 0:3, j in 0:4", 1, "in their order");
  refused("  y(b, r, j) = x(3 * b + r, j) where b in 0:2, r in 0:3, j in 0:4", 0,
          "not in the workspace");
  const Graph graph = parse_graph(kReshaped);
  const Program p = alias_reshape(plain(graph), 1);
  expect_refused([&] { alias_reshape(p, 1); }, "in no kernel");
  expect_refused([&] { alias_reshape(pad_leading_dimension(plain(graph), 0, 2), 1); },
                 "in their order");
  expect_refused([&] { rfactor(p, 0, 2, 2); }, "settled");
  expect_refused([&] { inline_stages(p, std::vector<size_t>{0}); }, "settled");
  expect_refused([&] { pad_leading_dimension(p, 0, 2); }, "settled");
  expect_refused([&] { eager_outputs(p); }, "in place");
}

}  // namespace
}  // namespace adjit::sched
