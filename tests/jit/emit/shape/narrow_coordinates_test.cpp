// tests/jit/emit/shape/narrow_coordinates_test.cpp -- which indices that data decides fit 32 bits.
#include "jit/emit/shape/narrow_coordinates.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using emit::IndexForms;

struct Coordinate {
  explicit Coordinate(const std::string& index)
      : graph(parse_graph("def f(float(7) x, float(64) t, int64(64) n) -> (y) { y(i) = x(" + index +
                          ") where i in 0:64 }")),
        id(graph.pool.read_index(graph.stages[0].bodies[0])[0]),
        forms(graph.pool, graph.stages[0].domain, {Interval{0, 63}}) {}
  bool narrow() { return emit::is_narrow(forms, id); }

  Graph graph;
  ExprId id;
  IndexForms forms;
};

TEST(NarrowCoordinates, AreLimitedCastsOfFloats) {
  for (const char* index : {"max(min(int64(t(i)), 6), 0)", "min(max(int64(floor(t(i))), 2), 5)",
                            "max(min(int64(t(i)) - 3, 6), 0)", "max(min(2 - int64(t(i)), 6), 0)",
                            "max(min(int64(t(i)) + 1048576, 6), 0)", "max(min(int64(t(i)), i), 0)",
                            "max(min(t(i) > 1.0 ? int64(t(i)) : i, 6), 0)"})
    EXPECT_TRUE(Coordinate(index).narrow()) << index;
}

TEST(NarrowCoordinates, AreNotWhatWrapsElsewhere) {
  for (const char* index :
       {"max(min(int64(t(i)) + 1048577, 6), 0)",  // too far from where the cast ends
        "max(min(int64(t(i)) + int64(t(i)), 6), 0)", "max(min(2 * int64(t(i)), 6), 0)",
        "max(min(n(i), 6), 0)",  // loaded, of 64 bits
        "int64(t(i))"})          // not limited
    EXPECT_FALSE(Coordinate(index).narrow()) << index;
}

TEST(NarrowCoordinates, AreNoForms) {
  EXPECT_FALSE(Coordinate("i // 10").narrow()) << "whose width the index emitter chooses";
}

TEST(NarrowCoordinates, AreMadeOfWhatIsCastAndAsked) {
  Coordinate c("max(min(t(i) > 1.0 ? int64(t(i)) : i, 6), 0)");
  ASSERT_TRUE(c.narrow());
  const std::vector<ExprId> inputs = emit::narrow_inputs(c.forms, c.id);
  ASSERT_EQ(inputs.size(), 2u);
  const ExprPool& pool = c.graph.pool;
  EXPECT_EQ(pool.dtype(inputs[0]), DType::Bool);
  EXPECT_TRUE(pool.is(inputs[1], Op::Read));
}

}  // namespace
}  // namespace adjit::testing
