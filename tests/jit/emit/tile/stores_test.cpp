// tests/jit/emit/tile/stores_test.cpp -- results whose lanes lie apart: element by element, or in
// pieces of rows.
#include "jit/emit/tile/stores.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "autosched/lower/initial_program.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

constexpr const char* kTypes[] = {"float", "double", "float16", "bfloat16", "int32", "int64"};

// The first stage in lanes along its first axis, and instances along its second.
Program in_columns(Program p, int64_t lanes, int64_t instances) {
  p = vectorize(std::move(p), 0, 0, lanes);
  return instances > 1 ? unroll(std::move(p), 0, 1, instances) : p;
}

// y(i, j), a sum of products, in lanes along i and `instances` of j, in tasks of rows.
Program columns(int64_t m, int64_t n, int64_t lanes, int64_t instances, const std::string& type,
                const std::string& how = "+") {
  const std::string rows = std::to_string(m), cols = std::to_string(n);
  const Graph graph = parse_graph("def main(" + type + "(" + rows + ", 11) a, " + type + "(11, " +
                                  cols + ") b) -> (y) { y(i, j) " + how + "=! a(i, r) * b(r, j) }");
  return in_columns(initial_program(graph, CpuMachine{2, 256}), lanes, instances);
}

// y(k, i, j) in lanes of 8 along i, which lie three elements apart, `rows` vectors of them.
Program far_apart(int64_t m, int64_t rows, const std::string& type) {
  const std::string n = std::to_string(m);
  const Graph graph = parse_graph("def main(" + type + "(" + n + ", 9) a, " + type +
                                  "(9, 3) b) -> (y) { y(k, i, j) +=! a(i, r) * b(r, j) * a(k, r) "
                                  "where k in 0:2, i in 0:" +
                                  n + ", j in 0:3 }");
  const Program p = vectorize(initial_program(graph, CpuMachine{2, 256}), 0, 1, 8);
  return unroll(unroll(p, 0, 1, rows), 0, 0, 2);
}

TEST(Stores, PiecesOfRows) {
  const std::string ir = checked_ir(columns(16, 12, 8, 4, "float"));
  EXPECT_EQ(occurrences(ir, "store <4 x float>"), 8u) << "a piece for each lane\n" << ir;
  EXPECT_EQ(occurrences(ir, "store float"), 0u);
  EXPECT_EQ(occurrences(ir, "masked.scatter"), 0u);
}

// Many lanes far apart, and no instances side by side: a loop over the lanes, one for each number
// of them.
TEST(Stores, LanesInALoop) {
  const std::string ir = checked_ir(far_apart(32, 4, "float"));
  EXPECT_EQ(occurrences(ir, "store float"), 8u) << "one for each instance\n" << ir;
  EXPECT_EQ(occurrences(ir, "store <8 x float>"), 8u) << "to the stack";
  EXPECT_EQ(occurrences(ir, "extractelement"), 0u);
  EXPECT_EQ(occurrences(checked_ir(far_apart(16, 2, "float")), "store float"), 32u)
      << "few lanes go one by one";
  for (const char* type : kTypes)
    for (const int64_t m : {32, 29, 61, 40}) checked_ir(far_apart(m, 4, type));
}

TEST(Stores, PiecesAndTheirRests) {
  // Six instances are a piece and two columns; seven of nine rows a whole vector and a part.
  const std::string ir = checked_ir(columns(8, 6, 8, 6, "float"));
  EXPECT_EQ(occurrences(ir, "store <4 x float>"), 8u);
  EXPECT_EQ(occurrences(ir, "store float"), 16u);
  for (const char* type : kTypes)
    for (const auto& [m, n, lanes, instances] :
         {std::tuple{16, 8, 8, 8}, {13, 9, 8, 4}, {9, 21, 4, 6}, {7, 5, 4, 2}, {24, 16, 16, 8}})
      checked_ir(columns(m, n, lanes, instances, type));
  checked_ir(columns(13, 9, 8, 4, "float", "max"));
}

