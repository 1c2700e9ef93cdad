// tests/runtime/trace/ops/stages/shape_test.cpp -- broadcasting, axes counted from the end,
// extents.
#include "runtime/trace/ops/stages/shape.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/trace/messages.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

using Extents = std::vector<int64_t>;

TEST(Shapes, BroadcastAlignedAtTheEnd) {
  const auto broadcast = [](const Extents& a, const Extents& b) { return trace::broadcast(a, b); };
  EXPECT_EQ(broadcast({}, {}), Extents{});
  EXPECT_EQ(broadcast({3}, {}), Extents{3});
  EXPECT_EQ(broadcast({2, 1, 4}, {3, 1}), (Extents{2, 3, 4}));
  EXPECT_EQ(broadcast({1}, {0}), Extents{0}) << "an empty extent is no 1";
  for (const auto& [a, b] : {std::pair<Extents, Extents>{{2}, {3}}, {{4, 0}, {4, 2}}}) {
    expect_words(message_of(ErrorCode::Shape, [&] { broadcast(a, b); }), {"("});
    message_of(ErrorCode::Shape, [&] { broadcast(b, a); });
  }
}

TEST(Shapes, AxesCountFromEitherEnd) {
  EXPECT_EQ(trace::normalized_axis(0, 3), 0u);
  EXPECT_EQ(trace::normalized_axis(-1, 3), 2u);
  EXPECT_EQ(trace::normalized_axis(-3, 3), 0u);
  for (const int64_t axis : {int64_t{3}, int64_t{-4}, INT64_MAX, INT64_MIN})
    expect_words(message_of(ErrorCode::Invalid, [&] { trace::normalized_axis(axis, 3, "dim"); }),
                 {"dim", "3"});
  message_of(ErrorCode::Invalid, [&] { trace::normalized_axis(0, 0); });
  EXPECT_EQ(trace::normalized_axes(Extents{-1, 0}, 3), (std::vector<size_t>{2, 0}));
  message_of(ErrorCode::Invalid, [&] { trace::normalized_axes(Extents{1, -2}, 3); });
}

TEST(Shapes, ElementsAndStridesAreRowMajor) {
  EXPECT_EQ(trace::element_count(Extents{2, 3, 4}), 24);
  EXPECT_EQ(trace::element_count(Extents{}), 1);
  EXPECT_EQ(trace::element_count(Extents{5, 0}), 0);
  EXPECT_THROW(trace::element_count(Extents{INT64_MAX, 3}), Overflow);
  EXPECT_EQ(trace::row_major_strides(Extents{2, 3, 4}), (Extents{12, 4, 1}));
  EXPECT_EQ(trace::row_major_strides(Extents{}), Extents{});
  EXPECT_EQ(trace::all_axes(3), (std::vector<size_t>{0, 1, 2}));
}

TEST(Shapes, CountsInFloatingPointAreExtentsWhereTheyAreWhole) {
  EXPECT_EQ(trace::extent_of(7, "num"), 7);
  EXPECT_EQ(trace::extent_of(0, "num"), 0);
  for (const double count : {-1.0, kNaN, kInf, 1e19, 9223372036854775808.0})
    expect_words(message_of(ErrorCode::Shape, [&] { trace::extent_of(count, "num"); }), {"num"});
}

}  // namespace
}  // namespace adjit::testing
