#include "runtime/graph/verify/verify_bounds.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "runtime/graph/interpret/interpreter.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/runtime/graph/random_values.hpp"

namespace adjit::graph {
namespace {

using testing::Random;

const std::vector<int64_t> kEnds{INT64_MIN, INT64_MIN + 1, INT64_MIN / 2, -9,       -1, 0, 1, 7, 9,
                                 42,        INT64_MAX / 2, INT64_MAX - 1, INT64_MAX};

// Reads of 8 elements where v and w are all pairs of such numbers.
Graph reader(const std::string& body) {
  const std::string n = std::to_string(kEnds.size() * kEnds.size());
  return parse_graph("def main(float(8) x, long(" + n + ") v, long(" + n +
                     ") w) -> (y) {y(i) = " + body + " where i in 0:" + n + "}");
}

Array longs(const std::vector<int64_t>& values) {
  Array array = Array::zeros(DType::Int64, {static_cast<int64_t>(values.size())});
  std::memcpy(array.bytes.data(), values.data(), values.size() * sizeof(int64_t));
  return array;
}

// Before it runs: refused, or not, and nothing is left to the run.
bool is_proven(const Graph& graph) {
  try {
    verify_bounds(graph, graph.stages[0]);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Bounds) << error.what();
    return false;
  }
  return open_indices(graph, graph.stages[0]).empty();
}

// Whether the interpreter, which wraps at 64 bits, finds every read in range.
bool stays_inside(const Graph& graph) {
  std::vector<int64_t> v, w;
  for (int64_t a : kEnds)
    for (int64_t b : kEnds) {
      v.push_back(a);
      w.push_back(b);
    }
  try {
    const Array inputs[] = {Array::zeros(DType::Float32, {8}), longs(v), longs(w)};
    (void)interpret(graph, inputs);
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Bounds) << error.what();
    return false;
  }
}

TEST(OpenIndices, DataThatWrapsIsNotProven) {
  for (const char* body : {
           "select(v(i) >= 0, x(min(v(i) + 1, 7)), 0)",
           "x(min(abs(v(i)), 7))",
           "x(max(min(-min(v(i), 0), 7), -7))",
           "select(0 <= v(i) && 0 <= w(i), x(min(v(i) + w(i), 7)), 0)",
           "select(0 < v(i), x(min(v(i) * 3, 7)), 0)",
           "select(v(i) <= 0, x(min(3 - v(i), 7)), 0)",
           "select(0 < v(i) + 1, x(min(v(i) - (0 - 1) + 1, 7)), 0)",
       }) {
    const Graph graph = reader(body);
    EXPECT_FALSE(stays_inside(graph)) << body;
    EXPECT_FALSE(is_proven(graph)) << body;
  }
}

TEST(OpenIndices, WhatBringsDataIntoRangeIsProven) {
  for (const char* body : {
           "x(max(min(v(i), 7), 0))",
           "x(max(min(v(i) + 1, 7), 0))",
           "x(max(min(v(i) * 3 + w(i), 7), 0))",
           "x(v(i) % 8)",
           "x(min(max(abs(abs(v(i)) * -1 + 6) * -1 + 6, 0), 7))",
           "x((v(i) + w(i)) % 8)",
           "x((v(i) * 5 + 3) % 8)",
           "select(0 <= v(i) + 1 && v(i) + 1 < 8, x(v(i) + 1), 0)",
           "select(0 <= v(i) + w(i) && v(i) + w(i) < 8, x(v(i) + w(i)), 0)",
           "select(0 <= v(i) && v(i) < 7, x(v(i) + 1), 0)",
           "select(0 <= v(i) && v(i) < 2 && 0 <= w(i) && w(i) < 4, x(v(i) * 4 + w(i)), 0)",
           "select(-8 <= v(i) && v(i) < 8, x(select(v(i) < 0, v(i) + 8, v(i))), 0)",
           "x(max(min(select(v(i) < 0, v(i) + 8, v(i)), 7), 0))",
           "select(-8 < v(i) && v(i) < 8, x(abs(v(i))), 0)",
           "x(v(i) + 1 where 0 <= v(i) + 1 && v(i) < 7)",
           "select(v(i) - 5 + 5 == 3, x(v(i)), 0)",
           "select(0 <= v(i) // 4 && v(i) // 4 < 2, x(v(i)), 0)",
           "x((v(i) % 3 + 2) * 2 - 1 - w(i) % 2)",
           // Both dimensions of an image, moved.
           "select(0 <= v(i) + 1 && v(i) + 1 < 2 && 0 <= w(i) - 1 && w(i) - 1 < 4, "
           "x((v(i) + 1) * 4 + (w(i) - 1)), 0)",
       }) {
    const Graph graph = reader(body);
    EXPECT_TRUE(stays_inside(graph)) << body;
    EXPECT_TRUE(is_proven(graph)) << body;
  }
}

