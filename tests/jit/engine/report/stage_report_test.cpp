// tests/jit/engine/report/stage_report_test.cpp -- counts of a stage, checked against its domain
// walked point by point.
#include "jit/engine/report/stage_report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "autosched/program/points.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

using nlohmann::json;

json stages(const std::string& text) { return json::parse(stages_json(parse_graph(text))); }

TEST(StageReport, OfAMatrixProduct) {
  const json list =
      stages("def main(float(4, 6) a, float(6, 5) b) -> (c) { c(i, j) +=! a(i, k) * b(k, j) }");
  ASSERT_EQ(list.size(), 1u);
  const json& s = list[0];
  EXPECT_EQ(s["name"], "c");
  EXPECT_EQ(s["shape"], (json{4, 5}));
  EXPECT_EQ(s["dtype"], "float32");
  EXPECT_EQ(s["iterations"], 4 * 5 * 6);
  EXPECT_EQ(s["flops"], 2 * 4 * 5 * 6);
  EXPECT_EQ(s["bytes"], 4 * (4 * 6 + 6 * 5 + 4 * 5));
}

TEST(StageReport, CountsTheFloatOperationsOfABody) {
  const json list = stages(
      "def main(float(10) x, int64(10) n, double d) -> (y, z, w, u) {\n"
      " y(i) = fma(x(i), 2.0, x(i)) + (x(i) > 0.0 ? x(i) * 3.0 : 1.0)\n z(i) = n(i) * 2 + 1\n"
      " w(i) max=! x(r) where i in 0:1, r in 0:10\n u(i) = d() where i in 0:3\n}");
  EXPECT_EQ(list[0]["flops"], 10 * (2 + 1 + 1)) << "fma counts twice, choosing not at all";
  EXPECT_EQ(list[1]["flops"], 0) << "integers";
  EXPECT_EQ(list[1]["dtype"], "int64");
  EXPECT_EQ(list[2]["flops"], 10) << "the combiner";
  EXPECT_EQ(list[3]["flops"], 0) << "a copy";
  EXPECT_EQ(list[3]["bytes"], 8 + 3 * 8) << "each tensor once, however often it is read";
}

TEST(StageReport, IterationsAreThePointsOfTheDomain) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const Graph graph = random_graph(seed, {.stages = 4, .scatters = true});
    const json list = json::parse(stages_json(graph));
    ASSERT_EQ(list.size(), graph.stages.size());
    for (size_t s = 0; s < list.size(); ++s) {
      const Domain& domain = graph.stages[s].domain;
      int64_t points = 0;
      std::vector<int64_t> at(domain.rank(), 0);
      bool more = domain.box_points() > 0;
      while (more) {
        points += domain.contains(at);
        more = false;
        for (size_t a = domain.rank(); a-- > 0 && !more;) {
          more = ++at[a] < domain.extents[a];
          if (!more) at[a] = 0;
        }
      }
      EXPECT_EQ(list[s]["iterations"], points) << "seed " << seed << "\n" << print(graph);
    }
  }
}

TEST(StageReport, HugeBoxesAreCountedWithoutWalkingThem) {
  const json list = stages("def main(float(100000, 100000) x) -> (y) { y(i) +=! x(i, r) }");
  EXPECT_EQ(list[0]["iterations"], int64_t{10'000'000'000});
}

TEST(StageReport, WhatIsNoLoopNestIsNotCounted) {
  const json list = stages(
      "def main(float(2) h0, float(3, 2) X) -> (h) {\n"
      " scan (h, ys) = step[3](carry float(2) c = h0, over float(2) x = X) -> (n, n) {\n"
      " n(i) = c(i) + x(i) where i in 0:2\n }\n}");
  ASSERT_EQ(list.size(), 1u);
  EXPECT_TRUE(list[0]["flops"].is_null() || list[0]["flops"].is_number());
}

TEST(StageReport, TellsTheUsersLines) {
  Graph graph = parse_graph("def main(float(4) x) -> (y) { y(i) = x(i) }");
  graph.stages[0].lines = {{"model.py", 12, "matmul"}, {"model.py", 13, "+"}};
  EXPECT_EQ(json::parse(stages_json(graph))[0]["lines"],
            (json{"model.py:12 (matmul)", "model.py:13 (+)"}));
  EXPECT_EQ(json::parse(stages_json(Graph{})), json::array());
}

}  // namespace
}  // namespace adjit::testing
