// tests/autosched/cpu/passes/pack/gather_layout_test.cpp -- operands at places that data names, and
// the dimension that goes innermost.
#include "autosched/cpu/passes/pack/gather_layout.hpp"

#include <algorithm>

#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// Of the read of x: the dimensions of the copy, outermost first; empty: none.
std::vector<size_t> copied(const std::string& read, const std::string& type = "float") {
  const Graph graph =
      parse_graph("def f(" + type + "(4, 16, 9, 9) x, int64(4, 64, 2) I) -> (y) {" +
                  " y(b, i) +=! " + read + " where b in 0:4, i in 0:64, r_c in 0:16, r_k in 0:3 }");
  const Stage& stage = graph.stages.back();
  const Accesses accesses = accesses_of(LoweredGraph(graph), stage);
  for (const MemoryAccess& access : accesses.reads) {
    if (graph.info(access.tensor).name != "x") continue;
    std::vector<size_t> order;
    if (const auto packing = rows_innermost(graph, stage, access))
      for (const PackedDimension& d : packing->dimensions) order.push_back(d.dim);
    return order;
  }
  return {};
}

TEST(GatheredRows, TheDimensionThatDataLeavesAlone) {
  const std::vector<size_t> channels{0, 2, 3, 1};
  EXPECT_EQ(copied("x(b, r_c, I(b, i, 0) % 9, I(b, i, 1) % 9)"), channels);
  const std::vector<size_t> data_last{0, 3, 2, 1};
  EXPECT_EQ(copied("x(b, r_c, I(b, i, 0) % 9, 3)"), data_last);
  EXPECT_EQ(copied("x(b, r_c, I(b, i, 0) % 9, max(i - 56, 0))"), data_last)
      << "rows that lanes name lie close together";
  EXPECT_EQ(copied("x(b, (r_c + r_k) % 16, I(b, i, 0) % 9, r_c // 9)"), std::vector<size_t>())
      << "moves two coordinates";
  EXPECT_EQ(copied("x(b, max(r_c - r_k, 0), I(b, i, 0) % 9, 3)"), std::vector<size_t>())
      << "no affine coordinate";
  EXPECT_EQ(copied("x(b, r_c, i // 8, r_k)"), std::vector<size_t>()) << "nothing is named by data";
  EXPECT_EQ(copied("x(b, r_k * 4, I(b, i, 0) % 9, 3)"), std::vector<size_t>()) << "steps of four";
  EXPECT_EQ(copied("x(b, I(b, i, 0) % 9, I(b, i, 1) % 9, r_k)"), std::vector<size_t>())
      << "innermost as it is";
  EXPECT_EQ(copied("(i < 60 ? x(b, r_c, I(b, i, 0) % 9, 3) : 0.0)"), data_last);
}

}  // namespace
}  // namespace adjit::sched
