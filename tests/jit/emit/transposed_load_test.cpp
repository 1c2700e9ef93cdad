// tests/jit/emit/transposed_load_test.cpp -- rows that lie across the lanes, loaded in pieces.
#include <gtest/gtest.h>

#include "runtime/graph/text.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

std::string text_of(const char* dtype, int64_t rows, int64_t columns, const char* body) {
  return std::string("def main(") + dtype + "(" + std::to_string(rows) + ", " +
         std::to_string(columns) + ") x) -> (y) { " + body + " }";
}

// y[j, i] from x[i, j], lanes along i, copies along j.
Program copy(const char* dtype, int64_t rows, int64_t columns, int64_t lanes, int64_t copies) {
  const Graph graph = parse_graph(text_of(dtype, rows, columns, "y(j, i) = x(i, j)"));
  Program p = vectorize(initial_program(graph, 2, 512), 0, 1, lanes);
  return unroll(std::move(p), 0, 0, copies);
}

TEST(TransposedLoad, EveryTypeAndRaggedSizes) {
  for (const char* dtype : {"float", "double", "int32", "int64", "int16", "half", "bfloat16"})
    for (int64_t lanes : {4, 8, 16})
      for (const auto& [rows, columns, copies] :
           {std::tuple{16, 16, 4}, {16, 8, 8}, {13, 9, 4}, {37, 11, 8}, {5, 8, 2}, {3, 5, 5}}) {
        if (rows < lanes && lanes > 4) continue;
        const Program p = copy(dtype, rows, columns, lanes, copies);
        SCOPED_TRACE(std::string(dtype) + " " + print(p));
        EXPECT_EQ(check_emitted(p, small_inputs(p.graph, 7)), "");
      }
}

TEST(TransposedLoad, TakesTheGathersPlace) {
  EXPECT_EQ(gathers(EmittedProgram(copy("float", 32, 32, 16, 4)).ir()), 0u);
  EXPECT_EQ(gathers(EmittedProgram(copy("double", 32, 32, 8, 2)).ir()), 0u);
  EXPECT_EQ(gathers(EmittedProgram(copy("half", 32, 32, 16, 8)).ir()), 0u);
  EXPECT_GT(gathers(EmittedProgram(copy("float", 32, 32, 16, 3)).ir()), 0u)
      << "fewer copies than a piece has elements";
}

// What is read twice is loaded once; other reads and rows of the domain stay right.
TEST(TransposedLoad, BesideOtherReads) {
  for (const char* body :
       {"y(j, i) = x(i, j) * x(i, j) + exp(x(i, 3))", "y(j, i) = x(i, j) - x(i, (j + 1) % 24)",
        "y(j, i) = x(i, 23 - j)", "y(j, i) = j <= i ? x(i, j) : 2.0",
        "y(j, i) +=! x(i, j) * x(r, j) where j in 0:24, i in 0:24, r in 0:24"}) {
    const Graph graph = parse_graph(text_of("float", 24, 24, body));
    Program p = vectorize(initial_program(graph, 2, 512), 0, 1, 16);
    p = unroll(std::move(p), 0, 0, 4);
    SCOPED_TRACE(body);
    EXPECT_EQ(check_emitted(p, small_inputs(graph, 5)), "");
  }
}

// Copies of the reduction, in blocks whose ends are ragged.
TEST(TransposedLoad, CopiesOfAReduction) {
  for (int64_t columns : {8, 37, 40}) {
    const Graph graph = parse_graph(text_of("float", 21, columns, "y(i) +=! x(i, r)"));
    for (int64_t copies : {4, 6, 8}) {
      Program p = vectorize(initial_program(graph, 2, 512), 0, 0, 8);
      p = unroll(std::move(p), 0, 1, copies);
      EXPECT_EQ(check_emitted(p, small_inputs(graph, 5)), "") << print(p);
    }
  }
}

}  // namespace
}  // namespace adjit::testing
