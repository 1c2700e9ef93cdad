// tests/jit/emit/tile/bfloat16_pairs_test.cpp -- two points of a sum of products of bfloat16 at a
// time.
#include <gtest/gtest.h>

#include "autosched/lower/initial_program.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

bool target_has_pairs() { return cpu_target().vector.avx512bf16; }

// C(i, j) = sum of A(i, k) B(k, j), with B's pairs of k side by side.
Program paired(int64_t m, int64_t k, int64_t n, int64_t rows, int64_t lanes) {
  const std::string a = std::to_string(m) + ", " + std::to_string(k);
  const std::string b = std::to_string(k) + ", " + std::to_string(n);
  const Graph graph = parse_graph("def main(bfloat16(" + a + ") a, bfloat16(" + b +
                                  ") b) -> (c) {\n  c(i, j) +=! float(a(i, r_k)) * "
                                  "float(b(r_k, j))\n}");
  Packing packing;
  packing.dimensions = {{1, lanes, 0}, {0, 2, 0}, {1, 1, lanes}, {0, 1, 2}};
  Program p = pack(initial_program(graph, CpuMachine{1, 512}), 0, graph.inputs[1], packing);
  p = vectorize(std::move(p), 1, 1, lanes);
  if (rows > 1) p = unroll(std::move(p), 1, 0, rows);
  return unroll(std::move(p), 1, 2, 2);
}

size_t dot_products(const std::string& ir) {
  return occurrences(ir, "@llvm.x86.avx512bf16.dpbf16");
}

TEST(BFloat16Pairs, OneInstructionTakesTwoPoints) {
  const Program p = paired(6, 10, 32, 3, 16);
  EXPECT_EQ(check_emitted(p, small_inputs(p.graph, 3)), "");
  const std::string ir = EmittedProgram(p).ir(1);
  EXPECT_EQ(dot_products(ir), target_has_pairs() ? 3u + 1u : 0u) << "a row each, and declared";
  if (target_has_pairs()) {
    EXPECT_EQ(occurrences(ir, "load <16 x i32>"), 1u) << "B's pairs, for all rows";
    EXPECT_EQ(occurrences(ir, "@llvm.fma"), 0u);
  }
}

TEST(BFloat16Pairs, RaggedRowsAndColumns) {
  for (const auto& [m, k, n] :
       {std::array<int64_t, 3>{7, 8, 21}, {5, 4, 16}, {4, 40, 19}, {11, 6, 50}})
    for (int64_t lanes : {4, 8, 16}) {
      const Program p = paired(m, k, n, 3, lanes);
      EXPECT_EQ(check_emitted(p, small_inputs(p.graph, 5)), "") << m << " " << k << " " << n;
    }
}

// An odd reduction ends with half a pair, and operands that are not side by side are no pairs.
TEST(BFloat16Pairs, WhatIsNoPairIsMultipliedAlone) {
  const Program odd = paired(6, 9, 32, 3, 16);
  EXPECT_EQ(check_emitted(odd, small_inputs(odd.graph, 3)), "");
  const Graph graph = parse_graph(
      "def main(bfloat16(6, 10) a, bfloat16(10, 32) b) -> (c) {\n"
      "  c(i, j) +=! float(a(i, r_k)) * float(b(r_k, j))\n}");
  const Program plain =
      unroll(vectorize(initial_program(graph, CpuMachine{1, 512}), 0, 1, 16), 0, 2, 2);
  EXPECT_EQ(check_emitted(plain, small_inputs(graph, 3)), "");
  EXPECT_EQ(dot_products(EmittedProgram(plain).ir()), 0u);
}

// What the default schedule makes of products and convolutions.
TEST(BFloat16Pairs, DefaultSchedules) {
  CpuMachine machine{.cores = 1};
  machine.vector_bits = cpu_target().vector.vector_bits;
  for (const bool pairs : {false, true}) {
    machine.bfloat16_pairs = pairs;
    for (const char* text :
         {"def main(bfloat16(48, 64) a, bfloat16(64, 80) b) -> (c) {\n"
          "  c(i, j) +=! float(a(i, r_k)) * float(b(r_k, j))\n}",
          "def main(bfloat16(64, 48) a, bfloat16(80, 64) b) -> (c) {\n"
          "  c(i, j) +=! float(a(r_k, i)) * float(b(j, r_k))\n}",
          "def main(bfloat16(2, 16, 12, 14) x, bfloat16(32, 16, 3, 3) w) -> (y) {\n"
          "  y(n, o, h, v) +=! float(x(n, r_c, h + r_p - 1, v + r_q - 1)) * "
          "float(w(o, r_c, r_p, r_q))\n"
          "    where h in 0:12, v in 0:14, r_p in 0:3, r_q in 0:3, h + r_p >= 1, h + r_p <= 12, "
          "v + r_q >= 1, v + r_q <= 14\n}"}) {
      const Graph graph = parse_graph(text);
      const Program p = default_schedule(graph, machine);
      EXPECT_EQ(check_emitted(p, small_inputs(graph, 7)), "") << print(p);
      size_t found = 0;
      const EmittedProgram emitted(p);
      for (size_t k = 0; k < p.kernels.size(); ++k) found += dot_products(emitted.ir(k));
      EXPECT_EQ(found > 0, pairs && target_has_pairs()) << print(p);
    }
  }
}

// A row that holds for one of two points only keeps them apart.
TEST(BFloat16Pairs, RowsBetweenTheTwoPoints) {
  for (const char* row : {"i + p >= 1", "i >= p", "j >= p", "i >= 2 * q + p", "j <= 2 * q + p"}) {
    const Graph graph = parse_graph(
        std::string("def main(bfloat16(24, 8, 2) a, bfloat16(8, 32, 2) b) -> (c) { c(i, j) +=! "
                    "float(a(i, q, p)) * float(b(q, j, p)) where i in 0:24, j in 0:32, q in 0:8, "
                    "p in 0:2, ") +
        row + " }");
    const Program p = vectorize(initial_program(graph, CpuMachine{1, 512}), 0, 1, 16);
    EXPECT_EQ(check_emitted(unroll(p, 0, 3, 2), small_inputs(graph, 3)), "") << row;
    EXPECT_EQ(check_emitted(unroll(unroll(p, 0, 0, 3), 0, 3, 2), small_inputs(graph, 3)), "")
        << row;
  }
}

}  // namespace
}  // namespace adjit::testing
