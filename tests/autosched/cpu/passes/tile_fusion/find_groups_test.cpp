// tests/autosched/cpu/passes/tile_fusion/find_groups_test.cpp -- groups of stages whose rows pay
// for being taken in blocks.
#include "autosched/cpu/passes/tile_fusion/find_groups.hpp"

#include <gtest/gtest.h>

#include "autosched/analysis/verify.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/attention.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/rows.hpp"

namespace adjit::sched {
namespace {

// Each value is read by the two after it: ways through them are many, and none is walked twice.
TEST(FindGroups, OfManyValuesInReasonableTime) {
  std::string text = text_of_layer(2, 256, 48, 4), values;
  for (int k = 2; k <= 40; ++k)
    values += "  e" + std::to_string(k) + "(h, i, j) +=! (e" + std::to_string(k - 1) +
              "(h, i, r) + e" + std::to_string(k - 2) + "(h, i, r)) * u(r, j)\n";
  const size_t at = text.find("  e(h, i, j)"), end = text.find("  z(h, i)");
  text.replace(at, end - at,
               "  e0(h, i, j) = exp(s(h, i, j) - m(h, i))\n"
               "  e1(h, i, j) +=! e0(h, i, r) * u(r, j)\n" +
                   values + "  e(h, i, j) = exp(e40(h, i, j))\n");
  text.replace(text.find(") w) ->"), 7, ") w, float(48, 48) u) ->");
  CpuMachine machine = small_caches(2, 160 << 10);
  verify(default_schedule(parse_graph(text), machine));
}

// Heads that lie side by side in a row of all of them.
TEST(FindGroups, OfHeadsSideBySide) {
  const Graph graph = parse_graph(
      "def main(float(256, 12) q, float(256, 12) k, float(256, 12) v) -> (o, dk) {\n"
      "  s(h, i, j) +=! q(i, 4 * h + r) * k(j, 4 * h + r) where h in 0:3, i in 0:256, j in 0:256, "
      "r in 0:4\n"
      "  m(h, i) max=! s(h, i, r)\n"
      "  p(h, i, j) = exp(s(h, i, j) - m(h, i))\n"
      "  o(i, d) +=! p(d // 4, i, r) * v(r, d) where i in 0:256, d in 0:12, r in 0:256\n"
      "  dk(j, d) +=! p(d // 4, r, j) * v(r, d) where j in 0:256, d in 0:12, r in 0:256\n}");
  const Program p = default_schedule(graph, small_caches());
  EXPECT_EQ(count_moves(p, "split_axis"), 1u) << print(p);
  EXPECT_EQ(whole_scores(p, 3 * 256 * 256), 0u) << print(p);
  expect_faithful(p, graph);
}

TEST(FindGroups, OnlyWhereBlocksPay) {
  EXPECT_FALSE(
      has_move(default_schedule(attention(2, 64, 64, 16), CpuMachine{2, 512}), "split_axis"))
      << "fits the caches";
  // Columns are reduced by what others need of them: no rows are apart.
  const Graph columns = parse_graph(
      "def main(float(256, 16) x, float(256, 16) y) -> (o) {\n"
      "  s(i, j) +=! x(i, r) * y(j, r)\n"
      "  m(i) max=! s(i, r)\n  n(j) max=! s(r, j) where j in 0:256, r in 0:256\n"
      "  t(i, j) = exp(s(i, j) - m(i) - n(j))\n"
      "  o(i, d) +=! t(i, r) * x(r, d) where i in 0:256, d in 0:16, r in 0:256\n}");
  const Program p = default_schedule(columns, small_caches());
  EXPECT_FALSE(has_move(p, "split_axis"));
  expect_faithful(p, columns);
}

TEST(FindGroups, WhereMemoryIsFastBlocksSaveNothing) {
  const Graph graph = attention(2, 256, 48, 8);
  CpuMachine machine = small_caches();
  EXPECT_TRUE(has_move(default_schedule(graph, machine), "split_axis"));
  machine.memory_gb_per_core = 1e6;
  machine.l3_bytes_per_cycle = 1e6;
  EXPECT_FALSE(has_move(default_schedule(graph, machine), "split_axis"));
}

}  // namespace
}  // namespace adjit::sched