class RandomIndex {
 public:
  explicit RandomIndex(uint64_t seed) : random_(seed) {}

  std::string body() {
    const std::string at = index(3);
    std::string guarded = "x(" + at + ")";
    if (random_.chance(50))
      guarded = "select(" + condition(at) + " && " + condition(at) + ", " + guarded + ", 0)";
    return guarded;
  }

 private:
  std::string number() {
    static const std::vector<std::string> kNumbers{"0",
                                                   "1",
                                                   "2",
                                                   "3",
                                                   "7",
                                                   "8",
                                                   "-1",
                                                   "9223372036854775807",
                                                   "-9223372036854775807",
                                                   "4611686018427387904"};
    return random_.pick(kNumbers);
  }
  std::string value(int depth) {
    static const std::vector<std::string> kOperations{" + ", " - ", " + ", " * ", " // ", " % "};
    if (depth == 0) {
      if (random_.chance(20)) return number();
      return random_.chance(15) ? "i" : random_.chance(75) ? "v(i)" : "w(i)";
    }
    switch (random_.between(0, 7)) {
      case 0: return "min(" + value(depth - 1) + ", " + value(depth - 1) + ")";
      case 1: return "max(" + value(depth - 1) + ", " + value(depth - 1) + ")";
      case 2:
        return random_.chance(50) ? "abs(" + value(depth - 1) + ")" : "(-" + value(depth - 1) + ")";
      case 3:
        return "select(" + condition(value(depth - 1)) + ", " + value(depth - 1) + ", " +
               value(depth - 1) + ")";
      case 4: return value(0);
      default: {
        const std::string operation = random_.pick(kOperations);
        const bool divides = operation == " // " || operation == " % ";
        return "(" + value(depth - 1) + operation + (divides ? "3" : value(depth - 1)) + ")";
      }
    }
  }
  // Brought into range, or nearly.
  std::string index(int depth) {
    const std::string at = value(depth);
    switch (random_.between(0, 5)) {
      case 0: return "max(min(" + at + ", 7), 0)";
      case 1: return "min(" + at + ", 7)";
      case 2: return "max(" + at + ", 0)";
      case 3: return at + " % 8";
      default: return at;
    }
  }
  std::string condition(const std::string& at) {
    static const std::vector<std::string> kComparisons{" < ", " <= ", " == ", " >= "};
    const std::string subject = random_.chance(60) ? at : value(1);
    if (random_.chance(40)) return "0 <= " + subject;
    if (random_.chance(40)) return subject + " < 8";
    return subject + random_.pick(kComparisons) + (random_.chance(70) ? number() : value(1));
  }

  Random random_;
};

// What is proven is never outside, whatever the data.
TEST(OpenIndices, ProofsHoldForDataAtTheEndsOfInt64) {
  size_t proven = 0, inside = 0;
  for (uint64_t seed = 0; seed < 800; ++seed) {
    const std::string body = RandomIndex(seed).body();
    const Graph graph = reader(body);
    const bool stays = stays_inside(graph), known = is_proven(graph);
    EXPECT_TRUE(stays || !known) << body;
    proven += known;
    inside += stays;
  }
  EXPECT_GT(proven * 10, inside * 7) << proven << " of " << inside << " are proven";
  EXPECT_GT(proven, 100u);
}

}  // namespace
}  // namespace adjit::graph
