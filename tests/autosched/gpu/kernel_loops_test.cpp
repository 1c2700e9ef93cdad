// tests/autosched/gpu/kernel_loops_test.cpp -- which loops kernels get.
#include "autosched/gpu/kernel_loops.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "autosched/lower/initial_program.hpp"
#include "autosched/program/threads.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/same_results.hpp"

namespace adjit::sched {
namespace {

Program with_loops(const std::string& text, Choices& choices) {
  Program program = initial_program(parse_graph(text), kGpu);
  KernelLoops loops(program, kGpu, choices);
  for (size_t behind = 0; behind < program.kernels.size(); ++behind) {
    const size_t root = program.kernels[program.kernels.size() - 1 - behind].root.stage;
    program = loops(std::move(program), root);
  }
  return program;
}

TEST(KernelLoops, ABlockAddsUpARow) {
  Choices choices;
  const Program p = with_loops("def f(float(512, 4096) x) -> (s) { s(i) +=! x(i, k) }", choices);
  EXPECT_TRUE(is_block_kernel(p.kernels.at(0)));
}

TEST(KernelLoops, AProductHasTiles) {
  Choices choices;
  const Program product =
      initial_program(testing::product_graph(512, 512, 256, false, false), kGpu);
  const std::optional<Program> tiled =
      KernelLoops(product, kGpu, choices).product_tiles(product, 0);
  ASSERT_TRUE(tiled.has_value());
  EXPECT_NE(tiled->moves_json.find("pipeline"), std::string::npos);
  const Program sum =
      initial_program(parse_graph("def f(float(512, 9) x) -> (s) { s(i) +=! x(i, k) }"), kGpu);
  EXPECT_FALSE(KernelLoops(sum, kGpu, choices).product_tiles(sum, 0).has_value());
}

// Rows of 128 KB, gone through twice: so many of them as of 512 threads run at once are more than
// L2 holds.
TEST(KernelLoops, LongRowsHaveWideBlocks) {
  const auto threads_of_rows = [](int64_t columns) {
    const Graph graph =
        parse_graph("def f(float(8192, " + std::to_string(columns) +
                    ") x) -> (s) {\n  m(i) max=! x(i, r)\n  s(i) +=! exp(x(i, r) - m(i))\n}");
    const Program program = default_schedule(graph, kGpu);
    return block_threads(program.kernels.at(0));
  };
  EXPECT_EQ(threads_of_rows(32000), 1024);
  EXPECT_EQ(threads_of_rows(4000), 512);
}

TEST(KernelLoops, ASumIsComputedWhereItIsReadOrNotAsIsAnswered) {
  const std::string pool =
      "def f(float(64, 64, 114, 114) x) -> (y) {\n"
      "  s(n, c, i, j) +=! x(n, c, i + p, j + q) where i in 0:112, j in 0:112, p in 0:3, q in 0:3\n"
      "  y(n, c, i, j) = s(n, c, i, j) / 9.0\n}";
  Choices usual;
  EXPECT_EQ(with_loops(pool, usual).kernels.size(), 1u);
  Choices apart(Answers{{{Decision::Epilogue, "s"}, 1}});
  EXPECT_EQ(with_loops(pool, apart).kernels.size(), 2u);
}

}  // namespace
}  // namespace adjit::sched
