// tests/autosched/gpu/loops/pointwise_reader_test.cpp -- who alone reads a stage point by point.
#include "autosched/gpu/loops/pointwise_reader.hpp"

#include <gtest/gtest.h>

#include <string>

#include "autosched/lower/initial_program.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"

namespace adjit::sched {
namespace {

std::optional<size_t> reader(const std::string& rest, const char* outputs = "y") {
  return pointwise_reader(
      initial_program(parse_graph("def f(float(8, 4, 3) x) -> (" + std::string(outputs) +
                                  ") {\n  s(i, j) +=! x(i, j, k)\n" + rest + "}"),
                      kGpu),
      0);
}

TEST(PointwiseReader, IsTheOnlyOneAtItsOwnPoints) {
  EXPECT_EQ(reader("  y(i, j) = s(i, j) / 3.0\n"), 1u);
  EXPECT_EQ(reader("  y(i, j) = s(i, j) * s(i, j) + x(i, j, 0)\n"), 1u);
}

TEST(PointwiseReader, IsNoneElsewhere) {
  EXPECT_EQ(reader("  y(i, j) = s(i, j) / 3.0\n", "y, s"), std::nullopt) << "the caller's, too";
  EXPECT_EQ(reader("  y(j, i) = s(i, j)\n"), std::nullopt);
  EXPECT_EQ(reader("  y(i, j) = s(i, j) where i in 0:7\n"), std::nullopt) << "not all";
  EXPECT_EQ(reader("  y(i) +=! s(i, j)\n"), std::nullopt);
  EXPECT_EQ(reader("  y(i, j) = s(i, j)\n  z(i, j) = s(i, j) + 1.0\n", "y, z"), std::nullopt);
}

}  // namespace
}  // namespace adjit::sched
