// tests/runtime/diff/simplify/padded_reads_test.cpp -- reads at clamped places read a padded copy.
#include <gtest/gtest.h>

#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::diff {
namespace {

using testing::check_gradients;

// The shapes of the copies that the pass makes, and how many reads there are in the last stage; it
// changes no value and no gradient.
void expect_reads(const std::string& text, const std::vector<std::vector<int64_t>>& copies,
                  size_t reads) {
  const Graph graph = parse_graph(text.c_str());
  const Graph padded = padded_reads(graph);
  std::vector<std::vector<int64_t>> found;
  for (const TensorInfo& info : padded.tensors)
    if (info.name.find("_padded") != std::string::npos) found.push_back(info.shape);
  EXPECT_EQ(found, copies) << print(padded);
  size_t count = 0;
  for (ExprId id : reachable(padded.pool, padded.stages.back().bodies))
    count += padded.pool.is(id, Op::Read) ? 1 : 0;
  EXPECT_EQ(count, reads) << print(padded);
  const std::vector<Array> inputs = testing::random_inputs(graph, 3);
  EXPECT_TRUE(testing::same_values(graph, padded, inputs));
  EXPECT_TRUE(check_gradients(graph, inputs, 2));
}

// Seven weights over 40 elements.
std::string window(const std::string& index, const std::string& more = "") {
  return "def f(double(40) x, double(7) w) -> (y) {\n  y(i) +=! w(r) * x(" + index + ")" + more +
         " where i in 0:40, r in 0:7\n}";
}

TEST(PaddedReads, AClampedWindowReadsOneCopy) {
  expect_reads(window("min(max(i + r - 3, 0), 39)"), {{46}}, 2);
  expect_reads(window("abs(i - r)"), {{46}}, 2);
}

TEST(PaddedReads, ReadsOfOneLineShareTheCopy) {
  expect_reads(window("min(max(i + r - 3, 0), 39)", " * x(i) * x(min(i + 1, 39))"), {{46}}, 4);
}

TEST(PaddedReads, OuterDimensionsComeWithTheInnermost) {
  expect_reads(R"(
def f(double(6, 7) x) -> (y) {
  y(i, j) +=! x(min(max(i + p - 2, 0), 5), abs(j - q)) where i in 0:6, j in 0:7, p in 0:5, q in 0:3
})",
               {{10, 7}, {10, 9}}, 1);
}

TEST(PaddedReads, IndicesThatDataNamesStay) {
  expect_reads(R"(
def f(double(5, 7) x, int64(7) k) -> (y) {
  y(i, j) +=! x((k(j) + i + p) % 5, min(j + q, 6)) where i in 0:5, j in 0:7, p in 0:3, q in 0:3
})",
               {{5, 9}}, 2);
}

TEST(PaddedReads, StridesOfTheWindowAreReadInTheCopy) {
  expect_reads(R"(
def f(double(8) x, double(3, 7) w) -> (y) {
  y(i) +=! w(s, r) * x(min(max(2 * i + r - 2, 0), 7)) where i in 0:4, r in 0:7, s in 0:3
})",
               {{13}}, 2);
}

TEST(PaddedReads, ScattersReadTheCopyOfWhatTheyStartFrom) {
  expect_reads(R"(
def f(double(40) x) -> (s) {
  scatter double(40) s(i) +=[drop] x(min(max(i + r - 3, 0), 39)) from x where i in 0:40, r in 0:8
})",
               {{47}}, 1);
}

TEST(PaddedReads, FewReadsAreTakenApart) {
  expect_reads(R"(
def f(double(9) x) -> (y) {
  y(i) = x(max(i - 1, 0)) - 2.0 * x(i) + x(min(i + 1, 8)) where i in 0:9
})",
               {}, 5);
  expect_reads(
      "def f(double(6, 7) x) -> (y) { y(i, j) = x(max(i - 1, 0), min(max(j - 1, 1), 5))"
      " where i in 0:6, j in 0:7 }",
      {}, 2);
}

TEST(PaddedReads, OthersStay) {
  // Only the outer index clamped; two axes apart; nothing clamped; too many pieces.
  for (const char* y : {"x(min(i + 1, 5), j)", "x(i, max(i, j))", "x(5 - i, 6 - j)",
                        "x(i, abs(abs(abs(j - 3) - 2) - 1))"})
    expect_reads(std::string("def f(double(6, 7) x) -> (y) {\n  y(i, j) = ") + y +
                     " where i in 0:6, j in 0:7 }",
                 {}, 1);
}

TEST(PaddedReads, TwoWaysToReadTheSamePlaceAreTwo) {
  // At j = 6 one reads element 6, the other 5: the copy is of the first only.
  expect_reads(R"(
def f(double(7) x) -> (y) {
  y(j) +=! x(min(j + q, 6)) * x(min(j, 5)) where j in 0:7, q in 0:40
})",
               {{46}}, 3);
}

}  // namespace
}  // namespace adjit::diff
