// tests/autosched/moves/scatter/inversion_test.cpp -- sorting the points of a scatter by stages.
#include "autosched/moves/scatter/inversion.hpp"

#include <algorithm>
#include <vector>

#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/scattered_tables.hpp"

namespace adjit::sched {
namespace {

// The order that an inversion makes, by its stages alone.
TEST(Inversion, SortsAsAStableSortDoes) {
  for (const int64_t points : {1, 2, 7, 32, 100})
    for (const int64_t rows : {1, 2, 3, 40})
      for (const int64_t chunk : {2, 4, 8, 32, 64, 96}) {
        Program program = inverted(table(points, rows), chunk);
        TensorId order, offsets;
        for (size_t s = 0; s < program.graph.stages.size(); ++s) {
          const Stage& stage = program.graph.stages[s];
          if (program.graph.distinct.contains(stage_key(stage))) order = stage.results[0];
        }
        offsets = program.graph.stages[stage_of(program, "d_offsets")].results[0];
        program.graph.outputs = {order, offsets};
        for (const TensorId id : program.graph.outputs) program.scopes[id.value] = Scope::Argument;
        for (const Spread spread : kSpreads) {
          const std::vector<Array> inputs = inputs_of(program.graph, rows, spread);
          std::vector<int64_t> keys, sorted;
          for (int64_t k = 0; k < points; ++k) {
            const auto row = static_cast<int64_t>(inputs[1].at(k));
            keys.push_back(row < 0 || row >= rows ? rows : row);
            sorted.push_back(k);
          }
          std::ranges::stable_sort(sorted, {},
                                   [&](int64_t k) { return keys[static_cast<size_t>(k)]; });
          const std::vector<Array> outputs = interpret(program, inputs);
          for (int64_t k = 0; k < points; ++k)
            ASSERT_EQ(outputs[0].at(k), static_cast<double>(sorted[static_cast<size_t>(k)]));
          for (int64_t r = 0; r <= rows; ++r)
            ASSERT_EQ(outputs[1].at(r), static_cast<double>(std::ranges::count_if(
                                            keys, [&](int64_t k) { return k < r; })));
        }
      }
}

TEST(Inversion, CountsAreAtMostAsManyAsPoints) {
  for (const int64_t points : {64, 1000, 5000})
    for (const int64_t rows : {3, 300, 70'000})
      for (const int64_t chunk : {16, 64, 300}) {
        const Program program = inverted(table(points, rows), chunk);
        for (const TensorInfo& tensor : program.graph.tensors)
          EXPECT_LE(tensor.element_count(), std::max(3 * points, 3 * rows) + chunk) << tensor.name;
      }
}

// Wide words of points: masks of 32 bits, whose last one is the sign.
TEST(Inversion, CountsWholeWordsOfPoints) {
  const Graph graph = table(200, 5);
  const Program program = inverted(graph, 64);
  const Stage& rank = program.graph.stages[stage_of(program, "d_rank")];
  EXPECT_EQ(rank.domain.extents, (std::vector<int64_t>{4, 2, 32, 2}));
  for (const Spread spread : kSpreads) {
    const std::vector<Array> inputs = inputs_of(graph, 5, spread);
    expect_same_bits(interpret(graph, inputs), interpret(program, inputs));
  }
}

TEST(Inversion, OrdersStartFromNothing) {
  const Program program = inverted(table(90, 3), 4);
  verify(program);
  for (const Stage& stage : program.graph.stages)
    EXPECT_TRUE(!program.graph.distinct.contains(stage_key(stage)) || !stage.initial.valid());
  Program other = program;
  other.graph.distinct.clear();
  EXPECT_THROW(verify(other), Error);
}

TEST(Inversion, ScattersOfTheSameRowsShareTheirOrder) {
  const Graph graph = parse_graph(
      "def f(float(9, 4) x, float(9) y, int64(9) n) -> (h, s) {\n"
      "  scatter float(5, 4) h(n(i), j) +=[drop] x(i, j) where i in 0:9, j in 0:4\n"
      "  scatter float(5) s(n(i)) max=[drop] y(i) where i in 0:9\n}");
  Program p = plain(graph);
  p = invert(p, stage_of(p, "h"), 4);
  const size_t stages = p.graph.stages.size();
  p = invert(p, stage_of(p, "s"), 4);
  EXPECT_EQ(p.graph.stages.size(), stages - 1) << "nothing is made but the start left out";
  EXPECT_EQ(p.graph.distinct.size(), 2u) << "two digits";
  expect_faithful(p, graph);
  Program other = invert(plain(graph), stage_of(plain(graph), "h"), 4);
  other = invert(other, stage_of(other, "s"), 8);
  EXPECT_GT(other.graph.stages.size(), stages) << "in other chunks";
  expect_faithful(other, graph);
}

}  // namespace
}  // namespace adjit::sched
