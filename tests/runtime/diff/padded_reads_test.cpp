// tests/runtime/diff/padded_reads_test.cpp -- reads at clamped places read a padded copy.
#include <gtest/gtest.h>

#include "runtime/diff/simplify.hpp"
#include "runtime/graph/interpreter.hpp"
#include "runtime/graph/text.hpp"
#include "runtime/graph/verify.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit {
namespace {

using testing::check_gradients;

// The shapes of the copies that the pass makes; it changes no value and no gradient.
void expect_copies(const char* text, const std::vector<std::vector<int64_t>>& shapes) {
  const Graph graph = parse_graph(text);
  const Graph padded = padded_reads(graph);
  EXPECT_NO_THROW(verify(padded)) << print(padded);
  std::vector<std::vector<int64_t>> found;
  for (const TensorInfo& info : padded.tensors)
    if (info.name.find("_padded") != std::string::npos) found.push_back(info.shape);
  EXPECT_EQ(found, shapes) << print(padded);
  const std::vector<Array> inputs = testing::random_inputs(graph, 3);
  const std::vector<Array> x = interpret(graph, inputs), y = interpret(padded, inputs);
  ASSERT_EQ(x.size(), y.size());
  for (size_t k = 0; k < x.size(); ++k)
    for (int64_t i = 0; i < x[k].element_count(); ++i)
      EXPECT_EQ(x[k].at(i), y[k].at(i)) << k << " at " << i;
  EXPECT_TRUE(check_gradients(graph, inputs, 2));
}

TEST(PaddedReads, AClampedWindowReadsOneCopy) {
  expect_copies(R"(
def f(double(9) x, double(3) w) -> (y) {
  y(i) +=! w(r) * x(min(max(i + r - 1, 0), 8)) where i in 0:9, r in 0:3
})",
                {{11}});
}

TEST(PaddedReads, TermsShareTheCopy) {
  expect_copies(R"(
def f(double(9) x) -> (y) {
  y(i) = x(max(i - 1, 0)) - 2.0 * x(i) + x(min(i + 1, 8)) where i in 0:9
})",
                {{11}});
}

TEST(PaddedReads, OuterDimensionsComeWithTheInnermost) {
  expect_copies(R"(
def f(double(6, 7) x) -> (y) {
  y(i, j) +=! x(min(max(i + p - 1, 0), 5), abs(j - q)) where i in 0:6, j in 0:7, p in 0:3, q in 0:2
})",
                {{8, 7}, {8, 8}});
}

TEST(PaddedReads, IndicesThatDataNamesStay) {
  expect_copies(R"(
def f(double(5, 7) x, int64(7) k) -> (y) {
  y(i, j) +=! x((k(j) + i) % 5, min(j + q, 6)) where i in 0:5, j in 0:7, q in 0:3
})",
                {{5, 9}});
}

TEST(PaddedReads, StridesOfTheWindowAreReadInTheCopy) {
  expect_copies(R"(
def f(double(8) x) -> (y) {
  y(i) = x(max(2 * i - 1, 0)) + 3.0 * x(2 * i) + x(min(2 * i + 1, 6)) where i in 0:4
})",
                {});
  expect_copies(R"(
def f(double(8) x, double(7) w) -> (y) {
  y(i) +=! w(r) * x(min(max(2 * i + r - 2, 0), 7)) where i in 0:4, r in 0:7
})",
                {{13}});
}

TEST(PaddedReads, ScattersReadTheCopyOfWhatTheyStartFrom) {
  expect_copies(R"(
def f(double(8) x) -> (s) {
  scatter double(8) s(i) +=[drop] x(min(max(i + r - 1, 0), 7)) from x where i in 0:8, r in 0:3
})",
                {{10}});
}

TEST(PaddedReads, WhatACopyWouldNotPayForStays) {
  // Read once an element; only the outer index clamped; two axes apart; nothing clamped.
  for (const char* y : {"y(i, j) = x(i, min(j + 1, 6))", "y(i, j) = x(min(i + 1, 5), j)",
                        "y(i, j) = x(i, max(i, j))", "y(i, j) = x(i, j) + x(5 - i, 6 - j)"})
    expect_copies(
        (std::string("def f(double(6, 7) x) -> (y) {\n") + y + " where i in 0:6, j in 0:7 }")
            .c_str(),
        {});
}

TEST(PaddedReads, TwoWaysToReadTheSamePlaceAreTwo) {
  // j = 6 reads element 6 in one, 5 in the other: the copy is of the first only.
  expect_copies(R"(
def f(double(7) x) -> (y) {
  y(j) +=! x(min(j + q, 6)) * x(min(j, 5)) where j in 0:7, q in 0:3
})",
                {{9}});
}

}  // namespace
}  // namespace adjit
