// tests/autosched/rematerialization_test.cpp -- stages computed twice, outputs computed early.
#include "autosched/rematerialization.hpp"

#include "autosched/heuristic.hpp"
#include "runtime/graph/text.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit {
namespace {

// Two layers and what reverse mode makes of them: a and b wait for the gradients.
const char* const kLayers =
    "def main(float(8, 8) x, float(8, 8) w, float(8, 8) v) -> (dw, dv, dx) {\n"
    "  p(i, j) +=! x(i, k) * w(k, j)\n"
    "  a(i, j) = tanh(p(i, j))\n"
    "  q(i, j) +=! a(i, k) * v(k, j)\n"
    "  b(i, j) = tanh(q(i, j))\n"
    "  dq(i, j) = b(i, j) - b(i, j) * b(i, j) * b(i, j)\n"
    "  da(i, j) +=! dq(i, k) * v(j, k)\n"
    "  dp(i, j) = da(i, j) - da(i, j) * a(i, j) * a(i, j)\n"
    "  dw(i, j) +=! x(k, i) * dp(k, j)\n"
    "  dx(i, j) +=! dp(i, k) * w(j, k)\n"
    "  dv(i, j) +=! a(k, i) * dq(k, j)\n}";

std::vector<std::string> names(const Program& program) {
  std::vector<std::string> found;
  for (const Stage& stage : program.graph.stages) found.push_back(stage_name(program.graph, stage));
  return found;
}

TEST(Rematerialize, LaterReadersReadTheCopy) {
  const Graph graph = parse_graph(kLayers);
  const Program start = plain(graph);
  const size_t a = stage_of(start, "a"), dp = stage_of(start, "dp");
  Program p = rematerialize(start, a, dp);
  EXPECT_EQ(names(p)[dp], "a_again");
  EXPECT_EQ(p.readers[graph.stages[a].results[0].value], (std::vector<size_t>{2}));
  expect_faithful(p, graph);
  // What the copy is computed from may be computed again as well.
  p = rematerialize(p, stage_of(p, "p"), dp);
  EXPECT_EQ(names(p)[dp], "p_again");
  EXPECT_EQ(names(p)[dp + 1], "a_again");
  expect_faithful(p, graph);
  EXPECT_NE(p.graph.stages[dp].region, p.graph.stages[dp + 1].region);
}

TEST(Rematerialize, OnlyTheResultsThatAreReadAgain) {
  const Graph graph = parse_graph(
      "def main(float(6, 9) x) -> (y, z) {\n"
      "  m(i) max=! x(i, r)\n"
      "  n(i) max=! x(i, r) * x(i, r)\n"
      "  y(i) = m(i) + n(i)\n"
      "  z(i) = n(i) * y(i)\n}");
  Program p = fuse_siblings(plain(graph), std::vector<size_t>{0, 1});
  ASSERT_EQ(p.graph.stages[0].results.size(), 2u);
  p = rematerialize(p, 0, 2);
  EXPECT_EQ(names(p)[2], "n_again");
  EXPECT_EQ(p.graph.stages[2].results.size(), 1u);
  expect_faithful(p, graph);
}

TEST(Rematerialize, Refuses) {
  const Graph graph = parse_graph(kLayers);
  const Program p = plain(graph);
  const size_t a = stage_of(p, "a");
  expect_refused([&] { rematerialize(p, a, stage_of(p, "b")); }, "does not read it");
  expect_refused([&] { rematerialize(p, a, 99); }, "does not read it");
  expect_refused([&] { rematerialize(p, a, stage_of(p, "q")); }, "nothing reads it before");
  expect_refused([&] { rematerialize(p, 99, 3); }, "no stage");
  const Program attached = compute_at(p, stage_of(p, "dq"), stage_of(p, "da"), 1);
  expect_refused([&] { rematerialize(attached, stage_of(p, "dq"), stage_of(p, "dv")); },
                 "together with");
  const Graph scattered = parse_graph(
      "def main(float(5) x, int64(5) at) -> (y, z) {\n"
      "  scatter float(5) y(at(i)) += x(i) where i in 0:5\n"
      "  z(i) = y(i) + x(i)\n}");
  const Program s = plain(scattered);
  expect_refused([&] { rematerialize(s, scatter_in(s), s.graph.stages.size() - 1); },
                 "scans and scatters");
}

TEST(EarlyResults, GradientsRunWhenTheirOperandsAreThere) {
  const Graph graph = parse_graph(kLayers);
  const Program p = early_results(plain(graph));
  EXPECT_EQ(names(p),
            (std::vector<std::string>{"p", "a", "q", "b", "dq", "dv", "da", "dp", "dw", "dx"}));
  expect_faithful(p, graph);
  EXPECT_EQ(names(early_results(p)), names(p));
}

// What needs no operand of ours is computed where it is read.
TEST(EarlyResults, WhatWaitsForNothingWaitsForItsReader) {
  const Graph graph = parse_graph(
      "def main(float(6, 6) x, float(6, 6) w) -> (y, z) {\n"
      "  a(i, j) +=! x(i, k) * w(k, j)\n"
      "  b(i, j) = tanh(a(i, j))\n"
      "  t(i, j) +=! w(i, k) * w(k, j)\n"
      "  u(i, j) = t(j, i) + 1.0\n"
      "  z(i) +=! b(i, k) * a(i, k)\n"
      "  y(i, j) +=! u(i, k) * b(k, j)\n}");
  const Program p = early_results(plain(graph));
  EXPECT_EQ(names(p), (std::vector<std::string>{"a", "b", "t", "u", "z", "y"}));
  expect_faithful(p, graph);
}

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
  const Prepared prepared = prepare_stages(graph, kTwoCores, usual);
  const Rematerialization plan = plan_rematerialization(prepared.program, prepared.plans);
  ASSERT_GT(plan.steps.size(), 2u);
  EXPECT_EQ(plan.steps.front().stages, 0u);
  for (size_t k = 0; k < plan.steps.size(); ++k) {
    const Choices choices(answers_for(plan, plan.steps[k]));
    const Program p = rematerialize_stages(prepared.program, prepared.plans, choices);
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
}  // namespace adjit