// A transposition with lanes along its rows, in tiles that end ragged both ways; more stored than
// one result.
TEST(Stores, TranspositionsInPieces) {
  for (const auto& [type, piece] : {std::pair{"float", "store <4 x float>"},
                                    {"double", "store <2 x double>"},
                                    {"int32", "store <4 x i32>"},
                                    {"bfloat16", "store <8 x"}})
    for (const auto& [m, n] : {std::pair{16, 16}, {13, 11}, {8, 9}, {3, 8}}) {
      const std::string rows = std::to_string(m), columns = std::to_string(n), t = type;
      const Graph graph = parse_graph(
          "def main(" + t + "(" + rows + ", " + columns +
          ") a) -> (y, z) {\n (y, z)(i, j) = (a(j, i), a(j, i) * a(j, i)) where i in 0:" + columns +
          ", j in 0:" + rows + "\n}");
      const std::string ir = checked_ir(
          in_columns(initial_program(graph, CpuMachine{1, 256}), 8, std::min<int64_t>(m, 8)));
      if (m == 16) {
        EXPECT_GE(occurrences(ir, piece), 8u) << t << "\n" << ir;
        EXPECT_EQ(occurrences(ir, "masked.scatter"), 0u);
      }
    }
}

TEST(Stores, WinnersAndTheirPlaces) {
  const Graph graph = parse_graph(
      "def main(float(14, 10, 9) x) -> (v, w) { (v, w)(i, j) argmax=! (x(i, j, r), r) }");
  const std::string ir = checked_ir(in_columns(initial_program(graph, CpuMachine{1, 256}), 4, 4));
  EXPECT_GE(occurrences(ir, "store <4 x float>"), 4u);
  EXPECT_GE(occurrences(ir, "store <2 x i64>"), 8u);
}

// A reduction whose outer part runs outside the results resumes what it stored.
TEST(Stores, ResumedInPieces) {
  Program p = initial_program(matmul_graph(13, 10, 23), CpuMachine{1, 256});
  p = tile(std::move(p), 0, 2, std::vector<int64_t>{10});
  p = reorder(std::move(p), 0, std::vector<size_t>{2, 0, 1, 3});
  const std::string ir = checked_ir(in_columns(std::move(p), 8, 4));
  EXPECT_GE(occurrences(ir, "store <4 x float>"), 8u);
}

TEST(Stores, RunningSums) {
  for (const char* row : {"r <= j", "r < j", "r >= j", "r > j"}) {
    const Graph graph = parse_graph(
        std::string("def main(float(9, 12) x) -> (y) { y(i, j) +=! x(i, r) where i in 0:9, j in "
                    "0:12, r in 0:12, ") +
        row + " }");
    Program p = initial_program(graph, CpuMachine{1, 256});
    ASSERT_TRUE(running_of(p.graph, p.graph.stages[0]));
    checked_ir(vectorize(std::move(p), 0, 0, 4));
  }
}

// In a buffer of the kernel that moves with the loops outside.
TEST(Stores, LocalRegions) {
  const Graph graph = parse_graph(
      "def main(float(24, 11) a, float(11, 16) b) -> (z) {\n t(i, j) +=! a(i, r) * b(r, j)\n"
      " z(j, i) = t(i, j) + 1.0\n}");
  Program p = initial_program(graph, CpuMachine{1, 256});
  p = tile(std::move(p), 1, 1, std::vector<int64_t>{8});
  p = reorder(std::move(p), 1, std::vector<size_t>{1, 0, 2});
  p = compute_at(std::move(p), 0, 1, 1);
  checked_ir(in_columns(std::move(p), 8, 4));
}

TEST(Stores, ResultsWhoseLanesAreApartAreStoredOneByOne) {
  const Graph graph = parse_graph("def main(float(9, 5) x) -> (y) { y(i, j) = x(i, j) * 2.0 }");
  const std::string ir = checked_ir(vectorize(
      reorder(initial_program(graph, CpuMachine{1, 512}), 0, std::vector<size_t>{1, 0}), 0, 0, 4));
  EXPECT_EQ(occurrences(ir, "masked.scatter"), 0u);
  EXPECT_EQ(occurrences(ir, "store float"), 5u) << "whole vectors, and the tail";
}

}  // namespace
}  // namespace adjit::testing
