// tests/autosched/moves/scatter/start_test.cpp -- what a scatter starts from.
#include "autosched/moves/scatter/start.hpp"

#include <gtest/gtest.h>

#include <string>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/scattered_tables.hpp"

namespace adjit::sched {
namespace {

bool is_filled(const Graph& graph) {
  const Program program = plain(graph);
  const std::optional<Fill> fill = fill_of_start(program, program.graph.stages.back());
  return fill && fill->stage + 2 == program.graph.stages.size();
}

TEST(ScatterStart, IsAFillWhereAScatterStartsFromNothing) {
  for (const char* how : {"+=[drop]", "*=[drop]", "max=[drop]", "min=[drop]", "=[drop]"}) {
    EXPECT_TRUE(is_filled(table(9, 5, how))) << how;
    EXPECT_FALSE(is_filled(table(9, 5, how, " from d0"))) << how;
  }
}

// A constant that the combiner adds something to, and one that somebody else reads.
TEST(ScatterStart, IsNoFillWhereItIsMoreThanThat) {
  const auto from = [](const std::string& start, const std::string& outputs) {
    return parse_graph("def f(float(9) x, int64(9) n) -> (" + outputs + ") {\n  z(i) = " + start +
                       " where i in 0:5\n  scatter float(5) h(n(p)) +=[drop] x(p) from z where p "
                       "in 0:9\n}");
  };
  EXPECT_FALSE(is_filled(from("1.0", "h")));
  EXPECT_FALSE(is_filled(from("0.0", "z, h")));
}

TEST(ScatterStart, WhatComputesInAScattersPlaceHasABox) {
  const Graph graph = table(9, 5);
  const Stage stage = computing(graph.stages.back(), {4, 3});
  EXPECT_EQ(stage.kind, StageKind::Compute);
  EXPECT_EQ(stage.domain, shape_box({4, 3}));
  EXPECT_TRUE(stage.target.empty());
  EXPECT_FALSE(stage.initial.valid());
}

}  // namespace
}  // namespace adjit::sched
